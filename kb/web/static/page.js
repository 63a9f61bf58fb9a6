// The page: what is typed becomes a search, the hit that is marked is shown beside it, and the address holds it all.

import * as api from "./api.js";
import * as answers from "./ask.js";
import { byId, h, settled } from "./dom.js";
import * as filters from "./filters.js";
import { hitList, summary } from "./hits.js";
import * as keys from "./keys.js";
import * as reader from "./reader.js";
import * as stated from "./state.js";
import { showVault } from "./vault.js";

const MODES = [["hybrid", "Words + meaning"], ["lexical", "Words"], ["vector", "Meaning"]];
const WAIT_MS = 4; // a paste is one question; keys that come while the last one is answered are one more
const COMPOSING_MS = 500; // a syllable that is being put together is a whole one when nothing is added for so long
const ASKED = ["q", "mode", "k", ...stated.FILTER_NAMES, "ask", "deep", "answer", "page", "before", "after"]; // what fills the list
const UNASKED = { ask: "", deep: "", answer: "", page: "", at: "", passage: "", view: "" }; // of what is no answer
const isWide = matchMedia("(min-width: 60rem)");

let state = stated.read();
let defaults = null;
let lastSearched = null;
let searches = 0; // how many are underway
let isWaiting = false; // what is typed is asked once the search underway has ended
let underway = Promise.resolve(); // the search that was asked last
let filling = 0; // how often the list was filled: only the last one may show anything

const field = byId("question");
const list = byId("list");
const status = byId("status");

/** Goes to another state: a step of the history, unless only what is typed changed. */
function go(next, { step = true } = {}) {
  const previous = state;
  state = next;
  stated.keep(state, { step });
  return render(previous);
}

function render(previous) {
  if (field.value !== state.q && document.activeElement !== field) field.value = state.q;
  filters.showChosen(state, go);
  showMode();
  const words = stated.words(state, ASKED).toString();
  if (words !== lastSearched) underway = fill(words);
  else markOpen();
  document.title = state.q ? `${state.q} · kb` : "kb";
  const isShown = previous && previous.at === state.at && previous.passage === state.passage && previous.view === state.view;
  return isShown ? null : reader.show(state, go);
}

/** Fills the list with what the state asks for: hits, an answer, or earlier answers. */
async function fill(words) {
  const mine = ++filling;
  lastSearched = words;
  answers.stop();
  api.cancel("search", "answer", "answers"); // what would fill it later than this
  document.body.classList.add("searching");
  try {
    if (state.page === "answers") await answers.showEarlier(state, list);
    else if (state.page) await showVault(state, list, go);
    else if (state.answer) await showAnswer(await answers.showKept(state, list));
    else if (state.ask && state.q.trim()) await showAnswer(await answers.ask(state, list));
    else if (state.q.trim()) await search();
    else showStart();
    if (mine !== filling) return;
    if (state.page || state.answer || state.ask) status.textContent = "";
    markOpen();
  } catch (error) {
    if (mine !== filling) return;
    lastSearched = null;
    status.textContent = "";
    list.replaceChildren(failure(error));
  } finally {
    if (mine === filling) document.body.classList.remove("searching");
  }
}

async function search() {
  const began = performance.now();
  searches += 1;
  const found = await api.get("search", "/api/search", stated.searched(state)).finally(() => {
    searches -= 1;
    if (isWaiting) typed();
  });
  if (found === null) return; // a newer question is on its way; the hits of the last one stay until then
  list.replaceChildren(...notes(found), hitList(found, state));
  status.textContent = `${summary(found)}${found.hits.length ? ` in ${Math.round(performance.now() - began)} ms` : ""}`;
}

/** What goes with an answer that is shown: its own address where it was kept, and the check of its quotations. */
function showAnswer(answer) {
  if (!answer) return;
  if (defaults?.may_write && !state.answer) {
    state = { ...state, ask: "", deep: "", answer: answer.retrieval.trace_id };
    stated.keep(state, { step: false });
    lastSearched = stated.words(state, ASKED).toString();
  }
  const offered = [];
  if (state.answer && answer.claims.some((each) => each.quote)) {
    offered.push(["Check its quotations against the files", () => answers.check(state.answer, list)]);
  }
  if (!answer.hops) offered.push(["Answer it in steps", () => askIt("1")]);
  const buttons = offered.map(([words, onclick]) => h("button", { type: "button", class: "quiet", onclick }, words));
  if (buttons.length) list.querySelector(".made").after(h("p", { class: "offered" }, buttons));
}

function notes(found) {
  const hint = found.hits.length ? null : h("p", { class: "hint" }, "Fewer or other words may help; so may Alt+M, or taking away a filter.");
  return [found.note ? h("p", { class: "hint" }, found.note) : null, hint].filter(Boolean);
}

function failure(error) {
  return h("div", { class: "failure", role: "alert" }, h("p", {}, error.message), error.hint ? h("p", {}, error.hint) : null);
}

function showStart() {
  status.textContent = "";
  if (!defaults) return;
  const count = (number, word) => `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;
  list.replaceChildren(
    h(
      "div",
      { class: "start" },
      h("p", { class: "start-count" }, `${count(defaults.documents, "document")}, ${count(defaults.passages, "passage")}`),
      h("p", {}, `from ${defaults.workspace}`),
      defaults.last_ingest_at ? h("p", {}, `read last ${new Date(defaults.last_ingest_at).toLocaleString()}`) : null,
      h("p", { class: "start-keys" }, h("kbd", {}, "↓"), h("kbd", {}, "↑"), " choose  ", h("kbd", {}, "Enter"), " read  ", h("kbd", {}, "?"), " all keys"),
    ),
  );
}

function showMode() {
  const mode = state.mode || defaults?.mode || "hybrid";
  const button = byId("modes");
  button.textContent = MODES.find(([name]) => name === mode)[1];
  button.setAttribute("aria-label", `Found by: ${button.textContent}. Change`);
}

function changeMode() {
  const now = state.mode || defaults?.mode || "hybrid";
  const next = MODES[(MODES.findIndex(([name]) => name === now) + 1) % MODES.length][0];
  go({ ...state, mode: next === defaults?.mode ? "" : next });
}

/** The links of the hits. */
const links = () => [...list.querySelectorAll("a.hit")];

/** Where a link leads, as the state has it. */
const placeOf = (link) => ({ at: link.dataset.at, passage: link.dataset.passage ?? "" });

function markOpen() {
  for (const link of links()) {
    const on = link.dataset.at === state.at && (link.dataset.passage ?? "") === state.passage;
    if (on) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

/** Marks the hit that is `by` further down; on a wide page it is shown beside the list. */
function move(by) {
  const all = links();
  if (!all.length) return;
  const at = all.findIndex((link) => link.classList.contains("here") || link.getAttribute("aria-current") === "true");
  const next = all[Math.min(Math.max(at + by, 0), all.length - 1)];
  mark(next);
  next.scrollIntoView({ block: "nearest" });
  status.textContent = `${all.indexOf(next) + 1} of ${all.length}: ${next.querySelector(".heading").textContent}, ${next.dataset.at ?? ""}`;
  if (isWide.matches && next.dataset.at) preview(next);
}

function mark(link) {
  for (const each of links()) each.classList.toggle("here", each === link);
}

const preview = settled((link) => go({ ...state, ...placeOf(link) }, { step: !state.at }), 60);

async function openMarked() {
  const link = list.querySelector("a.hit.here") ?? list.querySelector('a.hit[aria-current="true"]') ?? links()[0];
  if (!link) return;
  preview.cancel();
  if (link.dataset.answer) {
    link.click();
    return;
  }
  mark(link);
  await go({ ...state, ...placeOf(link) });
  (document.querySelector("#reader .paged") ?? byId("reader")).focus(); // what scrolls
}

function back() {
  if (state.at && (!isWide.matches || byId("reader").contains(document.activeElement))) {
    const link = links().find((each) => each.dataset.at === state.at);
    if (!isWide.matches) go({ ...state, at: "", passage: "", view: "" });
    (link ?? field).focus();
  } else if (state.at) {
    go({ ...state, at: "", passage: "", view: "" });
    field.focus();
  } else if (document.activeElement !== field) {
    field.focus();
    field.select();
  } else {
    field.value = "";
    typed.now();
  }
}

async function copy(text, what) {
  if (!text) return;
  await navigator.clipboard.writeText(text);
  status.textContent = `${what} copied`;
}

/** What is typed, without the question marks that ask: one for an answer, two for one in steps. */
const question = () => field.value.slice(0, field.maxLength).replace(/^\s*(\?\s*){0,2}/u, ""); // an address holds no more
const inSteps = () => (/^\s*\?\s*\?/u.test(field.value) ? "1" : "");

const typed = settled(() => {
  isWaiting = searches > 0;
  if (isWaiting) return;
  if (question() !== state.q) go({ ...state, ...UNASKED, q: question() }, { step: false });
}, WAIT_MS);

function askIt(deep = inSteps()) {
  typed.cancel();
  if (question().trim()) go({ ...state, ...UNASKED, q: question(), ask: "1", deep });
  else field.focus();
}

/** Resolves once the hits of what is typed are there: a key that comes before them is meant for them. */
async function caughtUp() {
  if (!searches && !typed.isDue()) return;
  await underway; // of a question before this one
  typed.now();
  await underway;
}
const composed = settled(() => typed.now(), COMPOSING_MS);

field.addEventListener("input", (event) => {
  if (event.isComposing) {
    typed.cancel();
    composed();
  } else {
    composed.cancel();
    typed();
  }
});
field.addEventListener("compositionend", () => {
  composed.cancel();
  typed();
});
byId("asking").addEventListener("submit", (event) => {
  event.preventDefault(); // Enter is one of the keys; this is a phone's own
  typed.now();
});
list.addEventListener("click", (event) => {
  const part = event.target.closest("a[data-page]");
  if (part && !event.metaKey && !event.ctrlKey && !event.shiftKey) {
    event.preventDefault();
    go({ ...stated.EMPTY, page: part.dataset.page });
    return;
  }
  const link = event.target.closest("a.hit, a.marker, a.to-document");
  if (!link || event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  mark(link);
  if (link.dataset.answer) {
    field.value = link.dataset.question;
    go({ ...state, ...UNASKED, q: link.dataset.question, answer: link.dataset.answer });
  } else go({ ...state, ...(question() === state.q ? {} : { ...UNASKED, q: question() }), ...placeOf(link) });
});
byId("reader").addEventListener("click", async (event) => {
  const near = event.target.closest("a.to-document");
  const link = near ?? event.target.closest("[data-note]");
  if (!link || event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  if (near) {
    go({ ...state, ...placeOf(near), view: "" });
    return;
  }
  const from = state.at.replace(/#(L\d|[a-z]+=)[^#]*$/u, "");
  try {
    const found = await api.get("linked", "/api/linked", new URLSearchParams({ name: link.dataset.note, from }));
    if (found) go({ ...state, at: found.doc_path, passage: "", view: "" });
  } catch (error) {
    link.classList.add("missing");
    link.title = error.message;
    status.textContent = error.message;
  }
});
byId("modes").addEventListener("click", changeMode);
byId("answering").addEventListener("click", () => askIt());
byId("earlier").addEventListener("click", (event) => {
  event.preventDefault();
  go({ ...state, ...UNASKED, q: question(), page: "answers" });
});
byId("vault").addEventListener("click", (event) => {
  event.preventDefault();
  go({ ...state, ...UNASKED, q: question(), page: "vault" });
});
byId("filtering").addEventListener("click", () => filters.open(() => state, go));
byId("helping").addEventListener("click", keys.showHelp);
addEventListener("popstate", () => {
  const previous = state;
  state = stated.read();
  field.value = state.q;
  render(previous);
});
keys.listen({
  field: () => {
    field.focus();
    field.select();
  },
  next: () => caughtUp().then(() => move(1)),
  previous: () => caughtUp().then(() => move(-1)),
  ask: () => askIt(),
  askInSteps: () => askIt("1"),
  open: async () => {
    if (/^\s*\?/u.test(field.value)) {
      askIt();
      return;
    }
    await caughtUp();
    openMarked();
  },
  back,
  mode: changeMode,
  filters: () => filters.open(() => state, go),
  copyPlace: () => copy(state.at, "citation"),
  copyText: () => copy(reader.shownText(), "text"),
  view: () => state.at && go({ ...state, view: { "": "raw", raw: "both", both: "" }[state.view] }),
  help: keys.showHelp,
});

try {
  field.value = state.q;
  if (!state.at) field.focus();
  const starting = api.start();
  if (!state.ask) render(null);
  defaults = await starting;
  if (state.ask) render(null); // a POST needs what the start tells
  showMode();
  if (!state.q && !state.page && !state.answer) showStart();
} catch (error) {
  list.replaceChildren(failure(error));
}
document.documentElement.dataset.ready = "true";
