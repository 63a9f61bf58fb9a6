// What there is to choose before anything is asked: saved searches, what changed last, recent questions, folders and tags.
// With filters and no question, the documents that pass them.

import { get } from "./api.js";
import { command, h, icon } from "./dom.js";
import { pathOf } from "./hits.js";
import { countOf } from "./menus.js";
import { address, EMPTY, FILTER_NAMES, filtered, words } from "./state.js";
import { day, LANGUAGE, languageOf, number, t } from "./strings.js";

const SHOWN = 6; // of each list
const NARROWED = 100; // documents that pass filters
const STORED = "kb-saved";
const SAVED = ["q", "mode", "sort", ...FILTER_NAMES]; // what a saved search keeps of the state

/** The start page as it is known at once; `fillStart` adds what has to be asked for. */
export function startPage(defaults, state) {
  const when = defaults.last_ingest_at ? new Date(defaults.last_ingest_at).toLocaleString(LANGUAGE, { dateStyle: "medium", timeStyle: "short" }) : null;
  return h(
    "div",
    { class: "start" },
    h("h1", { class: "unseen" }, t("start")),
    h("div", { class: "shelves" }, savedShelf()),
    defaults.embedded ? null : h("div", { class: "advice" }, h("p", {}, t("noVectors")), command("models install"), command("ingest")),
    countOf(state) ? null : h("p", { class: "colophon" }, t("startCount", defaults.documents, defaults.passages), " · ", h("bdi", {}, t("from", defaults.workspace)), when ? ` · ${t("readLast", when)}` : null),
    h("p", { class: "start-keys" }, h("kbd", {}, "↓"), h("kbd", {}, "↑"), ` ${t("choose")}  `, h("kbd", {}, "Ctrl+K"), ` ${t("goTo")}  `, h("kbd", {}, "?"), ` ${t("allKeys")}`),
  );
}

/** Adds the lists of the start page as they come. */
export async function fillStart(holder, state) {
  const isNarrowed = countOf(state) > 0;
  const [named, answers, facets] = await Promise.all([
    get("named", "/api/named", limited(filtered(state), isNarrowed ? NARROWED : SHOWN)),
    isNarrowed ? [] : get("answers", "/api/answers", limited(new URLSearchParams(), 4 * SHOWN)),
    isNarrowed ? null : get("facets", "/api/facets"),
  ]);
  const shelves = holder.querySelector(".shelves");
  if (!shelves || !named) return;
  shelves.append(
    ...[
      shelf(isNarrowed ? "passFilters" : "recent", named.map((each) => documentItem(each, state))),
      shelf("recentQuestions", onceAsked(answers ?? []).slice(0, SHOWN).map(questionItem)),
      facets ? choices(facets) : null,
    ].filter(Boolean),
  );
}

function limited(params, limit) {
  params.set("limit", limit);
  return params;
}

/** The newest answer of each question. */
export const onceAsked = (answers) => answers.filter((each, at) => answers.findIndex((other) => other.query === each.query) === at);

/** What is shown where nothing is indexed: the next step. */
export function firstUse(defaults) {
  return h("div", { class: "nothing" }, h("h1", { class: "big" }, t("emptyTitle")), h("p", {}, t("emptyHelp", defaults.workspace)), command("ingest"), h("p", { class: "ways" }, h("button", { type: "button", onclick: () => location.reload() }, t("reload"))));
}

function shelf(name, items) {
  return items.length ? h("section", { class: `shelf ${name}` }, h("h2", {}, t(name)), h("ul", {}, items)) : null;
}

/** A document by its title, path and the day of its last change. */
export function documentItem(each, state) {
  return h("li", {}, h("a", { class: "entry hit", href: address({ ...state, at: each.doc_path, passage: "", heading: "", view: "" }), "data-at": each.doc_path }, h("span", { class: "head" }, h("span", { class: "heading", lang: languageOf(each.title) }, h("bdi", {}, each.title)), h("span", { class: "day" }, day(each.updated_at))), pathOf(each.doc_path, null, each.title)));
}

function questionItem(each) {
  return h("li", {}, h("a", { class: "entry hit", href: address({ ...EMPTY, q: each.query, answer: each.trace_id }), "data-answer": each.trace_id, "data-question": each.query }, h("span", { class: "head" }, h("span", { class: "heading", lang: languageOf(each.query) }, h("bdi", {}, each.query)), h("span", { class: "day" }, day(each.created_at)))));
}

/** The largest folders and tags, each the start page of its documents. */
function choices(facets) {
  const folders = facets.folder.slice(0, 2 * SHOWN).map(({ value, documents }) => [`${value}/`, documents, { path_glob: [`${value}/**`] }]);
  const tags = facets.tag.slice(0, 2 * SHOWN).map(({ value, documents }) => [`#${value}`, documents, { tag: [value] }]);
  const item = ([word, documents, filter]) => h("li", {}, h("a", { class: "choice-of", href: address({ ...EMPTY, ...filter }), "data-state": JSON.stringify(filter) }, h("bdi", {}, word), h("span", { class: "count" }, number(documents))));
  const all = [...folders, ...tags];
  return all.length ? h("section", { class: "shelf wide" }, h("h2", {}, t("foldersAndTags")), h("ul", { class: "choices" }, all.map(item))) : null;
}

/** The saved searches, each `{ name, words }`; kept in the browser. */
export function saved() {
  try {
    const found = JSON.parse(localStorage.getItem(STORED) ?? "[]");
    return Array.isArray(found) ? found.filter((each) => typeof each?.name === "string" && typeof each?.words === "string") : [];
  } catch {
    return []; // a browser that keeps nothing, or what is no list
  }
}

/** Saves the search of a state under a name, in the place of one of that name. */
export function save(name, state) {
  const kept = { name, words: words(state, SAVED).toString() };
  localStorage.setItem(STORED, JSON.stringify([kept, ...saved().filter((each) => each.name !== name)]));
}

/** Whether a state has anything to save: words or filters. */
export const isSavable = (state) => Boolean(state.q.trim() || countOf(state));

function savedShelf() {
  const remove = (event, name) => {
    localStorage.setItem(STORED, JSON.stringify(saved().filter((each) => each.name !== name)));
    event.currentTarget.closest(".shelf").replaceWith(savedShelf() ?? "");
  };
  return shelf(
    "savedSearches",
    saved().map((each) => h("li", { class: "saved" }, h("a", { class: "entry hit", href: `/?${each.words}`, "data-search": each.words }, h("span", { class: "heading" }, h("bdi", {}, each.name))), h("button", { type: "button", title: t("forget"), "aria-label": `${t("forget")}: ${each.name}`, onclick: (event) => remove(event, each.name) }, icon("close")))),
  );
}
