// Answers: asked and shown as they come, with their places as cards, and what became of each sentence when checked.

import { get, post, Failure } from "./api.js";
import { h } from "./dom.js";
import { hitList, leadsTo, placeWord } from "./hits.js";
import { address, FILTER_NAMES } from "./state.js";

const STATES = {
  answered: ["answered", "Answered from your notes"],
  unsure: ["unsure", "Perhaps"],
  refused: ["refused", "No answer found in your notes"],
};
const STANDINGS = {
  stands: ["good", "unchanged"],
  moved: ["good", "moved"],
  changed: ["bad", "changed"],
  missing: ["bad", "missing"],
  unreadable: ["bad", "cannot be read"],
};
const REASONS = {
  whole: "the question as asked",
  part: "a part of it",
  side: "one side of the comparison",
  planned: "a part, as the model split it",
  needed: "what the model still needed after that",
};
const ENOUGH = { answered: "enough to answer", unsure: "perhaps enough", refused: "not in your notes" };
const SENTENCES = { supported: "what it cites says so", not_checked: "whether its source says so could not be checked", weak: "that its source says so could not be shown", dropped: "left out: its source does not say so" };

let listening = null; // what can stop the answer in the making

/** Stops the answer in the making. */
export function stop() {
  listening?.abort();
  listening = null;
}

/** Asks what the state asks, in steps where it says so, into `holder`, as it comes; resolves to the answer, or null where it was stopped. */
export async function ask(state, holder) {
  stop();
  const control = new AbortController();
  listening = control;
  const text = h("p", { class: "answer-text making" });
  const progress = h("p", { class: "hint", role: "status" }, "Looking for passages …");
  const steps = h("ol", { class: "steps", "aria-label": "Steps" });
  holder.replaceChildren(h("section", { class: "answer", "aria-label": "Answer" }, progress, state.deep ? steps : null, text));
  let answer = null;
  try {
    for await (const told of lines(await post("/api/ask", body(state), control.signal))) {
      if (told.schema_version === "error.v1") throw new Failure(told.message, told.hint, told.code);
      if (told.kind === "retrieved") {
        const count = told.hits.length;
        progress.textContent = count ? `Reading ${count} passage${count === 1 ? "" : "s"} …` : "Nothing near was found.";
        text.after(h("details", { class: "found" }, h("summary", {}, `${count} passages found`), hitList({ hits: told.hits }, state)));
      } else if (told.kind === "hop") {
        steps.append(step(told.hop, state));
        progress.textContent = "Looking for what else the question needs …";
      } else if (told.kind === "token") {
        progress.textContent = "Answering; each sentence is checked when it is whole …";
        text.append(told.text);
      } else {
        answer = told;
      }
    }
  } catch (error) {
    if (control.signal.aborted) return null;
    throw error;
  } finally {
    if (listening === control) listening = null;
  }
  if (answer && !control.signal.aborted) show(answer, state, holder);
  return answer;
}

/** Shows a kept answer. */
export async function showKept(state, holder) {
  const answer = await get("answer", "/api/answer", new URLSearchParams({ id: state.answer }));
  if (answer) show(answer, state, holder);
  return answer;
}

function body(state) {
  const asked = { query: state.q, ...(state.deep ? { deep: true } : {}) };
  for (const name of ["mode", ...FILTER_NAMES]) if (state[name].length) asked[name] = state[name];
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

function show(answer, state, holder) {
  const [name, title] = STATES[answer.state];
  const isRefused = answer.state === "refused";
  const cards = answer.citations.map((each, index) => card(each, index, state));
  holder.replaceChildren(
    h(
      "section",
      { class: "answer", "aria-label": "Answer" },
      h("p", { class: `verdict ${name}` }, title),
      h("div", { class: "answer-text", lang: language(answer.answer) }, painted(answer, state)),
      [...answer.notes, ...(answer.why ? [answer.why] : [])].map((note) => h("p", { class: "hint" }, note)),
      cards.length ? h("h2", { class: "over-cards" }, isRefused ? "Nearest places" : "Where it is from") : null,
      h("ol", { class: "cards" }, cards),
      dropped(answer),
      taken(answer, state),
      h("p", { class: "made" }, madeBy(answer)),
    ),
  );
}

const language = (text) => (/[\uac00-\ud7a3]/u.test(text) ? "ko" : null);

/** The spans of the text: pieces that answer, sentences by what became of them, markers as links, code in blocks. */
function painted(answer, state) {
  const places = new Map(answer.citations.map((each) => [each.marker, each]));
  const shown = [];
  let block = null; // the code block that the last span was of
  for (const span of answer.spans) {
    block = span.form === "code" ? (block ?? h("code", { class: "block" })) : null;
    if (block && !shown.includes(block)) shown.push(block);
    const text = block ? span.text.replace(/^[ \t>]*(```|~~~)[^\n]*\n?/gmu, "") : flowing(span.text);
    (block ? { push: (each) => block.append(each) } : shown).push(part(span, text, answer.claims[span.claim], places, state));
  }
  return shown;
}

function part(span, text, claim, places, state) {
  if (span.kind === "piece") return h("mark", { class: "piece" }, text);
  if (span.kind === "claim") return h("span", { class: `sentence ${claim.status}`, title: `${statusWord(claim)}: ${claim.reason ?? SENTENCES[claim.status]}` }, text);
  if (span.kind !== "marker") return h("span", { class: span.kind }, text);
  const place = places.get(span.text);
  return h("a", { class: "marker", ...leadsTo(place.citation, place.chunk_id, state), "aria-label": `Place ${span.text.slice(1, -1)}` }, span.text.slice(1, -1));
}

const statusWord = (claim) => claim.status.replace("_", " ");

/** Prose as it flows: the ends of lines within a paragraph are the file's, not the reader's. */
const flowing = (text) => text.replace(/(?<=\S)\n(?=[^\s\-*+>|#\d])/gu, " ");

function card(each, index, state) {
  const place = each.citation;
  return h(
    "li",
    { class: "card", "data-quote": each.quote ?? "" },
    h(
      "a",
      { class: "hit", ...leadsTo(place, each.chunk_id, state) },
      h("span", { class: "where" }, h("span", { class: "kind" }, each.marker ? each.marker.slice(1, -1) : String(index + 1)), place.path, h("span", { class: "at" }, ` ${placeWord(place)}`)),
      h("span", { class: "heading" }, each.label),
      each.quote ? h("span", { class: "snippet" }, each.quote) : null,
    ),
  );
}

/** The sentences that are not supported: those not checked, and weak ones, stay in the text; dropped ones are here alone. */
function dropped(answer) {
  const doubtful = answer.claims.filter((each) => each.status !== "supported");
  if (!doubtful.length) return null;
  return h(
    "details",
    { class: "doubts" },
    h("summary", {}, `${doubtful.length} sentence${doubtful.length === 1 ? "" : "s"} not shown to be supported`),
    h("ul", {}, doubtful.map((each) => h("li", {}, h("span", { class: `sentence ${each.status}` }, each.text), ` — ${statusWord(each)}: ${each.reason ?? SENTENCES[each.status]}`))),
  );
}

/** One step of a deep answer: what was asked, why, what came of it, and the best places it found. */
function step(hop, state) {
  return h(
    "li",
    {},
    h("span", { class: "step-asked", lang: language(hop.question) }, hop.question),
    h("span", { class: "step-why" }, `${REASONS[hop.why]} · `, h("span", { class: hop.state }, ENOUGH[hop.state])),
    h("ul", {}, hop.places.slice(0, PLACES_SHOWN).map((each) => h("li", {}, h("a", { class: "to-document", ...leadsTo(each.citation, each.chunk_id, state) }, each.citation.path, h("span", { class: "at" }, ` ${placeWord(each.citation)}`))))),
  );
}

const PLACES_SHOWN = 3; // of a step; the answer has its own below it

/** The steps that an answer took, folded. */
function taken(answer, state) {
  if (!answer.hops) return null;
  const count = answer.hops.length;
  const said = count === 1 ? "Asked in steps; it is one question, and took one" : `In ${count} steps`;
  return h("details", { class: "found" }, h("summary", {}, said), h("ol", { class: "steps" }, answer.hops.map((hop) => step(hop, state))));
}

function madeBy(answer) {
  const by = answer.model.provider === "extractive" ? "your own sentences, word for word" : `written by ${answer.model.id} (${answer.model.provider})`;
  const sure = answer.evidence ? `, evidence ${answer.evidence.value.toFixed(2)}` : "";
  const time = answer.usage.latency_ms < 1000 ? `${answer.usage.latency_ms} ms` : `${(answer.usage.latency_ms / 1000).toFixed(1)} s`;
  return `${answer.state === "refused" ? "nothing was written" : by}${sure}, ${time}`;
}

/** The list of earlier answers; a click shows one. */
export async function showEarlier(state, holder) {
  const found = await get("answers", "/api/answers");
  if (!found) return;
  const list = h(
    "ol",
    { class: "hits" },
    found.map((each) =>
      h(
        "li",
        { "data-answer": each.trace_id },
        h(
          "a",
          { class: "hit", href: address({ ...state, page: "", q: each.query, ask: "", answer: each.trace_id, at: "" }), "data-answer": each.trace_id, "data-question": each.query },
          h("span", { class: "where" }, h("span", { class: `kind ${each.state ?? "refused"}` }, STATES[each.state ?? "refused"][1]), new Date(each.created_at).toLocaleString()),
          h("span", { class: "heading" }, each.query),
          h("span", { class: "snippet" }, each.answer),
        ),
      ),
    ),
  );
  const button = h("button", { type: "button", class: "quiet", onclick: () => checkAll(list, button) }, "Check all against the files");
  holder.replaceChildren(
    h("div", { class: "list-head" }, h("h1", {}, "Earlier answers"), found.length ? button : null),
    found.length ? list : h("p", { class: "hint" }, "None was kept yet. What is asked by kb ask is kept; what is asked on this page is kept where it was started by kb web --allow-write."),
  );
}

async function checkAll(list, button) {
  button.disabled = true;
  button.textContent = "Checking …";
  const checks = (await get("verify", "/api/verify")) ?? [];
  let gone = 0;
  for (const check of checks) {
    const item = list.querySelector(`li[data-answer="${CSS.escape(check.trace_id)}"]`);
    if (!item || !check.quotes.length) continue;
    item.querySelector(".standing")?.remove();
    const changed = check.quotes.filter((each) => STANDINGS[each.standing][0] === "bad");
    gone += changed.length ? 1 : 0;
    item.append(h("p", { class: `standing ${changed.length ? "bad" : "good"}` }, changed.length ? `${changed.length} of its quotations changed: ${changed.map((each) => each.citation.uri).join(", ")}` : "all it quotes is in the files"));
  }
  button.disabled = false;
  button.textContent = gone ? `${gone} cite${gone === 1 ? "s" : ""} what has changed. Check again` : "All still stand. Check again";
}

/** Says on each card whether the quotation still stands in its file. */
export async function check(answerId, holder) {
  const [found] = (await get("verify", "/api/verify", new URLSearchParams({ id: answerId }))) ?? [];
  if (!found) return;
  holder.querySelectorAll(".standing").forEach((each) => each.remove());
  const cards = [...holder.querySelectorAll(".card")];
  for (const quote of found.quotes) {
    const [name, word] = STANDINGS[quote.standing];
    const to = quote.standing === "moved" && quote.now_at ? ` to ${quote.now_at.uri}` : "";
    const its = cards.find((each) => each.dataset.quote === quote.quote) ?? cards.find((each) => each.querySelector("a").dataset.at === quote.citation.uri);
    (its ?? holder).append(h("p", { class: `standing ${name}` }, `${word}${to}`));
  }
}
