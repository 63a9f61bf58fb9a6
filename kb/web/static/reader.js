// The document beside the hits: a note as it reads or by its lines, a source by its lines; the cited place marked.

import { get } from "./api.js";
import { quotedAt } from "./ask.js";
import { byId, failure, fill, h, icon, plainNote, reachable } from "./dom.js";
import { pathOf, placeWord } from "./hits.js";
import { picture, recording } from "./media.js";
import { notDrawn, pages } from "./pages.js";
import { find, joined, lettersOf, rangeOf, wrap } from "./places.js";
import { address, words } from "./state.js";
import { languageOf, t } from "./strings.js";
import { showNear } from "./vault.js";

const VIEWS = [["", "rendered"], ["raw", "raw"], ["both", "both"]];
const LINES_APIECE = 200; // the browser lays out what is in sight, in pieces of so many lines
const LAID = /^(?:html|notebook|text\/(?:bibtex|icalendar|ris|vcard))$/u; // whose text is without the markup that is on its lines
const FEW_HEADINGS = 3; // a note with fewer needs no list of them
const MOST_LETTERS = 300_000; // of a note in which quotations are looked for

let shown = null; // the doc_view.v1 that is there, with what it was asked by

/** Shows the place that the state names; hides the reader where it names none. */
export async function show(state, go) {
  const reader = byId("reader");
  if (!state.at) {
    reader.hidden = true;
    shown = null;
    return;
  }
  try {
    const asked = words(state, ["at", "passage"]).toString();
    const view = shown?.asked === asked ? shown.view : await get("document", "/api/document", words(state, ["at", "passage"]));
    if (view === null) return;
    const form = words(state, ["at", "passage", "heading", "view"]).toString();
    const isThere = shown?.form === form && !reader.querySelector(".failure");
    shown = { asked, form, view, question: state.q };
    if (isThere) {
      markWords(reader, state);
      return;
    }
    const made = body(view, state);
    fill(reader, phoneHead(view), head(view, state, go), made, made.firstChild?.tools, phoneFoot());
    reader.hidden = false;
    reader.setAttribute("aria-label", view.document.title);
    scrollToPlace(reader, state);
    markWords(reader, state);
    const holder = reader.querySelector(".doc-body");
    if (view.document.media_type.startsWith("code/")) showOutline(view, state, holder).catch(() => null);
    else if (view.html !== null && state.view === "") showHeadings(holder);
    if (view.lines !== null) showNear(view.document.doc_path, state, holder).catch(() => null);
  } catch (error) {
    shown = null;
    reader.hidden = false;
    fill(reader, phoneHead(null), failure(error));
  }
}

byId("reader").addEventListener("laid", () => shown && markWords(byId("reader"), { q: shown.question, at: "" })); // a page of a PDF has text

/** The text of the place that is shown, as it stands in the file; of the whole document where no place is. */
export function shownText() {
  if (shown?.view.place_text) return shown.view.place_text;
  const reader = byId("reader");
  const cited = reader.querySelectorAll(".cited");
  return [...(cited.length ? cited : reader.querySelectorAll(".note, .line, .said, .read-there, .in-parts"))].map((each) => each.textContent).join("\n");
}

/** The place that is shown as a Markdown link. */
export function markdownLink() {
  if (!shown) return "";
  const { document: found, citation } = shown.view;
  const target = citation?.uri ?? found.doc_path;
  return `[${found.title.replace(/[[\]]/gu, "")}${citation ? `, ${placeWord(citation)}` : ""}](<${target.replace(/[<>]/gu, "")}>)`;
}

const act = (name) => byId("reader").dispatchEvent(new CustomEvent("act", { detail: { act: name } }));
const button = (name, id, ...children) => h("button", { type: "button", id, "aria-haspopup": "dialog", "aria-label": t(name), onclick: () => act(name) }, children);

function phoneHead(view) {
  return h("div", { class: "phone-head" }, h("button", { type: "button", class: "back", "aria-label": `‹ ${t("back")}`, onclick: () => act("back") }, icon("left"), h("bdi", {}, view?.document.title ?? t("back"))));
}

function phoneFoot() {
  return h("div", { class: "phone-foot" }, h("button", { type: "button", onclick: () => act("previous") }, icon("left"), t("previousHit")), h("button", { type: "button", onclick: () => act("next") }, t("nextHit"), icon("right")));
}

function head(view, state, go) {
  const place = view.citation;
  const found = view.document;
  const views = view.html === null || view.lines === null ? [] : VIEWS;
  const segment = ([value, word]) => {
    const onclick = (event) => {
      event.preventDefault();
      go({ ...state, view: value });
    };
    return h("a", { href: address({ ...state, view: value }), "aria-current": value === state.view ? "true" : null, onclick }, t(word));
  };
  return h(
    "header",
    { class: "doc-head" },
    h("div", { class: "doc-title" }, h("h1", { lang: languageOf(found.title) }, h("bdi", {}, found.title)), h("p", { class: "doc-place" }, pathOf(found.doc_path), place ? h("span", { class: "at" }, placeWord(place)) : null)),
    h(
      "div",
      { class: "doc-tools" },
      views.length ? h("div", { class: "segments", role: "group", "aria-label": t("views") }, views.map(segment)) : null,
      button("cite", "citing", icon("copy"), h("span", { class: "wide-word" }, t("cite"))),
      h("button", { type: "button", title: t("openTitle"), "aria-label": t("open"), onclick: () => act("open") }, icon("open"), h("span", { class: "wide-word" }, t("open"))),
      found.tags.slice(0, 6).map((tag) => h("a", { class: "tag", href: address({ ...state, tag: [tag], at: "", passage: "", view: "" }) }, `#${tag}`)),
    ),
    warning(view),
  );
}

/** What must be known of a place before it is believed. */
function warning(view) {
  const line = view.citation ? (view.citation.line_end ?? view.citation.end) : 0;
  const isBeyond = view.lines !== null && line > view.lines.length;
  const said = [isBeyond ? t("noSuchLine", line, view.lines.length) : isNowhere(view) ? t("noSuchPlace") : null, view.is_current ? null : t(view.is_gone ? "gone" : "stale")].filter(Boolean);
  return said.length ? h("p", { class: "stale", role: "note" }, said.join(" ")) : null;
}

/** Whether a page, a second or a part is cited that the document does not have. */
function isNowhere({ citation, pages, speech, before, place_text: text }) {
  switch (citation?.kind) {
    case "page":
      return pages !== undefined && citation.page > pages.length;
    case "time":
      return speech.length > 0 && citation.start_ms > speech.at(-1).end_ms;
    default:
      return before !== undefined && text === null;
  }
}

/** The text of a file in parts: the cited one between those around it. */
function inParts(view) {
  const hasPlace = view.before !== undefined || view.after !== undefined;
  if (view.html === null) return h("div", { class: "in-parts" }, hasPlace ? [view.before, view.place_text && h("span", { class: "cited" }, view.place_text), view.after] : view.place_text);
  const made = plainNote(view.html, "in-parts");
  if (!hasPlace) return made;
  const letters = lettersOf(made);
  const told = [[view.before, false], [view.place_text, true]].flatMap(([text, isCited]) => (text ?? "").split("\n").map((line) => [line, isCited]));
  const found = find(letters, told.map(([line]) => line));
  for (let at = told.length - 1; at >= 0; at -= 1) if (told[at][1] && found[at]) wrap(letters, found[at], () => h("span", { class: "cited" }));
  return made;
}

function body(view, state) {
  const place = view.citation;
  const kind = view.document.media_type.split("/")[0];
  if (kind === "pdf") return h("div", { class: "doc-body paged", role: "region", "aria-label": t("pages"), tabindex: "0" }, view.pages ? pages(view) : notDrawn(view, { message: t("noPdfText"), hint: t("hint_not_found") }));
  if (kind === "image") return h("div", { class: "doc-body wide" }, picture(view));
  if (kind === "audio" || kind === "captions") return h("div", { class: "doc-body" }, recording(view));
  if (view.lines === null) return h("div", { class: "doc-body" }, inParts(view));
  const range = place ? [place.line_start ?? place.start, place.line_end ?? place.end] : null;
  const parts = [];
  const wantsLines = state.view !== "" || view.html === null;
  if (view.html !== null && state.view !== "raw") parts.push(note(view, range));
  if (view.lines !== null && wantsLines) parts.push(lines(view.lines, range, LAID.test(view.document.media_type)));
  return h("div", { class: parts.length > 1 ? "doc-body both" : "doc-body" }, parts);
}

/** What a source defines, beside its lines; the definition that is cited is marked. */
async function showOutline(view, state, holder) {
  const found = await get("outline", "/api/outline", new URLSearchParams({ path: view.document.doc_path }));
  if (!found?.length) return;
  const place = view.citation;
  const here = place ? (place.line_start ?? place.start) : 0;
  const inside = found.filter((each) => each.citation.line_start <= here && each.citation.line_end >= here).at(-1);
  const names = new Set(found.map((each) => each.qualified_name));
  const list = (parent) => {
    const own = found.filter((each) => (parent === null ? !names.has(each.parent) : each.parent === parent));
    return own.length ? h("ol", {}, own.map((each) => h("li", {}, definition(each, each === inside, state), list(each.qualified_name)))) : null;
  };
  putAside(holder, t("definitions", found.length), list(null));
}

/** The headings of a note, beside it; a click goes there. */
function showHeadings(holder) {
  const found = [...holder.querySelectorAll(".note :is(h1, h2, h3)")].filter((each) => !each.classList.contains("repeats"));
  if (found.length < FEW_HEADINGS) return;
  const cited = holder.querySelector(".cited");
  const here = cited ? found.findLast((each) => each === cited || cited.contains(each) || each.compareDocumentPosition(cited) & Node.DOCUMENT_POSITION_FOLLOWING) : null;
  const top = Math.min(...found.map((each) => Number(each.localName[1])));
  const items = found.map((each) => h("li", { class: `depth-${Number(each.localName[1]) - top}` }, h("button", { type: "button", "aria-current": each === here ? "location" : null, onclick: () => each.scrollIntoView({ block: "start", behavior: "smooth" }) }, each.textContent)));
  putAside(holder, t("onThisPage"), h("ol", {}, items));
}

/** Puts a list beside the text and leaves the cited place where it was seen. */
function putAside(holder, title, list) {
  const cited = holder.querySelector(".cited");
  const before = cited?.getBoundingClientRect().top;
  holder.classList.add("outlined");
  holder.prepend(h("nav", { class: "outline", "aria-label": title }, h("details", { open: holder.clientWidth > 800 }, h("summary", {}, title), list)));
  if (cited) byId("reader").scrollTop += cited.getBoundingClientRect().top - before;
}

function definition(each, isHere, state) {
  const place = each.citation;
  return h("a", { class: "to-document", href: address({ ...state, at: place.uri, passage: "" }), "data-at": place.uri, "aria-current": isHere ? "location" : null, title: each.signature }, h("span", { class: "what" }, each.kind), each.name);
}

function note(view, range) {
  const made = h("div", { class: "note", lang: view.document.lang });
  made.innerHTML = view.html; // cleaned by the server: no script, style, handler or address of it is left
  for (const image of made.querySelectorAll("[data-image]")) showPicture(image, view.document.doc_path);
  for (const link of made.querySelectorAll("[data-note]")) {
    link.href = "#";
    link.setAttribute("role", "link");
  }
  for (const link of made.querySelectorAll("[data-tag]")) link.href = address({ q: `#${link.dataset.tag}`, tag: [link.dataset.tag] });
  for (const link of made.querySelectorAll("a[data-outside]")) link.target = "_blank";
  for (const heading of made.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    const last = heading.lastChild;
    if (last?.nodeType === Node.TEXT_NODE) last.data = last.data.replace(/\s*\{\s*#[\w.-]+\s*\}\s*$/u, ""); // its anchor
  }
  const first = made.firstElementChild;
  if (first?.localName === "h1" && first.textContent.trim() === view.document.title.trim()) first.classList.add("repeats"); // it stands above
  if (range) markBlocks(made, range);
  return reachable(made);
}

/** Marks the smallest blocks that stand on the cited lines; those one behind the other are one mark. */
function markBlocks(made, [start, end]) {
  const blocks = [...made.querySelectorAll("[data-from]")];
  const inside = blocks.filter((each) => Number(each.dataset.from) <= end && Number(each.dataset.to) >= start);
  for (const block of inside) {
    const whole = Number(block.dataset.from) >= start && Number(block.dataset.to) <= end;
    const holdsSmaller = inside.some((other) => other !== block && block.contains(other));
    const inMarked = inside.some((other) => other !== block && other.contains(block) && other.classList.contains("cited"));
    if ((whole || !holdsSmaller) && !inMarked) block.classList.add("cited");
  }
  for (const block of made.querySelectorAll(".cited")) {
    if (["UL", "OL", "TABLE", "THEAD", "TBODY", "TR"].includes(block.parentElement.tagName) || block.parentElement.classList.contains("cited")) continue;
    const run = [block];
    while (run.at(-1).nextElementSibling?.classList.contains("cited")) run.push(run.at(-1).nextElementSibling);
    const around = h("div", { class: "cited" });
    block.before(around);
    around.append(...run);
    for (const each of run) each.classList.remove("cited");
  }
}

function lines(found, range, isLaid) {
  const [start, end] = range ?? [0, -1];
  const isBlank = (at) => isLaid && !found[at - 1]?.trim();
  const pieces = [];
  for (let first = 0; first < found.length; first += LINES_APIECE) {
    const piece = h("div", { class: "piece" });
    piece.innerHTML = found
      .slice(first, first + LINES_APIECE)
      .map((line, index) => {
        const at = first + index + 1;
        const cited = at >= start && at <= end ? " cited" : "";
        if (!cited && isBlank(at) && isBlank(at + 1)) return ""; // markup: a blank line stands for all of it
        return `<div class="row-of${cited}"><span class="number" aria-hidden="true">${at}</span><span class="line${cited}">${line}\n</span></div>`;
      })
      .join(""); // each line is HTML that the server made, all of the file's own escaped
    pieces.push(piece);
  }
  return h("div", { class: "lines", role: "region", "aria-label": t("lines"), tabindex: "0" }, pieces);
}

async function showPicture(holder, from) {
  const name = holder.dataset.image;
  try {
    const found = await get(`picture ${name}`, "/api/linked", new URLSearchParams({ name, from }));
    if (found === null || !found.media_type.startsWith("image/")) return;
    const picture = h("img", { src: `/file?${new URLSearchParams({ path: found.doc_path })}`, alt: holder.textContent, loading: "lazy" });
    holder.replaceChildren(picture);
  } catch {
    holder.classList.add("missing"); // its words stay: the picture is not indexed
  }
}

const scrollsItself = (part) => getComputedStyle(part).overflowY === "auto";

/** Scrolls there, and again as long as what comes into sight turns out higher or lower than it was taken for. */
function bringIntoSight(cited, block, frames = 10) {
  const isLong = cited.offsetHeight > innerHeight / 2;
  const part = cited.closest(".both > :is(.note, .lines)");
  if (part && scrollsItself(part)) {
    const above = isLong ? 0 : (part.clientHeight - cited.offsetHeight) / 2;
    part.scrollTop += cited.getBoundingClientRect().top - part.getBoundingClientRect().top - above; // the page stays at the title
  } else cited.scrollIntoView({ block: isLong ? "start" : block });
  const { top } = cited.getBoundingClientRect();
  if (frames === 0) return;
  requestAnimationFrame(() => {
    if (frames > 8 || Math.abs(cited.getBoundingClientRect().top - top) > 1) bringIntoSight(cited, block, frames - 1);
  });
}

const folded = (text) => text.normalize("NFC").toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "");

function scrollToPlace(reader, state) {
  const sheets = reader.querySelector(".sheets");
  if (sheets) {
    sheets.goTo();
    return;
  }
  if (state.heading) {
    const found = [...reader.querySelectorAll(".note :is(h1, h2, h3, h4, h5, h6)")].find((each) => folded(each.textContent) === folded(state.heading));
    if (found && !found.classList.contains("repeats")) {
      found.classList.add("asked-for");
      bringIntoSight(found, "start");
      return;
    }
    if (!found && !state.heading.startsWith("^")) byId("status").textContent = t("noHeading", state.heading);
  }
  for (const part of reader.querySelectorAll(".note, .lines, .speech, .in-parts")) {
    const cited = part.querySelector(".row-of.cited, .cited");
    if (!cited) continue;
    bringIntoSight(cited, "center");
    if (!scrollsItself(part)) break; // the other form is below this one
  }
  if (!reader.querySelector(".cited")) reader.scrollTop = 0;
}

/** Whether letters of a text are a word or, unless they are up to three Latin ones, begin one; Korean ones may be behind two syllables, three and more anywhere. */
function isWord(text, start, end) {
  const before = text.slice(Math.max(0, start - 2), start);
  if (/^[a-z]{1,3}$/u.test(text.slice(start, end)) && /\p{L}/u.test(text[end] ?? "")) return false;
  if (!/^[가-힣]/u.test(text.slice(start, end))) return text[start] > "\u024f" || !/[\p{L}\p{N}]$/u.test(before);
  return end - start > 2 || !/(^|[^가-힣])[가-힣]$/u.test(before);
}

/** The words of a question to mark: those that its hits have marked, else those that are more than the small words of English. */
function wordsToMark(q) {
  const found = [...document.querySelectorAll("#list a.hit mark")].map((each) => each.textContent.toLowerCase());
  if (found.length) return [...new Set(found)];
  const all = q.toLowerCase().split(/[\s"'()*^:?!.,]+/u).filter((word) => word.length > 1);
  const telling = all.filter((word) => !/^[a-z]{1,3}$/u.test(word));
  return telling.length ? telling : all;
}

/** Marks what an answer quotes, or the words of the question where the place is, without touching the text. A place that has them has no tint. */
function markWords(reader, { q, at }) {
  reader.classList.remove("by-words");
  if (!CSS.highlights) return;
  CSS.highlights.delete("asked");
  CSS.highlights.delete("quoted");
  const root = reader.querySelector(".note, .lines");
  const quotes = at && root && root.textContent.length < MOST_LETTERS ? quotedAt(at) : [];
  if (quotes.length) {
    const letters = lettersOf(root.querySelector(".cited") ?? root);
    const ranges = quotes.flatMap((quote) => joined(find(letters, quote.split("\n")))).map((place) => rangeOf(letters, place));
    if (ranges.length) CSS.highlights.set("quoted", new Highlight(...ranges));
    if (ranges.length) return; // what is quoted says more than the words of the question
  }
  const asked = wordsToMark(q);
  if (!asked.length) return;
  const ranges = [];
  for (const part of reader.querySelectorAll(".cited, .sheet:has(> .cited) > .page-text")) {
    const walk = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
    for (let node = walk.nextNode(); node; node = walk.nextNode()) {
      const text = node.data.toLowerCase();
      for (const word of asked) {
        for (let from = text.indexOf(word); from >= 0 && ranges.length < 500; from = text.indexOf(word, from + word.length)) {
          if (!isWord(text, from, from + word.length)) continue;
          const range = new Range();
          range.setStart(node, from);
          range.setEnd(node, from + word.length);
          ranges.push(range);
        }
      }
    }
  }
  CSS.highlights.set("asked", new Highlight(...ranges));
  reader.classList.toggle("by-words", ranges.length > 0);
}
