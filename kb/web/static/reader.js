// The document beside the hits: a note as it reads or by its lines, a source by its lines; the cited place marked.

import { get } from "./api.js";
import { byId, fill, h } from "./dom.js";
import { placeWord } from "./hits.js";
import { picture, recording } from "./media.js";
import { notDrawn, pages } from "./pages.js";
import { address, words } from "./state.js";
import { showNear } from "./vault.js";

const VIEWS = [["", "Read"], ["raw", "Lines"], ["both", "Both"]];
const LINES_APIECE = 200; // the browser lays out what is in sight, in pieces of so many lines

let shown = null; // the doc_view.v1 that is there

/** Shows the place that the state names; hides the reader where it names none. */
export async function show(state, go) {
  const reader = byId("reader");
  document.body.classList.toggle("reading", Boolean(state.at));
  if (!state.at) {
    reader.hidden = true;
    shown = null;
    return;
  }
  try {
    const asked = words(state, ["at", "passage"]);
    const same = shown && shown.asked === asked.toString();
    const found = same ? shown.view : await get("document", "/api/document", asked);
    if (found === null) return;
    shown = { asked: asked.toString(), view: found, question: state.q };
    const parts = body(found, state);
    fill(reader, head(found, state, go), parts, parts.firstChild?.tools);
    reader.hidden = false;
    reader.setAttribute("aria-label", found.document.title);
    scrollToPlace(reader);
    highlightWords(reader, state.q);
    if (found.document.media_type.startsWith("code/")) showOutline(found, state, reader.querySelector(".doc-body")).catch(() => null);
    if (found.lines !== null) showNear(found.document.doc_path, state, reader.querySelector(".doc-body")).catch(() => null);
  } catch (error) {
    reader.hidden = false;
    reader.replaceChildren(h("div", { class: "failure", role: "alert" }, h("p", {}, error.message), h("p", {}, error.hint)));
  }
}

byId("reader").addEventListener("laid", () => highlightWords(byId("reader"), shown?.question ?? "")); // a page of a PDF has text

/** The text of the place that is shown, as it stands in the file; of the whole document where no place is. */
export function shownText() {
  if (shown?.view.place_text) return shown.view.place_text;
  const reader = byId("reader");
  const cited = reader.querySelectorAll(".cited");
  return [...(cited.length ? cited : reader.querySelectorAll(".note, .line, .said, .read-there"))].map((each) => each.textContent).join("\n");
}

function head(view, state, go) {
  const place = view.citation;
  const document_ = view.document;
  const views = view.html === null ? [] : VIEWS;
  return h(
    "header",
    { class: "doc-head" },
    h("button", { type: "button", class: "quiet back", onclick: () => go({ ...state, at: "", passage: "", view: "" }) }, "‹ Results"),
    h("h1", {}, document_.title),
    h("p", { class: "doc-place" }, document_.doc_path, place ? h("span", { class: "at" }, ` ${placeWord(place)}`) : null),
    view.is_current ? null : h("p", { class: "stale" }, "The file has changed since it was indexed; this is what was indexed."),
    h(
      "div",
      { class: "doc-tools" },
      views.length
        ? h(
            "div",
            { class: "segments", role: "group", "aria-label": "How the note is shown" },
            views.map(([value, word]) =>
              h(
                "a",
                {
                  href: address({ ...state, view: value }),
                  "aria-current": value === state.view ? "true" : null,
                  onclick: (event) => {
                    event.preventDefault();
                    go({ ...state, view: value });
                  },
                },
                word,
              ),
            ),
          )
        : null,
      document_.tags.map((tag) => h("a", { class: "tag", href: address({ ...state, tag: [tag], at: "", passage: "", view: "" }) }, `#${tag}`)),
    ),
  );
}

function body(view, state) {
  const place = view.citation;
  const kind = view.document.media_type.split("/")[0];
  if (kind === "pdf") return h("div", { class: "doc-body paged", role: "region", "aria-label": "Pages", tabindex: "0" }, pdfPages(view));
  if (kind === "image") return h("div", { class: "doc-body wide" }, picture(view));
  if (kind === "audio") return h("div", { class: "doc-body" }, recording(view));
  if (view.lines === null) return h("div", { class: "doc-body" }, h("blockquote", { class: "read-there" }, view.place_text));
  const range = place ? [place.line_start ?? place.start, place.line_end ?? place.end] : null;
  const parts = [];
  const wantsLines = state.view !== "" || view.html === null;
  if (view.html !== null && state.view !== "raw") parts.push(note(view, range));
  if (view.lines !== null && wantsLines) parts.push(lines(view.lines, range));
  return h("div", { class: parts.length > 1 ? "doc-body both" : "doc-body" }, parts);
}

/** What a source defines, beside its lines; the definition that is cited is marked. */
async function showOutline(view, state, holder) {
  const found = await get("outline", "/api/outline", new URLSearchParams({ path: view.document.doc_path }));
  if (!found?.length) return;
  const place = view.citation;
  const here = place ? place.line_start ?? place.start : 0;
  const inside = found.filter((each) => each.citation.line_start <= here && each.citation.line_end >= here).at(-1);
  const names = new Set(found.map((each) => each.qualified_name));
  const list = (parent) => {
    const own = found.filter((each) => (parent === null ? !names.has(each.parent) : each.parent === parent));
    return own.length ? h("ol", {}, own.map((each) => h("li", {}, definition(each, each === inside, state), list(each.qualified_name)))) : null;
  };
  const made = h("nav", { class: "outline", "aria-label": "Definitions" }, h("details", { open: true }, h("summary", {}, `${found.length} definition${found.length === 1 ? "" : "s"}`), list(null)));
  keepingPlace(holder, () => {
    holder.classList.add("outlined");
    holder.prepend(made);
  });
}

/** Changes what stands around the cited place, and leaves it where it was seen. */
function keepingPlace(holder, change) {
  const cited = holder.querySelector(".cited");
  const before = cited?.getBoundingClientRect().top;
  change();
  if (cited) byId("reader").scrollTop += cited.getBoundingClientRect().top - before;
}

function definition(each, isHere, state) {
  const place = each.citation;
  return h("a", { class: "to-document", href: address({ ...state, at: place.uri, passage: "" }), "data-at": place.uri, "aria-current": isHere ? "location" : null, title: each.signature }, h("span", { class: "what" }, each.kind), each.name);
}

function pdfPages(view) {
  if (view.pages) return pages(view);
  return notDrawn(view, { message: "kb has no text of this PDF's pages.", hint: "kb ingest reads it again" });
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
  if (range) markBlocks(made, range);
  return made;
}

/** Marks the smallest blocks that stand on the cited lines. */
function markBlocks(made, [start, end]) {
  const blocks = [...made.querySelectorAll("[data-from]")];
  const inside = blocks.filter((each) => Number(each.dataset.from) <= end && Number(each.dataset.to) >= start);
  for (const block of inside) {
    const whole = Number(block.dataset.from) >= start && Number(block.dataset.to) <= end;
    const holdsSmaller = inside.some((other) => other !== block && block.contains(other));
    const inMarked = inside.some((other) => other !== block && other.contains(block) && other.classList.contains("cited"));
    if ((whole || !holdsSmaller) && !inMarked) block.classList.add("cited");
  }
}

function lines(found, range) {
  const [start, end] = range ?? [0, -1];
  const pieces = [];
  for (let first = 0; first < found.length; first += LINES_APIECE) {
    const piece = h("div", { class: "piece" });
    piece.innerHTML = found
      .slice(first, first + LINES_APIECE)
      .map((line, index) => {
        const number = first + index + 1;
        const cited = number >= start && number <= end ? " cited" : "";
        return `<div class="row"><span class="number" aria-hidden="true">${number}</span><span class="line${cited}">${line}\n</span></div>`;
      })
      .join(""); // each line is HTML that the server made, all of the file's own escaped
    pieces.push(piece);
  }
  return h("div", { class: "lines", role: "region", "aria-label": "Lines", tabindex: "0" }, pieces);
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

/** Scrolls there, and again as long as what comes into sight turns out higher or lower than it was taken for. */
function bringIntoSight(cited, frames = 10) {
  cited.scrollIntoView({ block: "center" });
  const { top } = cited.getBoundingClientRect();
  if (frames === 0) return;
  requestAnimationFrame(() => {
    if (frames > 8 || Math.abs(cited.getBoundingClientRect().top - top) > 1) bringIntoSight(cited, frames - 1);
  });
}

function scrollToPlace(reader) {
  const sheets = reader.querySelector(".sheets");
  if (sheets) {
    sheets.goTo();
    return;
  }
  for (const part of reader.querySelectorAll(".note, .lines, .speech")) {
    const cited = part.querySelector(".cited");
    if (cited) bringIntoSight(cited);
  }
  if (!reader.querySelector(".cited")) reader.scrollTop = 0;
}

/** Marks the words of the question where the place is, without touching the text. */
function highlightWords(reader, question) {
  if (!CSS.highlights) return;
  CSS.highlights.delete("asked");
  const asked = question.toLowerCase().split(/[\s"'()*^:?!.,]+/u).filter((word) => word.length > 1);
  if (!asked.length) return;
  const ranges = [];
  for (const root of reader.querySelectorAll(".cited, .sheet:has(> .cited) > .page-text")) {
    const walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    for (let node = walk.nextNode(); node; node = walk.nextNode()) {
      const text = node.data.toLowerCase();
      for (const word of asked) {
        for (let at = text.indexOf(word); at >= 0 && ranges.length < 500; at = text.indexOf(word, at + word.length)) {
          const range = new Range();
          range.setStart(node, at);
          range.setEnd(node, at + word.length);
          ranges.push(range);
        }
      }
    }
  }
  CSS.highlights.set("asked", new Highlight(...ranges));
}
