// The list of hits: each a link to its place, so that it can be opened, copied or shown in another tab. A document has its
// title, then its path and place, then its words; further passages of it are below, by their place in it.

import { h } from "./dom.js";
import { inOneLine } from "./places.js";
import { address } from "./state.js";
import { languageOf, t, words } from "./strings.js";

const BEFORE_MATCH = 24; // characters of a snippet before its first match: it is on the first of two lines

/** The hits as an ordered list, by their documents; `state` says what their addresses keep. */
export function hitList(hits, state) {
  const list = h("ol", { class: "hits" });
  addHits(list, hits, state);
  return list;
}

/** Adds hits to a list, those of one document together. */
export function addHits(list, hits, state) {
  const groups = new Map();
  for (const hit of hits) groups.set(hit.doc_id, [...(groups.get(hit.doc_id) ?? []), hit]);
  list.append(...[...groups.values()].map(([first, ...others]) => h("li", {}, hitLink(first, state, true), others.length ? h("ol", {}, others.map((each) => h("li", {}, hitLink(each, state, false)))) : null)));
  setTimeout(() => drawThumbnails(list), QUIET_MS);
}

const QUIET_MS = 400; // the list of somebody who types on is gone by then, and nothing is drawn for it

/** Draws the thumbnails of a list one behind the other: the next question must not wait for them. */
async function drawThumbnails(list) {
  for (const image of list.querySelectorAll("img[data-drawn]")) {
    if (!list.isConnected) return;
    image.src = image.dataset.drawn;
    delete image.dataset.drawn;
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

function hitLink(hit, state, isFirst) {
  const place = hit.citation;
  const own = place.kind === "code" && place.symbol ? shownName(place.symbol, place.path) : hit.heading_path.at(-1);
  const section = own && own !== hit.title ? named("section", own) : null;
  const parts = inOneLine(hit.snippet, hit.snippet_matches, BEFORE_MATCH);
  const snippet = h("span", { class: place.kind === "code" ? "snippet code" : "snippet", lang: languageOf(hit.snippet) }, parts.map(([text, isMatch]) => (isMatch ? h("mark", {}, text) : text)));
  return h(
    "a",
    { class: isFirst ? "hit" : "hit further", ...leadsTo(place, hit.chunk_id, state), "data-chunk": hit.chunk_id },
    isFirst ? thumbnail(hit) : null,
    h("span", { class: "head" }, isFirst ? named("heading", hit.title) : (section ?? snippet), h("span", { class: "at" }, placeWord(place))),
    isFirst ? pathOf(place.path, section, hit.title) : null,
    isFirst || section ? snippet : null,
  );
}

const named = (what, name) => h("span", { class: what, lang: languageOf(name) }, h("bdi", {}, name));

/** The address of a place, and what of it a click needs. Several passages may stand on one page: theirs says which. */
export function leadsTo(place, chunkId, state) {
  const passage = place.kind === "page" ? chunkId : "";
  return { href: address({ ...state, at: place.uri, passage, view: "", heading: "" }), "data-at": place.uri, "data-passage": passage };
}

/** A qualified name without the module that the path of its file says already: `Foo.bar`. */
function shownName(qualified, path) {
  const module = path.replace(/\.[^.]*$/, "").replace(/\/__init__$/, "");
  const said = [`${module}.`, `${module.replaceAll("/", ".")}.`].find((each) => qualified.startsWith(each));
  return said ? qualified.slice(said.length) : qualified;
}

/**
 * A path on one line, the section in it behind it: where it is too long, its folders are cut. The name of a note that
 * repeats its title is printed alone.
 */
export function pathOf(path, section = null, title = "") {
  const cut = path.lastIndexOf("/") + 1;
  const name = path.slice(cut);
  const isRepeated = sameName(name.replace(/\.(?:md|markdown)$/iu, ""), title) && (cut || section);
  return h("span", { class: "where", title: path }, cut ? h("span", { class: "folder" }, h("bdi", {}, path.slice(0, cut))) : null, h("bdi", { class: isRepeated ? "file repeated" : "file" }, name), section);
}

const sameName = (one, other) => one.normalize().toLowerCase() === other.normalize().toLowerCase();

/** The place as a person says it. */
export function placeWord(place) {
  switch (place.kind) {
    case "page":
      return t("page", place.label && place.label !== String(place.page) ? `${place.label} (${place.page})` : place.page);
    case "time":
      return `${clock(place.start_ms)}–${clock(place.end_ms)}`;
    case "region":
      return t("region");
    case "caption":
      return t("caption", place.model);
    case "part":
      return partWord(place);
    default:
      return place.kind === "code" ? t("line", place.line_start, place.line_end) : t("line", place.start, place.end);
  }
}

/** A part of a file as a person says it; the heading over it is said elsewhere. */
function partWord({ part, section }) {
  const said = part.split("&").map((each) => {
    const [key, value] = each.split("=");
    const name = words(`part_${key}`, "", false) === null ? null : `part_${key}`;
    const shown = decodeURIComponent(name ? value.replace(":", "–") : value);
    if (shown === section) return "";
    return name ? t(name, shown, value.includes(":")) : shown;
  });
  return said.filter(Boolean).join(" ");
}

/** Milliseconds as minutes and seconds. */
export function clock(ms) {
  const all = Math.floor(ms / 1000);
  const minutes = Math.floor(all / 60);
  const rest = String(all % 60).padStart(2, "0");
  return minutes < 60 ? `${minutes}:${rest}` : `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}:${rest}`;
}
