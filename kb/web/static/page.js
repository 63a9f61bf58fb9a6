// The page: what is typed becomes a search, the hit that is marked is shown beside it, and the address holds it all.

import * as api from "./api.js";
import * as answers from "./ask.js";
import { byId, failure, fill, h, icon, settled } from "./dom.js";
import { addHits, hitList } from "./hits.js";
import * as keys from "./keys.js";
import * as menus from "./menus.js";
import { nameSearch, showPalette } from "./palette.js";
import * as reader from "./reader.js";
import { fillStart, firstUse, isSavable, startPage } from "./start.js";
import * as stated from "./state.js";
import { LANGUAGE, languageOf, seconds, t, useLanguage } from "./strings.js";
import { showVault } from "./vault.js";

const WAIT_MS = 4; // a paste is one question; keys that come while the last one is answered are one more
const RESTS_MS = 120; // then the first hit is shown beside the list
const COUNTS_MS = 300; // then the question is counted
const MORE = 20;
const ASKED = ["q", "mode", "k", "sort", ...stated.FILTER_NAMES, "ask", "deep", "turn", "after", "answer", "page", "before_run", "after_run"]; // what fills the list
const NOWHERE = { at: "", passage: "", heading: "", view: "" };
const UNASKED = { ask: "", deep: "", turn: [], after: "", answer: "", page: "", k: "", ...NOWHERE }; // of what is no answer
const TRAILING_JAMO = /[\u1100-\u11ff\u3131-\u318e]$/u; // of a syllable that is still being put together
const isWide = matchMedia("(min-width: 60rem)");
const isTouched = matchMedia("(hover: none) and (pointer: coarse)"); // its keyboard covers what is found

let state = stated.read();
let defaults = null;
const starting = api.start().then((told) => {
  defaults = told;
  document.documentElement.dataset.kb = told.command;
});
let lastSearched = null;
let searches = 0; // how many are underway
let isWaiting = false; // what is typed is asked once the search underway has ended
let underway = Promise.resolve(); // the search that was asked last
let filling = 0; // how often the list was filled: only the last one may show anything
let glance = null; // the place beside the list that nobody chose: of the first hit, of an answer's source
let hits = []; // those in the list
let total = null; // how many passages hold words of the question
let judged = new Map(); // of the question: each citation with its grade
let isComposing = false;

const field = byId("question");
const list = byId("list");
const status = byId("status");
const count = byId("count");
const mode = () => state.mode || (defaults?.mode ?? "hybrid");

/** Goes to another state: a step of the history, unless only what is typed changed. */
function go(next, { step = true } = {}) {
  const previous = state;
  state = next;
  stated.keep(state, { step });
  return render(previous);
}

function render(previous) {
  if (field.value !== state.q && document.activeElement !== field) field.value = state.q;
  byId("clearing").hidden = !field.value;
  menus.drawRow(() => state, go, mode());
  byId("row").hidden = Boolean(state.page);
  for (const [id, page] of [["answers", ["answers"]], ["vault", ["vault", "changes", "runs"]]]) {
    if (page.includes(state.page)) byId(id).setAttribute("aria-current", "page");
    else byId(id).removeAttribute("aria-current");
  }
  const words = stated.words(state, ASKED).toString();
  if (words !== lastSearched) underway = fillList(words);
  else markOpen();
  document.title = state.q ? `${state.q} · kb` : "kb";
  const isShown = previous && ["at", "passage", "heading", "view"].every((name) => previous[name] === state[name]);
  return isShown ? null : showPlace();
}

/** Shows the place of the state, or what there is a glance at. */
function showPlace() {
  const isBare = partPanes();
  return reader.show(isBare ? state : { ...state, ...(state.at ? {} : glance) }, go);
}

/** Sets what is beside what; true where no document is shown. */
function partPanes() {
  const isBare = !state.at && !(isWide.matches && glance);
  document.body.classList.toggle("reading", Boolean(state.at));
  document.body.classList.toggle("beside", !isBare);
  document.body.classList.toggle("alone", Boolean(state.at) && !stated.words(state, ASKED).toString());
  byId("reader").hidden = isBare;
  return isBare;
}

/** Shows a place beside the list that nobody chose; the address keeps none. */
function glanceAt(place) {
  glance = place;
  if (!state.at) showPlace();
  markOpen();
}

/** What was chosen stays in sight until something else is shown. */
function keepInSight() {
  if (state.at && hits.length) glance = { at: state.at, passage: state.passage, heading: state.heading };
}

/** Fills the list with what the state asks for: hits, an answer, or earlier answers. */
async function fillList(words) {
  const mine = ++filling;
  lastSearched = words;
  answers.stop();
  glanceSoon.cancel();
  countSoon.cancel();
  api.cancel("search", "answer", "answers", "count"); // what would fill it later than this
  document.body.classList.add("searching");
  const isHits = !state.page && !state.answer && !state.ask && state.q.trim();
  if (!isHits) {
    count.textContent = "";
    status.textContent = "";
    hits = [];
    if (!state.ask) answers.leave();
    if (!state.at && glance) glanceAt(null);
  }
  try {
    if (state.ask) await starting; // a POST needs what the start tells
    if (mine !== filling) return;
    if (state.page === "answers") await answers.showEarlier(state, list);
    else if (state.page) await showVault(state, list, go);
    else if (state.ask && defaults?.documents === 0) fill(list, firstUse(defaults));
    else if (state.answer || (state.ask && state.q.trim())) {
      const answer = await (state.answer ? answers.showKept : answers.ask)(state, list);
      if (mine === filling) showAnswer(answer);
    } else if (isHits) await search();
    else showStart();
    if (mine !== filling) return;
    markOpen();
  } catch (error) {
    if (mine !== filling) return;
    lastSearched = null;
    showFailure(error);
  } finally {
    if (mine === filling) document.body.classList.remove("searching");
  }
}

function showFailure(error) {
  const retry = [t("again"), () => location.reload()];
  const ways = { model_missing: [t("byWords"), () => go({ ...state, mode: "lexical" })], invalid_argument: menus.countOf(state) ? [t("takeAwayAll", menus.countOf(state)), () => go(menus.withoutFilters(state))] : null };
  count.textContent = "";
  status.textContent = "";
  hits = [];
  fill(list, failure(error, [ways[error.code] ?? retry]));
  if (!state.at) glanceAt(null);
}

async function search() {
  const began = performance.now();
  const asked = state;
  keepJudgements();
  searches += 1;
  const found = await api.get("search", "/api/search", searched()).finally(() => {
    searches -= 1;
    if (isWaiting) typed();
  });
  if (found === null) return; // a newer question is on its way; the hits of the last one stay until then
  answers.leave();
  hits = found.hits;
  total = null;
  const took = seconds(performance.now() - began);
  fill(list, h("h1", { class: "unseen" }, t("results")), notes(found), hits.length ? hitList(hits, state) : null, hits.length >= found.k ? moreButton() : null);
  byId("results").scrollTop = 0;
  if (!isWide.matches && !state.at) scrollTo(0, 0);
  status.textContent = hits.length ? t("hits", hits.length) : t("nothing", found.query);
  count.textContent = hits.length ? `${t("hits", hits.length)} · ${took}` : "";
  if (!hits.length) {
    glanceAt(null);
    return;
  }
  glance = isWide.matches ? placeOf(links()[0]) : null; // marked at once, shown when typing rests
  partPanes();
  glanceSoon();
  countSoon(asked, took);
}

/** The words of a search; a mode that is none is left out. */
const searched = (more = {}) => stated.searched({ ...state, ...more });

const glanceSoon = settled(() => {
  if (!state.at) showPlace();
}, RESTS_MS);

const countSoon = settled(async (asked, took) => {
  const found = await api.get("count", "/api/found", stated.searched(asked)).catch(() => null);
  if (!found?.passages || asked.q !== state.q || !hits.length) return;
  total = found.is_all ? found.passages : Infinity;
  count.textContent = `${t("found", found.documents, found.passages, found.is_all)} · ${took}`;
  list.querySelector(".more-hits")?.replaceWith(moreButton());
}, COUNTS_MS);

function moreButton() {
  const rest = Number.isFinite(total) && total !== null ? total - hits.length : 0;
  return h("button", { type: "button", class: "more-hits", onclick: () => showMore() }, t("showMore", rest > 0 ? rest : 0));
}

/** Adds the next hits at the end of the list: none of those that are there moves. */
async function showMore() {
  const found = await api.get("more", "/api/search", searched({ k: String(hits.length + MORE) })).catch(() => null);
  if (found === null) return false;
  const known = new Set(hits.map((hit) => hit.chunk_id));
  const added = found.hits.filter((hit) => !known.has(hit.chunk_id));
  const button = list.querySelector(".more-hits");
  if (!added.length) {
    button?.replaceWith(h("p", { class: "hint" }, t("thatsAll")));
    return false;
  }
  hits = [...hits, ...added];
  addHits(list.querySelector(".hits"), added, state);
  button?.replaceWith(moreButton());
  state = { ...state, k: String(hits.length) };
  stated.keep(state, { step: false });
  lastSearched = stated.words(state, ASKED).toString();
  return true;
}

function notes(found) {
  if (!found.hits.length) return nothing(found);
  return found.note ? h("p", { class: "hint", lang: languageOf(found.note) }, found.note) : null;
}

/** What can be done where nothing was found. */
function nothing(found) {
  const filters = menus.countOf(state);
  const ways = [
    filters ? [t("takeAwayAll", filters), () => go(menus.withoutFilters(state))] : null,
    mode() === "lexical" && defaults?.embedded ? [t("byMeaning"), () => go({ ...state, mode: "" })] : null,
    defaults?.documents ? [t("ask"), () => askIt("")] : null,
  ].filter(Boolean);
  return defaults?.documents === 0
    ? firstUse(defaults)
    : h("div", { class: "nothing" }, h("p", { class: "big" }, t("nothing", found.query)), h("p", {}, t("nothingHelp")), found.note ? h("p", { lang: languageOf(found.note) }, found.note) : null, h("p", { class: "ways" }, ways.map(([word, onclick]) => h("button", { type: "button", onclick }, word))));
}

function showStart() {
  status.textContent = "";
  if (!defaults) return;
  const made = defaults.documents ? startPage(defaults, state) : firstUse(defaults);
  fill(list, made);
  if (defaults.documents) fillStart(made, state).catch((error) => made.isConnected && showFailure(error));
}

/** What goes with an answer that is shown: its own address where it was kept, its source beside it, and what can be done with it; null: it was stopped. */
function showAnswer(answer) {
  const last = list.querySelector(".answer:last-of-type");
  if (!last) return;
  if (answer && defaults?.may_write && !state.answer) {
    state = { ...state, ask: "", deep: "", after: "", answer: answer.retrieval.trace_id };
    stated.keep(state, { step: false });
    lastSearched = stated.words(state, ASKED).toString();
  }
  last.append(h("p", { class: "ways" }, waysOf(answer).map(([word, onclick]) => h("button", { type: "button", onclick }, word))));
  if (answers.shown().length) last.append(followUp(answer ? "" : state.q));
  if (!answer) return;
  const wanted = list.querySelector(`.answer[data-answer="${CSS.escape(state.answer)}"]`) ?? last;
  if (wanted === list.firstElementChild) byId("results").scrollTop = 0;
  else wanted.scrollIntoView({ block: "start" });
  status.textContent = t(answer.state);
  const source = wanted.querySelector("a.source, a.marker");
  if (isWide.matches && source && !wanted.classList.contains("is-refused")) glanceAt(placeOf(source));
}

function waysOf(answer) {
  const all = answers.shown();
  return [
    answer && state.answer && all.some((each) => each.claims.some((claim) => claim.quote)) ? [t("check"), () => answers.check(list)] : null,
    !answer || answer.hops || all.length > 1 ? null : [t("inSteps"), () => askIt("1")],
    all.some((each) => each.state !== "refused") ? [t("copyAnswer"), () => copy(answers.asMarkdown(), t("answer"))] : null,
    [t("toHits"), toHits],
  ].filter(Boolean);
}

/** The field below an answer, for a question that goes on from it. */
function followUp(value) {
  const further = h("input", { type: "text", id: "further", value, maxlength: field.maxLength, enterkeyhint: "send", spellcheck: "false", placeholder: t("followUp"), "aria-label": t("followUpLabel") });
  const submit = (event) => {
    event.preventDefault();
    const words = withoutMarks(further.value).trim();
    if (!words) return;
    const all = answers.shown();
    const before = defaults?.may_write ? { after: all.at(-1).retrieval.trace_id } : { turn: all.map((each) => each.question) };
    lastSearched = null; // the same question again, where it was stopped
    go({ ...state, ...UNASKED, ...before, q: words, ask: "1" });
  };
  return h("form", { class: "follow-up", onsubmit: submit }, further, h("button", { type: "submit" }, t("ask")));
}

const toHits = () => {
  const first = answers.shown()[0]?.question ?? state.turn[0] ?? state.q; // what goes on from it finds little by itself
  field.value = first;
  go({ ...state, ...UNASKED, q: first });
  field.focus();
};

/** The links of the hits. */
const links = () => [...list.querySelectorAll("a.hit")];

/** Where a link leads, as the state has it. */
const placeOf = (link) => ({ at: link.dataset.at, passage: link.dataset.passage ?? "", heading: "" });

function markOpen() {
  const open = state.at ? state : glance;
  for (const link of links()) {
    const on = Boolean(open) && link.dataset.at === open.at && (link.dataset.passage ?? "") === open.passage;
    if (on) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
    const grade = judged.get(link.dataset.at);
    link.classList.toggle("good-hit", grade === 1);
    link.classList.toggle("bad-hit", grade === 0);
  }
}

const marked = () => list.querySelector("a.hit.here") ?? list.querySelector('a.hit[aria-current="true"]');

/** Marks the hit that is `by` further down; on a wide page it is shown beside the list. More come at its end. */
function move(by) {
  const all = links();
  if (!all.length) return;
  const at = all.indexOf(marked());
  const from = isWide.matches ? Math.max(at, 0) : at; // wide, the first is shown before any key
  const next = all[Math.min(Math.max(from + by, 0), all.length - 1)];
  if (next === all.at(-1) && list.querySelector(".more-hits")) showMore();
  mark(next);
  next.scrollIntoView({ block: "nearest" });
  status.textContent = t("position", all.indexOf(next) + 1, all.length, `${next.querySelector(".heading, .section, .snippet").textContent}, ${next.dataset.at ?? ""}`);
  if (isWide.matches && next.dataset.at && stated.words(state, ASKED).toString()) preview(next); // beside the start page there is no room
}

function mark(link) {
  for (const each of links()) each.classList.toggle("here", each === link);
}

const preview = settled((link) => go({ ...state, ...placeOf(link), view: state.view }, { step: !state.at }), 60);

async function openMarked() {
  const link = marked() ?? links()[0];
  if (!link) return;
  preview.cancel();
  if (link.dataset.answer || link.dataset.search) {
    link.click();
    return;
  }
  mark(link);
  await go({ ...state, ...placeOf(link) });
  (document.querySelector("#reader .paged") ?? byId("reader")).focus(); // what scrolls
}

/** Stops an answer; else goes back to the list, from an answer to its hits, then to an empty field. */
function back() {
  if (answers.stop()) return;
  const further = byId("further");
  if (further && further === document.activeElement && further.value) {
    further.value = "";
    return;
  }
  const isInReader = byId("reader").contains(document.activeElement);
  const link = links().find((each) => each.dataset.at === state.at) ?? marked();
  if (state.at && !isWide.matches) {
    go({ ...state, ...NOWHERE });
    (link ?? field).focus();
  } else if (isInReader) (link ?? field).focus();
  else if (state.ask || state.answer) toHits();
  else if (state.at) {
    keepInSight();
    go({ ...state, ...NOWHERE });
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
  tell(t("copied", what));
}

/** Says something for a moment, also to those who do not see it. */
function tell(text) {
  status.textContent = text;
  byId("toast").textContent = text;
  byId("toast").hidden = false;
  hideToast();
}
const hideToast = settled(() => (byId("toast").hidden = true), 1800);

const openPlace = () => (state.at ? state : (glance ?? NOWHERE));

async function openInProgram() {
  const { at } = openPlace();
  if (!at) return;
  try {
    const { program } = await (await api.post("/api/open", { at })).json();
    tell(t("opened", program));
  } catch (error) {
    tell(failure(error).textContent);
  }
}

/** Judges the hit that is marked, or takes the same judgement back. */
function judge(grade) {
  const at = openPlace().at || marked()?.dataset.at;
  if (!at || !hits.length) return;
  if (!defaults?.may_write) {
    tell(t("judgeLocked"));
    return;
  }
  if (judged.get(at) === grade) judged.delete(at);
  else judged.set(at, grade);
  markOpen();
  tell(`${t(grade ? "good" : "bad")}. ${t("judged")}`);
}

let judgedQuestion = "";
/** Adds the last question to the golden set if one of its hits is good. */
function keepJudgements() {
  const places = Object.fromEntries(judged);
  if (judgedQuestion && judgedQuestion !== state.q && [...judged.values()].includes(1)) {
    api.post("/api/judge", { query: judgedQuestion, places }, undefined, true).catch((error) => tell(error.message));
  }
  if (judgedQuestion !== state.q) judged = new Map();
  judgedQuestion = state.q;
}
addEventListener("pagehide", () => {
  if ([...judged.values()].includes(1)) api.post("/api/judge", { query: judgedQuestion, places: Object.fromEntries(judged) }, undefined, true).catch(() => null);
});

/** What is typed, without the question marks that ask, and without the part of a syllable that is being put together. */
function question() {
  const value = isComposing ? field.value.replace(TRAILING_JAMO, "") : field.value;
  return withoutMarks(value.slice(0, field.maxLength)); // an address holds no more
}
const withoutMarks = (words) => words.replace(/^\s*(\?\s*){0,2}/u, "");
const asksByMark = () => /^\s*\?/u.test(field.value);
const inSteps = () => (/^\s*\?\s*\?/u.test(field.value) ? "1" : "");

const typed = settled(() => {
  isWaiting = searches > 0;
  byId("clearing").hidden = !field.value;
  if (isWaiting) return;
  if (question() === state.q) return;
  keepInSight();
  go({ ...state, ...UNASKED, q: question() }, { step: Boolean(state.at || state.answer || state.ask || state.page) });
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

field.addEventListener("input", (event) => {
  isComposing = event.isComposing;
  typed();
});
field.addEventListener("compositionend", () => {
  isComposing = false;
  typed();
});
byId("asking").addEventListener("submit", (event) => {
  event.preventDefault(); // Enter is one of the keys; this is a phone's own
  if (asksByMark()) askIt();
  else typed.now();
});
byId("clearing").append(icon("close"));
byId("clearing").addEventListener("click", () => {
  field.value = "";
  typed.now();
  field.focus();
});
list.addEventListener("click", (event) => {
  const part = event.target.closest("a[data-page]");
  if (part && !event.metaKey && !event.ctrlKey && !event.shiftKey) {
    event.preventDefault();
    go({ ...stated.EMPTY, page: part.dataset.page });
    return;
  }
  const link = event.target.closest("a.hit, a.marker, a.to-document, a.choice-of");
  if (!link || event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  mark(link);
  if (link.dataset.answer) showEarlier(link.dataset.question, link.dataset.answer);
  else if (link.dataset.search) goTo(link.dataset.search);
  else if (link.dataset.state) go({ ...state, ...JSON.parse(link.dataset.state) });
  else go({ ...state, ...(question() === state.q ? {} : { ...UNASKED, q: question() }), ...placeOf(link), view: "" });
});
function showEarlier(query, answer) {
  field.value = query;
  go({ ...state, ...UNASKED, q: query, answer });
}

/** Goes to a saved search. */
function goTo(words) {
  const wanted = stated.read(`?${words}`);
  field.value = wanted.q;
  go(wanted);
}

function openPalette() {
  const place = openPlace().at;
  const other = LANGUAGE === "ko" ? "en" : "ko";
  const toPage = (page) => () => go({ ...state, ...UNASKED, q: question(), page });
  showPalette(
    [
      isSavable(state) && !state.page ? [t("saveSearch"), saveSearch] : null,
      [t("earlier"), toPage("answers")],
      [t("yourVault"), toPage("vault")],
      [t("changes"), toPage("changes")],
      [t("runs"), toPage("runs")],
      [t("filters"), () => menus.openFilters(() => state, go), "Alt+F"],
      [t("newestFirst"), () => go({ ...state, sort: state.sort === "date" ? "" : "date" })],
      ...stated.MODES.filter((each) => each !== mode()).map((each) => [t("searchBy", t(each)), () => go({ ...state, mode: each }), "Alt+M"]),
      place ? [t("copyCitation"), () => copy(cited(), t("citation")), "y"] : null,
      place ? [t("copyMarkdown"), () => copy(reader.markdownLink(), t("markdownLink")), "m"] : null,
      place ? [t("openTitle"), openInProgram, "o"] : null,
      ...(place && hits.length && defaults?.may_write ? [[t("good"), () => judge(1), "Alt+G"], [t("bad"), () => judge(0), "Alt+B"]] : []),
      [other === "ko" ? "한국어" : "English", () => useLanguage(other)],
      [t("keys"), keys.showHelp, "?"],
    ].filter(Boolean),
    {
      note: (at) => go({ ...state, ...NOWHERE, at }),
      search: goTo,
      question: (each) => showEarlier(each.query, each.trace_id),
      words: (words, isAsked) => {
        field.value = words;
        go({ ...state, ...UNASKED, q: words, ask: isAsked ? "1" : "" });
      },
    },
  );
}

const saveSearch = () => nameSearch(state, state.q.trim() || menus.filterWords(state), () => {
  tell(t("savedSearch"));
  if (list.querySelector(".start")) showStart();
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
  const from = openPlace().at.replace(/#(L\d|[a-z]+=)[^#]*$/u, "");
  const heading = link.dataset.note.split("#").slice(1).at(-1) ?? "";
  try {
    const found = await api.get("linked", "/api/linked", new URLSearchParams({ name: link.dataset.note, from }));
    if (found) go({ ...state, at: found.doc_path, passage: "", heading, view: "" });
  } catch {
    link.classList.add("missing");
    link.title = t("noNote", link.dataset.note);
    status.textContent = link.title;
  }
});
byId("answering").addEventListener("click", () => askIt());
for (const [id, page] of [["answers", "answers"], ["vault", "vault"]]) {
  byId(id).addEventListener("click", (event) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    go({ ...state, ...UNASKED, q: question(), page });
  });
}
byId("more").append(icon("dots"));
byId("more").addEventListener("click", () => {
  const pages = [["answers", "answers"], ["vault", "vault"]].map(([name, page]) => [t(name), () => go({ ...state, ...UNASKED, q: question(), page })]);
  const other = LANGUAGE === "ko" ? "en" : "ko";
  menus.offer("more", t("menu"), [...(isWide.matches ? [] : pages), [t("palette"), openPalette, "Ctrl+K"], ...(isSavable(state) && !state.page ? [[t("saveSearch"), saveSearch]] : []), [t("keys"), keys.showHelp, "?"], [other === "ko" ? "한국어" : "English", () => useLanguage(other)]]);
});
addEventListener("popstate", () => {
  const previous = state;
  state = stated.read();
  field.value = state.q;
  render(previous);
});
isWide.addEventListener("change", showPlace);

const cited = () => openPlace().at;
keys.listen({
  field: () => {
    field.focus();
    field.select();
  },
  next: () => caughtUp().then(() => move(1)),
  previous: () => caughtUp().then(() => move(-1)),
  ask: () => (document.activeElement.id === "further" ? document.activeElement.form.requestSubmit() : askIt()),
  askInSteps: () => askIt("1"),
  open: async () => {
    if (isTouched.matches) field.blur();
    if (asksByMark()) askIt();
    if (asksByMark() || isTouched.matches) return; // a phone's key says "search"
    await caughtUp();
    openMarked();
  },
  back,
  palette: openPalette,
  mode: () => go({ ...state, mode: stated.MODES[(stated.MODES.indexOf(mode()) + 1) % stated.MODES.length] }),
  filters: () => menus.openFilters(() => state, go),
  copyPlace: () => copy(cited(), t("citation")),
  copyLink: () => copy(reader.markdownLink(), t("markdownLink")),
  copyText: () => copy(reader.shownText(), t("text")),
  program: openInProgram,
  good: () => judge(1),
  bad: () => judge(0),
  view: () => {
    const place = openPlace();
    if (place.at) go({ ...state, ...place, view: { "": "raw", raw: "both", both: "" }[state.view] });
  },
  help: keys.showHelp,
});
byId("reader").addEventListener("act", (event) => {
  const { act } = event.detail;
  if (act === "cite") {
    menus.offer("citing", t("cite"), [
      [t("copyCitation"), () => copy(cited(), t("citation")), "y"],
      [t("copyMarkdown"), () => copy(reader.markdownLink(), t("markdownLink")), "m"],
      [t("copyText"), () => copy(reader.shownText(), t("text")), "t"],
    ]);
  } else if (act === "open") openInProgram();
  else if (act === "next" || act === "previous") {
    const all = links();
    const at = all.findIndex((each) => each.dataset.at === state.at && (each.dataset.passage ?? "") === state.passage);
    const next = all[at + (act === "next" ? 1 : -1)];
    if (next) go({ ...state, ...placeOf(next) }, { step: false });
  } else back();
});

/** The width of the list, kept in the browser; in percent. */
const divider = byId("divider");
function setWidth(percent) {
  const width = Math.round(Math.min(Math.max(percent, 22), 60));
  document.documentElement.style.setProperty("--list", `${width}%`);
  divider.setAttribute("aria-valuenow", width);
  try {
    localStorage.setItem("kb-list", width);
  } catch {
    return; // a browser that keeps nothing: it has this width as long as the page is there
  }
}
divider.addEventListener("pointerdown", (event) => {
  event.preventDefault();
  divider.setPointerCapture(event.pointerId);
  divider.onpointermove = (moved) => setWidth((100 * moved.clientX) / innerWidth);
});
divider.addEventListener("pointerup", () => (divider.onpointermove = null));
divider.addEventListener("keydown", (event) => {
  const by = { ArrowLeft: -2, ArrowRight: 2 }[event.key];
  if (by) setWidth(Number(divider.getAttribute("aria-valuenow")) + by);
});
const storedWidth = () => {
  try {
    return Number(localStorage.getItem("kb-list")) || 38;
  } catch {
    return 38;
  }
};

/** Says all that the page's markup says in the language of the page. */
function speak() {
  document.documentElement.lang = LANGUAGE;
  for (const each of document.querySelectorAll("[data-t]")) each.textContent = t(each.dataset.t);
  for (const each of document.querySelectorAll("[data-label]")) each.setAttribute("aria-label", t(each.dataset.label));
  for (const each of document.querySelectorAll("[data-title]")) each.title = t(each.dataset.title);
  for (const each of document.querySelectorAll("[data-placeholder]")) each.placeholder = t(each.dataset.placeholder);
}

speak();
setWidth(storedWidth());
try {
  field.value = state.q;
  if (!state.at) field.focus();
  render(null);
  await starting;
  menus.drawRow(() => state, go, mode());
  if (!state.q && !state.page && !state.answer) showStart();
} catch (error) {
  showFailure(error);
}
document.documentElement.dataset.ready = "true";
