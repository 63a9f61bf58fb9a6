// The list of hits: each a link to its place, so that it can be opened, copied or shown in another tab.

import { h, marked } from "./dom.js";
import { address } from "./state.js";

const SCORES = { late: "meaning and words", cross_encoder: "cross-encoder", linear: "fused", rrf: "fused" };

/** The hits of a response as an ordered list; `state` says what their addresses keep. */
export function hitList(response, state) {
  const list = h("ol", { class: "hits" }, response.hits.map((hit) => hitItem(hit, state)));
  setTimeout(() => drawThumbnails(list), QUIET_MS);
  return list;
}

const QUIET_MS = 400; // the list of somebody who types on is gone by then, and nothing is drawn for it

/** Draws the thumbnails of a list one behind the other: the next question must not wait for them. */
async function drawThumbnails(list) {
  for (const image of list.querySelectorAll("img[data-drawn]")) {
    if (!list.isConnected) return;
    image.src = image.dataset.drawn;
    await image.decode().then(() => (image.hidden = false), () => image.remove()); // else words alone tell of it
  }
}

/** The picture of a hit: of an image the image, of a PDF where on its page the passage stands. */
function thumbnail(hit) {
  const place = hit.citation;
  if (place.kind === "region") return h("img", { class: "thumb", src: `/file?${new URLSearchParams({ path: place.path })}`, alt: "", loading: "lazy" });
  if (place.kind !== "page") return null;
  return h("img", { class: "thumb page", "data-drawn": `/thumbnail?${new URLSearchParams({ at: place.uri, passage: hit.chunk_id })}`, alt: "", hidden: true });
}

function hitItem(hit, state) {
  const place = hit.citation;
  const heading = hit.heading_path.length ? hit.heading_path.join(" › ") : hit.title;
  const link = h(
    "a",
    { class: "hit", ...leadsTo(place, hit.chunk_id, state) },
    thumbnail(hit),
    h("span", { class: "where" }, h("span", { class: `kind kind-${kindOf(hit)}` }, kindWord(hit)), placeOf(hit)),
    h("span", { class: "heading" }, place.kind === "code" && place.symbol ? shownName(place.symbol, place.path) : heading),
    h("span", { class: place.kind === "code" ? "snippet code" : "snippet" }, marked(hit.snippet, hit.snippet_matches)),
  );
  link.title = `${SCORES[hit.score_kind] ?? hit.score_kind} ${hit.score.toFixed(2)}`;
  return h("li", {}, link);
}

/** The address of a place, and what of it a click needs. Several passages may stand on one page: theirs says which. */
export function leadsTo(place, chunkId, state) {
  const passage = place.kind === "page" ? chunkId : "";
  return { href: address({ ...state, at: place.uri, passage, view: "" }), "data-at": place.uri, "data-passage": passage };
}

/** A qualified name without the module that the path of its file says already: `Foo.bar`. */
function shownName(qualified, path) {
  const module = path.replace(/\.[^.]*$/, "").replace(/\/__init__$/, "");
  const said = [`${module}.`, `${module.replaceAll("/", ".")}.`].find((each) => qualified.startsWith(each));
  return said ? qualified.slice(said.length) : qualified;
}

function kindOf(hit) {
  return { page: "pdf", region: "image", caption: "image", time: "audio" }[hit.citation.kind] ?? hit.citation.kind;
}

function kindWord(hit) {
  const place = hit.citation;
  if (place.kind === "code") return place.symbol_kind ?? place.lang ?? "code";
  if (place.kind === "part") return place.path.slice(place.path.lastIndexOf(".") + 1).toLowerCase();
  return { line: "note", page: "PDF", region: "image", caption: "image", time: "recording" }[place.kind];
}

/** The path, its folders quieter than its name, and the place in it. */
export function placeOf(hit) {
  const path = hit.citation.path;
  const cut = path.lastIndexOf("/") + 1;
  return [
    h("span", { class: "folder" }, path.slice(0, cut)),
    h("span", { class: "file" }, path.slice(cut)),
    h("span", { class: "at" }, ` ${placeWord(hit.citation)}`),
  ];
}

/** The place as a person says it. */
export function placeWord(place) {
  switch (place.kind) {
    case "page":
      return place.label && place.label !== String(place.page) ? `p. ${place.label} (${place.page})` : `p. ${place.page}`;
    case "time":
      return `${clock(place.start_ms)}–${clock(place.end_ms)}`;
    case "region":
      return `${place.w} × ${place.h}`;
    case "caption":
      return `as ${place.model} sees it`;
    case "part":
      return place.label;
    default: {
      const [start, end] = place.kind === "code" ? [place.line_start, place.line_end] : [place.start, place.end];
      return start === end ? `line ${start}` : `lines ${start}–${end}`;
    }
  }
}

/** Milliseconds as minutes and seconds. */
export function clock(ms) {
  const seconds = Math.floor(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  const rest = String(seconds % 60).padStart(2, "0");
  return minutes < 60 ? `${minutes}:${rest}` : `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}:${rest}`;
}

/** What the status line says of a response. */
export function summary(response) {
  const count = response.hits.length;
  if (!count) return `Nothing found for “${response.query}”.`;
  return `${count} hit${count === 1 ? "" : "s"}`;
}
