// The vault as a whole: what is in it over time, what is there twice, what hangs loose, what is not embedded.

import { get } from "./api.js";
import { h } from "./dom.js";
import { showRuns, showWeights } from "./evaluation.js";
import { address, EMPTY } from "./state.js";

const NAMES = { ko: "Korean", en: "English", und: "no language", markdown: "notes", pdf: "PDFs", image: "pictures", audio: "recordings", code: "code" };
const number = (value) => value.toLocaleString("en");
const counted = (value, thing) => `${number(value)} ${thing}${value === 1 ? "" : "s"}`;

/** The parts of the vault's page: the map, evaluation runs, weights. Each is a state with an address of its own. */
const PARTS = [["vault", "Map"], ["runs", "Evaluation"], ["weights", "Weights"]];
const SHOWS = { vault: showMap, runs: showRuns, weights: showWeights };

/** The part that the state names, below the names of all. */
export async function showVault(state, holder, go) {
  const parts = h("nav", { class: "segments parts", "aria-label": "Parts of the vault" }, PARTS.map(([page, word]) => h("a", { href: address({ ...EMPTY, page }), "data-page": page, "aria-current": page === state.page ? "page" : null }, word)));
  const body = h("div", {});
  holder.replaceChildren(h("div", { class: "vault" }, h("h1", {}, "Your vault"), parts, body));
  await (SHOWS[state.page] ?? showMap)(state, body, go);
}

/** The map, and the documents by their folders. */
async function showMap(state, holder) {
  const [map, documents] = await Promise.all([get("map", "/api/map"), get("documents", "/api/documents")]);
  if (!map || !documents) return;
  holder.replaceChildren(
    ...[
      coverage(map.coverage),
      months(map.months),
      part(`${counted(map.copies.length, "group")} of files with the same bytes`, map.copies.map((group) => h("li", {}, group.map((each) => [link(each, state), " "])))),
      part(`${counted(map.unlinked.length, "note")} that link to nothing`, map.unlinked.map((each) => h("li", {}, link(each, state)))),
      h("h2", {}, `${number(documents.length)} documents`),
      folders(documents, state),
    ].flat().filter(Boolean),
  );
}

function link(each, state) {
  return h("a", { class: "to-document", href: address({ ...state, at: each.doc_path, passage: "", view: "" }), "data-at": each.doc_path }, each.doc_path);
}

function part(title, items) {
  return items.length ? h("details", {}, h("summary", {}, title), h("ul", {}, items)) : null;
}

function coverage(slots) {
  if (!slots.length) return h("p", { class: "hint" }, "Nothing is embedded: passages are found by their words alone.");
  return slots.map((slot) =>
    h("p", {}, h("label", { class: "quiet-word" }, `${slot.model_id} `, h("progress", { max: slot.passages, value: slot.embedded })), ` ${number(slot.embedded)} of ${number(slot.passages)} passages embedded`),
  );
}

/** Documents by month, each month a bar of its kinds and languages; the numbers are in the table for those who do not see. */
function months(rows) {
  const byMonth = Map.groupBy ? Map.groupBy(rows, (row) => row.month) : grouped(rows);
  const most = Math.max(1, ...[...byMonth.values()].map((each) => sum(each)));
  return h(
    "table",
    { class: "months" },
    h("caption", {}, "Documents by month"),
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Month"), h("th", { scope: "col" }, "Documents"), h("th", { scope: "col" }, "Of these"))),
    h("tbody", {}, [...byMonth].slice(-36).map(([month, each]) => {
      const bar = h("span", { class: "bar-of", "aria-hidden": "true" });
      bar.style.width = `${(9 * sum(each)) / most}rem`;
      const what = each.map((row) => `${number(row.documents)} ${NAMES[row.media] ?? row.media}${row.lang && row.media === "markdown" ? ` in ${NAMES[row.lang] ?? row.lang}` : ""}`).join(", ");
      return h("tr", {}, h("th", { scope: "row" }, month), h("td", {}, bar, ` ${number(sum(each))}`), h("td", {}, what));
    })),
  );
}

const sum = (rows) => rows.reduce((all, row) => all + row.documents, 0);

function grouped(rows) {
  const found = new Map();
  for (const row of rows) found.set(row.month, [...(found.get(row.month) ?? []), row]);
  return found;
}

function folders(documents, state) {
  const found = new Map();
  for (const each of documents) {
    const folder = each.doc_path.includes("/") ? each.doc_path.slice(0, each.doc_path.lastIndexOf("/")) : ".";
    found.set(folder, [...(found.get(folder) ?? []), each]);
  }
  return [...found].map(([folder, each]) => part(`${folder} (${each.length})`, each.map((one) => h("li", {}, link(one, state), h("span", { class: "quiet-word" }, ` ${one.title}`)))));
}

/** The notes nearest to the document that is read, below it. */
export async function showNear(path, state, holder) {
  const found = await get("near", "/api/near", new URLSearchParams({ path }));
  if (!found?.near.length) return;
  holder.append(
    h(
      "aside",
      { class: "near", "aria-label": "Near this" },
      h("h2", {}, "Near this"),
      h("ul", {}, found.near.map((each) => h("li", {}, link(each, state), h("span", { class: "quiet-word" }, ` ${each.cosine.toFixed(2)}${each.cosine > 0.985 ? ", almost the same" : ""}`)))),
    ),
  );
}
