// The vault as a whole: what is in it over time, what is there twice, what hangs loose, what is not embedded.

import { get } from "./api.js";
import { fill, h } from "./dom.js";
import { showRuns } from "./evaluation.js";
import { pathOf } from "./hits.js";
import { address, EMPTY } from "./state.js";
import { languageOf, number, t, words } from "./strings.js";

/** The parts of the vault's page: the map, changes, evaluation runs. Each is a state with an address of its own. */
const PARTS = [["vault", "map"], ["changes", "changes"], ["runs", "runs"]];
const SHOWS = { vault: showMap, changes: showChanges, runs: showRuns };

/** The part that the state names, below the names of all. */
export async function showVault(state, holder, go) {
  const shown = state.page in SHOWS ? state.page : "vault";
  const parts = h("nav", { class: "segments parts", "aria-label": t("parts") }, PARTS.map(([page, word]) => h("a", { href: address({ ...EMPTY, page }), "data-page": page, "aria-current": page === shown ? "page" : null }, t(word))));
  const body = h("div", {});
  holder.replaceChildren(h("div", { class: "vault" }, h("h1", {}, t("yourVault")), parts, body));
  await SHOWS[shown](state, body, go);
}

/** The map, and the documents by their folders. */
async function showMap(state, holder) {
  const [map, top] = await Promise.all([get("map", "/api/map"), get("folder ", "/api/folder")]);
  if (!map || !top) return;
  const all = map.months.reduce((sum, row) => sum + row.documents, 0);
  const parts = [
    part(t("notEmbedded", map.unembedded.length), map.unembedded.map((each) => h("li", {}, link(each, state), h("span", { class: "quiet-word" }, ` ${t("ofPassages", each.missing, each.passages)}`)))),
    part(t("copies", map.copies.length), map.copies.map((group) => h("li", {}, group.map((each) => [link(each, state), " "])))),
    part(t("unlinked", map.unlinked.length), map.unlinked.map((each) => h("li", {}, link(each, state)))),
  ].filter(Boolean);
  fill(
    holder,
    h("div", { class: "boards" }, board(t("documents", all), coverage(map.coverage), folderList(top, state)), parts.length ? board(t("toLookAt"), parts) : null, board(t("byMonth"), months(map.months))),
  );
}

const board = (title, ...children) => h("section", { class: "board" }, h("h2", {}, title), children);

function link(each, state) {
  return h("a", { class: "to-document", href: address({ ...state, at: each.doc_path, passage: "", view: "" }), "data-at": each.doc_path }, each.doc_path);
}

function part(title, items) {
  return items.length ? h("details", {}, h("summary", {}, title), h("ul", {}, items)) : null;
}

function coverage(slots) {
  if (!slots.length) return h("p", { class: "quiet-line" }, t("nothingEmbedded"));
  return slots.map((slot) =>
    h("p", { class: "coverage" }, h("label", {}, slot.embedded < slot.passages ? h("progress", { max: slot.passages, value: slot.embedded }) : null, t("foundByMeaning", slot.embedded, slot.passages), " ", h("span", {}, `(${slot.model_id})`))),
  );
}

const MONTHS = 24; // the last ones
const KINDS = ["markdown", "code", "pdf", "image", "audio"];
const kindOf = (row) => (KINDS.includes(row.media) ? row.media : "other");

/** Documents by month, each month a bar of its kinds; the numbers stand beside it for those who do not see it. */
function months(rows) {
  const byMonth = Map.groupBy ? Map.groupBy(rows, (row) => row.month) : grouped(rows);
  const most = Math.max(1, ...[...byMonth.values()].map((each) => sum(each)));
  const kinds = [...KINDS, "other"].filter((kind) => rows.some((row) => kindOf(row) === kind));
  return [
    h("p", { class: "legend", "aria-hidden": "true" }, kinds.map((kind) => h("span", {}, h("i", { class: `bar-of ${kind}` }), words(kind) ?? t("other")))),
    h(
      "table",
      { class: "months" },
      h("caption", { class: "unseen" }, t("byMonth")),
      h("thead", { class: "unseen" }, h("tr", {}, h("th", { scope: "col" }, t("month")), h("th", { scope: "col" }, t("documentsHead")), h("th", { scope: "col" }, t("ofThese")))),
      h("tbody", {}, [...byMonth].slice(-MONTHS).reverse().map(([month, each]) => h("tr", {}, h("th", { scope: "row" }, month), h("td", {}, bars(each, kinds, most), ` ${number(sum(each))}`), h("td", {}, described(each))))),
    ),
  ];
}

function bars(rows, kinds, most) {
  return h("span", { class: "bars", "aria-hidden": "true" }, kinds.map((kind) => {
    const count = sum(rows.filter((row) => kindOf(row) === kind));
    const bar = h("span", { class: `bar-of ${kind}` });
    bar.style.width = `${(9 * count) / most}rem`;
    return count ? bar : null;
  }));
}

/** `2 notes, 1 PDF, 24 sources`, the commonest first, none of them on two lines. */
function described(rows) {
  const counts = new Map();
  for (const row of rows) counts.set(row.media, (counts.get(row.media) ?? 0) + row.documents);
  return [...counts].sort(([, one], [, other]) => other - one).map(([media, count], at) => [at ? ", " : "", h("span", {}, t("kindCount", count, media))]);
}

const sum = (rows) => rows.reduce((all, row) => all + row.documents, 0);

function grouped(rows) {
  const found = new Map();
  for (const row of rows) found.set(row.month, [...(found.get(row.month) ?? []), row]);
  return found;
}

/** What cites lines that are not as they were: kept answers and golden questions, by what is left of each place. */
async function showChanges(state, holder) {
  const found = await get("impact", "/api/impact");
  if (!found) return;
  const broken = (each) => each.standing !== "moved";
  const byThing = new Map();
  for (const each of found) byThing.set(`${each.kind} ${each.id}`, [...(byThing.get(`${each.kind} ${each.id}`) ?? []), each]);
  const groups = [...byThing.values()].sort((one, other) => Number(other.some(broken)) - Number(one.some(broken)));
  const of = (kind) => groups.filter(([first]) => first.kind === kind);
  if (!groups.length) {
    holder.replaceChildren(h("p", { class: "quiet-line" }, t("noChanges")));
    return;
  }
  holder.replaceChildren(
    ...[
      ["answer", "answersChanged"],
      ["question", "questionsChanged"],
    ].filter(([kind]) => of(kind).length).flatMap(([kind, title]) => [h("h2", {}, t(title, of(kind).length)), h("ul", { class: "plain" }, of(kind).map((each) => changed(each, state)))]),
  );
}

function changed(places, state) {
  const [first] = places;
  const title = first.kind === "answer" ? h("a", { href: address({ ...EMPTY, q: first.text, answer: first.id }) }, first.text) : first.text;
  return h("li", { class: "changed-one" }, h("b", {}, title), h("ul", { class: "plain" }, places.map((each) => h("li", { class: `standing ${each.standing === "moved" ? "good" : "bad"}` }, `${each.cited} · ${t(each.standing)}`, each.now_at ? [" → ", h("a", { class: "to-document", href: address({ ...state, at: each.now_at, passage: "", view: "" }), "data-at": each.now_at }, each.now_at)] : null))));
}

/** What lies in a folder: its folders, which are read when they are opened, then its documents, a page at a time. */
function folderList(page, state) {
  const list = h("ul", { class: "plain folder" });
  const add = (found) => {
    list.append(...found.folders.map((each) => h("li", {}, subfolder(found.path ? `${found.path}/${each.name}` : each.name, each, state))));
    list.append(...found.documents.map((each) => h("li", {}, h("a", { class: "to-document", href: address({ ...state, at: each.doc_path, passage: "", view: "" }), "data-at": each.doc_path }, each.title), h("span", { class: "quiet-word" }, ` ${each.doc_path.split("/").at(-1)}`))));
    if (!found.has_more) return;
    const shown = list.childElementCount;
    const more = h("li", {}, h("button", { type: "button", onclick: async () => {
      const next = await get(`folder ${found.path}`, "/api/folder", new URLSearchParams({ path: found.path, start: shown }));
      if (!next) return;
      more.remove();
      add(next);
    } }, t("showEntries")));
    list.append(more);
  };
  add(page);
  return list;
}

function subfolder(path, each, state) {
  const made = h("details", {}, h("summary", {}, `${each.name}/ `, h("span", { class: "quiet-word" }, number(each.documents))));
  made.addEventListener("toggle", async () => {
    if (made.querySelector("ul")) return;
    const found = await get(`folder ${path}`, "/api/folder", new URLSearchParams({ path }));
    if (found) made.append(folderList(found, state));
  });
  return made;
}

/** What the document that is read links to, what links to it, and the nearest documents, below it. */
export async function showNear(path, state, holder) {
  const found = await get("near", "/api/near", new URLSearchParams({ path }));
  if (!found) return;
  const reached = (found.links ?? []).filter((each) => each.target_path).map((each) => ({ doc_path: each.target_path, title: each.target_title }));
  const sides = [
    ["links", once(reached).map((each) => titled(each, state))],
    ["linkedFrom", once(found.backlinks ?? []).map((each) => titled(each, state))],
    ["near", found.near.map((each) => titled(each, state, each.cosine > 0.985 ? t("almostSame") : null))],
  ].filter(([, rows]) => rows.length);
  if (sides.length) holder.append(h("aside", { class: "near", "aria-label": t("near") }, sides.map(([name, rows]) => [h("h2", {}, t(name)), h("ul", {}, rows)])));
}

/** The documents, each once. */
const once = (documents) => [...new Map(documents.map((each) => [each.doc_path, each])).values()];

/** A document by its title, its path behind it. */
function titled(each, state, said) {
  return h("li", {}, h("a", { class: "to-document", href: address({ ...state, at: each.doc_path, passage: "", heading: "", view: "" }), "data-at": each.doc_path, lang: languageOf(each.title) }, h("bdi", {}, each.title)), pathOf(each.doc_path, null, each.title), said ? h("span", { class: "quiet-word" }, said) : null);
}
