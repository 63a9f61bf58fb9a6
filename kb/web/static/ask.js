// Answers: asked and shown as they come, rendered as notes are, with their places and what became of each sentence.

import { Failure, get, post } from "./api.js";
import { h, plainNote } from "./dom.js";
import { hitList, leadsTo, pathOf, placeWord } from "./hits.js";
import { find, inOneLine, lettersOf, wrap } from "./places.js";
import { address, FILTER_NAMES, words } from "./state.js";
import { day, languageOf, seconds, t } from "./strings.js";

const MOST_TURNS = 6; // of those before a question, that are told with it
const NARROWING = ["mode", ...FILTER_NAMES];
const PLACES_SHOWN = 3; // of a step; the answer has its own below it
const NEAREST_SHOWN = 5; // of a refusal
const STANDS = ["stands", "moved"]; // what a quotation is that is still in the files

let listening = null; // what can stop the answer in the making
let turns = []; // the conversation that is there, each `{ answer, html }`; most have one turn
let narrowed = ""; // the filters it was asked with

/** Stops the answer in the making; true where there was one. */
export function stop() {
  const wasListening = listening !== null;
  listening?.abort();
  listening = null;
  return wasListening;
}

/** Asks what the state asks, after the turns it names, into `holder`, as it comes; resolves to the answer, or null where it was stopped. */
export async function ask(state, holder) {
  stop();
  const control = new AbortController();
  listening = control;
  try {
    const before = state.after ? await keptTurns(state.after) : known(state);
    if (!before || control.signal.aborted) return null;
    turns = before;
    narrowed = words(state, NARROWING).toString();
    holder.replaceChildren();
    for (const each of turns) add(each, state, holder);
    for (const question of [...state.turn.slice(turns.length), state.q]) {
      const made = await make({ ...state, q: question, deep: question === state.q ? state.deep : "" }, holder, control);
      if (!made) return null;
      turns = [...turns, made];
    }
    return turns.at(-1).answer;
  } finally {
    if (listening === control) listening = null;
  }
}

/** The first turns of the state, as far as they are those that are there. */
function known(state) {
  if (words(state, NARROWING).toString() !== narrowed) return [];
  const differs = state.turn.findIndex((question, at) => turns[at]?.answer.question !== question);
  return turns.slice(0, differs < 0 ? state.turn.length : differs);
}

/** Asks one question below the turns before it; resolves to an `answer_view.v1`, or null where it was stopped. */
async function make(state, holder, control) {
  const text = h("p", { class: "answer-text making" });
  const progress = h("span", { role: "status" }, t("looking"));
  const steps = h("ol", { class: "steps", "aria-label": t("stepsLabel") });
  const stopping = h("button", { type: "button", onclick: stop }, t("stop"));
  const line = h("p", { class: "progress" }, progress, stopping);
  const asked = turns.length ? h("h2", { class: "asked", lang: languageOf(state.q) }, state.q) : null;
  const section = h("section", { class: "answer", "aria-label": t("answer") }, asked, line, state.deep ? steps : null, text);
  holder.append(section);
  if (asked) section.scrollIntoView({ block: "start" });
  let made = null;
  try {
    for await (const told of lines(await post("/api/ask", body(state), control.signal))) {
      if (told.schema_version === "error.v1") throw new Failure(told.message, told.hint, told.code);
      if (told.kind === "retrieved") {
        const count = told.hits.length;
        progress.textContent = count ? t("readingPassages", count) : t("nothingNear");
        text.after(h("details", { class: "steps-taken" }, h("summary", {}, t("passagesFound", count)), hitList(told.hits, state)));
      } else if (told.kind === "hop") {
        steps.append(step(told.hop, state));
        progress.textContent = t("nextStep");
      } else if (told.kind === "token") {
        progress.textContent = t("writing");
        text.append(told.text);
      } else {
        made = told;
      }
    }
  } catch (error) {
    if (!control.signal.aborted) throw error;
    progress.textContent = t("stopped");
    stopping.remove();
    text.classList.remove("making");
    return null;
  }
  if (!made || control.signal.aborted) return null;
  section.remove();
  add(made, state, holder);
  return made;
}

/** Shows a kept answer, in its conversation where it is of one. */
export async function showKept(state, holder) {
  const found = await keptTurns(state.answer);
  if (!found) return null;
  holder.replaceChildren();
  for (const each of found) add(each, state, holder);
  turns = found;
  return found.at(-1)?.answer ?? null;
}

/** A kept answer with all of its conversation; null where something newer is shown. */
async function keptTurns(id) {
  const found = await get("answer", "/api/answer", new URLSearchParams({ id }));
  const name = found?.answer.conversation_id;
  return name ? get("answer", "/api/conversation", new URLSearchParams({ name })) : found && [found];
}

/** What the answers that are shown quote from a place. */
export const quotedAt = (uri) => turns.flatMap(({ answer }) => answer.citations).filter((each) => each.citation.uri === uri && each.quote).map((each) => each.quote);

/** Forgets the answers that were shown: the hits are there in their place. */
export function leave() {
  turns = [];
}

/** The answers that are shown, in the order of their questions. */
export const shown = () => turns.map(({ answer }) => answer);

/** The answers as Markdown, their places as footnotes. */
export function asMarkdown() {
  const several = turns.length > 1;
  return turns.map(({ answer }, at) => {
    const name = (number) => (several ? `${at + 1}-${number}` : number);
    const notes = answer.citations.filter((each) => each.marker).map((each) => `[^${name(each.marker.slice(1, -1))}]: ${each.label} (${each.citation.uri})`);
    const text = answer.answer.replace(/\[(\d+)\]/gu, (_, number) => `[^${name(number)}]`);
    return [...(several ? [`## ${answer.question}`, ""] : []), text, ...(notes.length ? ["", ...notes] : [])].join("\n");
  }).join("\n\n");
}

function body(state) {
  const asked = { query: state.q, ...(state.deep ? { deep: true } : {}), ...(state.after ? { after: state.after } : {}) };
  if (turns.length && !state.after) asked.turns = turns.slice(-MOST_TURNS).map(({ answer }) => ({ question: answer.question, answer: answer.answer, search_query: answer.search_query }));
  for (const name of NARROWING) if (state[name].length) asked[name] = state[name];
  return asked;
}

async function* lines(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n");
    rest = parts.pop();
    for (const part of parts) if (part) yield JSON.parse(part);
  }
}

/** Adds an answer below those before it. */
function add({ answer, html }, state, holder) {
  const isFirst = !holder.childElementCount;
  const isQuoted = answer.model.provider === "extractive" && html !== null;
  const text = rendered(answer, html, state);
  const isRefused = answer.state === "refused";
  const cards = isRefused ? h("div", { class: "nearest" }) : isQuoted && quotations(text, answer, state) ? null : cardsOf(answer, state);
  holder.append(
    h(
      "section",
      { class: `answer is-${answer.state}`, "aria-label": t("answer"), "data-answer": answer.retrieval.trace_id },
      h(isFirst ? "h1" : "h2", { class: "asked", lang: languageOf(answer.question) }, answer.question),
      h("h2", { class: `verdict ${answer.state}` }, verdictOf(answer)),
      answer.state === "unsure" ? h("p", { class: "caution" }, t("unsureHelp")) : null,
      isRefused ? null : text,
      isRefused ? cards : null, // before any other word on why
      answer.notes.map((note) => h("p", { class: "hint", lang: languageOf(note) }, note)),
      isRefused ? null : cards,
      doubtful(answer),
      h("div", { class: "made" }, isRefused ? null : h("span", {}, madeBy(answer, isQuoted)), h("span", {}, seconds(answer.usage.latency_ms)), why(answer, state)),
      footnotes(answer),
    ),
  );
  if (isRefused) showNearest(answer, state, cards).catch(() => null); // the refusal stands without them
}

/** What became of a question, in a line; a refusal that says nothing about the notes in its own words. */
function verdictOf({ state, refusal_reason: reason, answer }) {
  if (state !== "refused") return t(state);
  return ["no_index", "llm_stream_aborted"].includes(reason) ? answer : t("refusedHelp");
}

/** The nearest places to a question that was refused, as the hits they are. */
async function showNearest(answer, state, holder) {
  const params = words({ ...state, q: answer.search_query, k: String(NEAREST_SHOWN) }, ["q", "k", ...NARROWING]);
  const found = await get(`nearest ${answer.retrieval.trace_id}`, "/api/search", params);
  if (found?.hits.length) holder.append(h("h3", { class: "over-cards" }, t("nearest")), hitList(found.hits, state));
}

/** The text as a note is rendered, its pieces and claims marked, its markers links to their places. */
function rendered(answer, html, state) {
  const made = html === null ? h("div", { class: "answer-text note" }, h("p", { class: "plain" }, answer.answer)) : plainNote(html, "answer-text");
  if (languageOf(answer.answer)) made.lang = languageOf(answer.answer);
  putMarkers(made, answer, state);
  const letters = lettersOf(made);
  const told = answer.spans.filter((span) => span.kind === "piece" || span.kind === "claim");
  const parts = told.flatMap((span) => span.text.split("\n").map((line) => [span, line])); // a line at a time: what is between may be markup
  const found = find(letters, parts.map(([, text]) => text));
  for (let at = parts.length - 1; at >= 0; at -= 1) {
    const [span] = parts[at];
    if (found[at] !== null) wrap(letters, found[at], () => marked(span, answer.claims[span.claim]));
  }
  return made;
}

function marked(span, claim) {
  if (span.kind === "piece") return h("mark", { class: "piece" });
  return h("span", { class: `sentence ${claim.status}`, title: claim.reason ?? t(claim.status) });
}

const NUMBERED = /\[\d{1,9}\]/gu;

/** Makes the markers in the text links to their places. What only looks like one, as a footnote of a note does, stays. */
function putMarkers(made, answer, state) {
  const places = new Map(answer.citations.map((each) => [each.marker, each]));
  const walk = document.createTreeWalker(made, NodeFilter.SHOW_TEXT);
  const nodes = [];
  for (let node = walk.nextNode(); node; node = walk.nextNode()) if (!node.parentElement.closest("code, pre")) nodes.push(node);
  const seen = nodes.flatMap((node) => [...node.data.matchAll(NUMBERED)].map((found) => [node, found]));
  const told = answer.spans.filter((span) => span.form !== "code").flatMap((span) => (span.text.match(NUMBERED) ?? []).map(() => span.kind === "marker"));
  for (let at = seen.length - 1; at >= 0; at -= 1) {
    const [node, { index, 0: text }] = seen[at];
    if (!places.has(text) || (told.length === seen.length && !told[at])) continue;
    const part = node.splitText(index);
    part.splitText(text.length);
    part.replaceWith(marker(places.get(text), state));
  }
}

function marker(place, state) {
  const number = place.marker.slice(1, -1);
  return h("a", { class: "marker", ...leadsTo(place.citation, place.chunk_id, state), "aria-label": t("place", number) }, number);
}

/** Sets what is quoted from each place apart, its source below it; false where the text does not part so. */
function quotations(text, answer, state) {
  const blocks = [...text.children];
  const markers = blocks.map((block) => [...block.querySelectorAll("a.marker")]);
  const last = markers.findLastIndex((each) => each.length > 0);
  if (last < 0) return false;
  let from = 0;
  for (let at = 0; at <= last; at += 1) {
    if (!markers[at].length) continue;
    const numbers = new Set(markers[at].map((each) => each.textContent));
    const sources = answer.citations.filter((each) => each.marker && numbers.has(each.marker.slice(1, -1)));
    const quoted = h("blockquote", {}, blocks.slice(from, at + 1));
    markers[at].forEach((each) => each.remove());
    for (const block of quoted.children) if (!block.textContent.trim()) block.remove();
    const figure = h("figure", { class: "quotation", "data-quote": sources[0]?.quote ?? "" }, quoted, sources.map((each) => h("figcaption", { "data-quote": each.quote ?? "" }, source(each, state))));
    if (blocks[at + 1]) blocks[at + 1].before(figure);
    else text.append(figure);
    from = at + 1;
  }
  return true;
}

/** A place an answer is from, on one line: its number, what is over it, path and place. */
function source(each, state) {
  const over = each.citation.kind === "part" ? (each.citation.section ?? "") : each.label;
  return h(
    "a",
    { class: each.marker ? "hit source marker-of" : "hit source", ...leadsTo(each.citation, each.chunk_id, state) },
    each.marker ? h("span", { class: "marker" }, each.marker.slice(1, -1)) : null,
    over ? h("span", { class: "heading", lang: languageOf(over) }, h("bdi", {}, over.split(" › ").at(-1))) : null,
    pathOf(each.citation.path),
    h("span", { class: "at" }, placeWord(each.citation)),
  );
}

function cardsOf(answer, state) {
  if (!answer.citations.length) return null;
  return [
    h("h3", { class: "over-cards" }, t("sources")),
    h("ol", { class: "cards" }, answer.citations.map((each) => h("li", { class: "card", "data-quote": each.quote ?? "" }, source(each, state)))),
  ];
}

/** The sentences that are not supported: those not checked, and weak ones, stay in the text; dropped ones are here alone. */
function doubtful(answer) {
  const claims = answer.claims.filter((each) => each.status !== "supported");
  if (!claims.length) return null;
  return h(
    "details",
    { class: "doubts" },
    h("summary", {}, t("doubtful", claims.length)),
    h("ul", {}, claims.map((each) => h("li", {}, h("span", { class: `sentence ${each.status}` }, each.text), ` — ${each.reason ?? t(each.status)}`))),
  );
}

/** One step of a deep answer: what was asked, why, what came of it, and the best places it found. */
function step(hop, state) {
  return h(
    "li",
    {},
    h("span", { class: "step-asked", lang: languageOf(hop.question) }, hop.question),
    h("span", { class: "step-why" }, `${t(hop.why)} · `, h("span", { class: hop.state }, t(`enough_${hop.state}`))),
    h("ul", {}, hop.places.slice(0, PLACES_SHOWN).map((each) => h("li", {}, h("a", { class: "to-document", ...leadsTo(each.citation, each.chunk_id, state) }, h("bdi", {}, each.citation.path), h("span", { class: "at" }, ` ${placeWord(each.citation)}`))))),
  );
}

const madeBy = (answer, isQuoted) => (isQuoted || answer.model.provider === "extractive" ? t("quoted") : t("written", answer.model.id));

/** Why kb is sure or not, with the numbers, and the steps it took; folded. */
function why(answer, state) {
  const { evidence } = answer;
  const rows = evidence ? [["evidence", evidence.value], ["right", evidence.right], ["wordShare", evidence.lexical]].filter(([, value]) => value !== null && value !== undefined) : [];
  const isResolved = answer.search_query !== answer.question && answer.turn_index !== 0;
  if (!answer.why && !rows.length && !answer.hops && !isResolved) return null;
  return h(
    "details",
    { class: "why" },
    h("summary", {}, t("why")),
    isResolved ? h("p", {}, t("readAs", answer.search_query)) : null,
    answer.why ? h("p", { lang: languageOf(answer.why) }, answer.why) : null,
    rows.length ? h("ul", { class: "evidence" }, rows.map(([name, value]) => h("li", {}, h("b", {}, `${Math.floor(100 * Math.max(0, Math.min(1, value)))} %`), ` ${t(name)}`))) : null,
    answer.hops ? [h("p", { class: "steps-taken" }, t("steps", answer.hops.length)), h("ol", { class: "steps" }, answer.hops.map((hop) => step(hop, state)))] : null,
  );
}

/** The places for who prints the answer. */
function footnotes(answer) {
  const cited = answer.citations.filter((each) => each.marker);
  return cited.length ? h("ol", { class: "footnotes", "aria-hidden": "true" }, cited.map((each) => h("li", { value: each.marker.slice(1, -1) }, each.label, h("br", {}), each.citation.uri))) : null;
}

/** The list of earlier answers, those of a conversation together; a click shows one. */
export async function showEarlier(state, holder) {
  const found = await get("answers", "/api/answers");
  if (!found) return;
  const groups = new Map();
  for (const each of found) groups.set(each.conversation_id ?? each.trace_id, [each, ...(groups.get(each.conversation_id ?? each.trace_id) ?? [])]);
  const item = (each, others = []) => h("li", { "data-answer": each.trace_id }, earlier(each, state), others.length ? h("ol", {}, others.map((other) => item(other))) : null);
  const list = h("ol", { class: "hits earlier" }, [...groups.values()].map(([first, ...others]) => item(first, others)));
  const button = h("button", { type: "button", onclick: () => checkAll(list, button) }, t("checkAll"));
  holder.replaceChildren(h("div", { class: "list-head" }, h("h1", {}, t("earlier")), found.length ? button : null), found.length ? list : h("p", { class: "hint" }, t("noneKept")));
}

function earlier(each, state) {
  return h(
    "a",
    { class: "hit", href: address({ ...state, page: "", q: each.query, ask: "", answer: each.trace_id, at: "" }), "data-answer": each.trace_id, "data-question": each.query },
    h("span", { class: "head" }, h("span", { class: "heading", lang: languageOf(each.query) }, each.query), h("span", { class: "at" }, day(each.created_at))),
    h("span", { class: "snippet", lang: languageOf(each.answer) }, inOneLine(each.answer.replace(/\[\d+\]/gu, ""), [], 0).map(([text]) => text)),
    each.state && each.state !== "refused" ? h("span", { class: "where" }, h("span", { class: each.state }, t(each.state))) : null, // a refusal says it
  );
}

async function checkAll(list, button) {
  button.disabled = true;
  button.textContent = t("checking");
  const checks = (await get("verify", "/api/verify")) ?? [];
  let gone = 0;
  for (const check of checks) {
    const item = list.querySelector(`li[data-answer="${CSS.escape(check.trace_id)}"]`);
    if (!item || !check.quotes.length) continue;
    item.querySelector(":scope > .standing")?.remove();
    const changed = check.quotes.filter((each) => !STANDS.includes(each.standing));
    gone += changed.length ? 1 : 0;
    item.querySelector("a").after(standing(changed.length === 0, changed.length ? t("quotesChanged", changed.length, changed.map((each) => each.citation.uri).join(", ")) : t("quotesStand")));
  }
  button.disabled = false;
  button.textContent = gone ? t("someChanged", gone) : t("allStand");
}

const standing = (isGood, said) => h("p", { class: `standing ${isGood ? "good" : "bad"}` }, said);

/** Says at each source whether what is quoted from it is still in its file. */
export async function check(holder) {
  holder.querySelectorAll(".standing").forEach((each) => each.remove());
  for (const section of holder.querySelectorAll(".answer")) {
    const [found] = (await get("verify", "/api/verify", new URLSearchParams({ id: section.dataset.answer }))) ?? [];
    if (found) sayStandings(found, section);
  }
}

function sayStandings(found, section) {
  const sources = [...section.querySelectorAll(".card, figcaption")];
  const said = new Set();
  for (const quote of found.quotes) {
    const word = t(quote.standing);
    const where = quote.standing === "moved" && quote.now_at ? t("to", word, quote.now_at.uri) : word;
    const its = sources.find((each) => each.dataset.quote === quote.quote) ?? sources.find((each) => each.querySelector("a").dataset.at === quote.citation.uri) ?? sources.at(-1);
    const line = `${sources.indexOf(its)} ${where}`;
    if (!its || said.has(line)) continue; // two sentences of one place stand or fall together
    said.add(line);
    its.append(standing(STANDS.includes(quote.standing), where));
  }
}
