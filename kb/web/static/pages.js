// A PDF by its pages: pictures that the server draws as they come into sight, with the words above them as text that can
// be selected, searched and read aloud. The cited rectangles are marked.

import { cancel, get } from "./api.js";
import { h, settled } from "./dom.js";
import { t } from "./strings.js";

const ZOOMS = [["", t("fit")], ["1", "100%"], ["1.5", "150%"], ["2", "200%"]]; // of the printed size
const PIXELS_A_POINT = 96 / 72;
const RESTS_MS = 60; // a page that is only scrolled past is not drawn
const MARGIN_PIXELS = 12; // left of the text of an enlarged page
const LAID_OUT = 2; // pixels a point of the text layer, which is scaled: no smallest size of letters moves its words

let zoom = ""; // stays from one document to the next

/** The pages of the PDF in `view` as an element, with `tools` to turn and enlarge them; the cited page is shown by `goTo`. */
export function pages(view) {
  const path = view.document.doc_path;
  const place = view.citation?.kind === "page" ? view.citation : null;
  const sheets = view.pages.map((size, index) => blank(size, index + 1, view.pages.length, place));
  const holder = h("div", { class: "sheets" }, sheets);
  const drawing = { path, failed: (error, sheet) => tell(error, sheet, holder, view) };
  const drawSeen = async () => {
    const away = (sheet) => Math.abs(sheet.getBoundingClientRect().top - innerHeight / 4);
    const wanted = sheets.filter((sheet) => sheet.isSeen).sort((one, other) => away(one) - away(other));
    for (const sheet of wanted) if (sheet.isSeen) await draw(sheet, drawing); // what is looked at first
  };
  const rested = settled(drawSeen, RESTS_MS);
  const seen = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        target.isSeen = isIntersecting;
        if (!isIntersecting) clear(target);
      }
      if (holder.querySelector("[data-drawn]")) rested();
      else rested.now(); // the first
    },
    { rootMargin: "600px 0px", scrollMargin: "600px 0px" },
  );
  const { tools, toPage } = toolsOf(sheets, holder, view.pages);
  const current = new IntersectionObserver(
    (entries) => entries.filter((each) => each.isIntersecting).forEach(({ target }) => toPage(Number(target.dataset.page))),
    { rootMargin: "-50% 0px" },
  );
  for (const sheet of sheets) {
    seen.observe(sheet);
    current.observe(sheet);
  }
  new ResizeObserver(() => {
    sheets.forEach(scale);
    rested(); // again, as sharp as they are large
  }).observe(holder);
  const cited = sheets[(place?.page ?? 1) - 1];
  const marked = cited?.querySelector(".rectangle");
  holder.goTo = () => (marked ?? cited)?.scrollIntoView({ block: "start", inline: "nearest" });
  holder.tools = tools;
  return holder;
}

/** What is shown in the place of a PDF that cannot be drawn: why, and what can be done. */
export function notDrawn(view, error) {
  const file = `/file?${new URLSearchParams({ path: view.document.doc_path })}`;
  return h(
    "div",
    { class: "failure", role: "alert" },
    h("p", {}, error.message),
    h("p", {}, error.hint),
    h("p", {}, h("a", { href: file, download: view.document.doc_path.split("/").at(-1) }, t("savePdf"))),
    view.place_text ? h("blockquote", { class: "read-there" }, view.place_text) : null,
  );
}

function blank(size, number, count, place) {
  const sheet = h("section", { class: "sheet", "data-page": number, "aria-label": t("pageOf", number, count) });
  sheet.style.aspectRatio = `${size.width} / ${size.height}`;
  if (number === place?.page) sheet.append(...place.regions.map((region) => rectangle(region, size)));
  return sheet;
}

/** A cited rectangle, in points from the page's top left as it is shown. */
function rectangle({ x, y, w, h: height }, size) {
  const made = h("div", { class: "rectangle cited", "aria-hidden": "true" });
  made.style.left = `${(100 * x) / size.width}%`;
  made.style.top = `${(100 * y) / size.height}%`;
  made.style.width = `${(100 * w) / size.width}%`;
  made.style.height = `${(100 * height) / size.height}%`;
  return made;
}

/** Draws a sheet that is not, or not as large as it is now. */
async function draw(sheet, { path, failed }) {
  const width = Math.round(sheet.clientWidth * Math.min(devicePixelRatio || 1, 2));
  if (sheet.isBroken || sheet.drawnWidth === width || width === 0) return;
  sheet.drawnWidth = width;
  sheet.dataset.drawn ??= "now";
  const page = sheet.dataset.page;
  const place = new URLSearchParams({ path, page });
  const image = h("img", { class: "drawn", alt: "", draggable: "false", src: `/page?${place}&width=${width}` });
  const hasText = sheet.querySelector(".page-text") !== null;
  try {
    const words = hasText ? null : get(`words ${page}`, "/api/page", place);
    words?.catch(() => null); // told below, after the picture
    await image.decode().catch(() => get(`page ${page}`, image.src)); // an image does not say why it is none
    if (sheet.drawnWidth !== width) return; // it went out of sight, or became another size
    sheet.querySelector(".drawn")?.remove();
    sheet.prepend(image);
    const found = await words;
    if (sheet.drawnWidth === null || (!found && !hasText)) return;
    if (found && !sheet.querySelector(".page-text")) layText(sheet, found);
    sheet.dataset.drawn = "yes";
  } catch (error) {
    if (sheet.drawnWidth === width) failed(error, sheet);
  }
}

/** Far pages are emptied again: a picture is megabytes. */
function clear(sheet) {
  if (!sheet.drawnWidth || sheet.isBroken) return;
  sheet.drawnWidth = null;
  delete sheet.dataset.drawn;
  cancel(`words ${sheet.dataset.page}`);
  sheet.querySelectorAll(".drawn, .page-text").forEach((each) => each.remove());
}

function tell(error, sheet, holder, view) {
  if (error.code === "model_missing") {
    holder.replaceChildren(notDrawn(view, error));
    holder.tools.remove();
    return;
  }
  sheet.isBroken = true;
  sheet.querySelectorAll(".drawn, .page-text").forEach((each) => each.remove());
  sheet.prepend(notDrawn(Number(sheet.dataset.page) === view.citation?.page ? view : { ...view, place_text: null }, error));
}

/** The words of a page in the flow of the document, so that a selection goes from line to line as it does in a note. */
function layText(sheet, found) {
  const layer = h("div", { class: "page-text" });
  layer.style.width = `${found.width * LAID_OUT}px`;
  layer.style.height = `${found.height * LAID_OUT}px`;
  const at = (points) => Math.round(4 * LAID_OUT * points) / 4; // a quarter of a pixel: no sum of them is rounded
  let bottom = 0;
  for (const line of found.lines) {
    const height = at(line.height);
    const row = h("div", {}, line.words.map((word, nth) => h("span", {}, nth < line.words.length - 1 ? `${word.text} ` : word.text)));
    row.style.marginTop = `${at(line.y) - bottom}px`;
    row.style.marginLeft = `${at(line.x)}px`;
    row.style.width = `${at(line.width)}px`;
    row.style.height = row.style.fontSize = row.style.lineHeight = `${height}px`;
    bottom = at(line.y) + height;
    layer.append(row);
  }
  layer.style.visibility = "hidden";
  sheet.append(layer);
  fit(layer, found.lines);
  for (const [index, { turn }] of found.lines.entries()) if (turn) layer.children[index].style.transform = `rotate(${turn}deg)`;
  layer.style.visibility = "";
  layer.append(h("span", { class: "between", "aria-hidden": "true" }));
  scale(sheet);
  sheet.dispatchEvent(new Event("laid", { bubbles: true }));
}

/** Moves what fills the space between lines to the end of a selection, which stays there while one drags over the space. */
document.addEventListener("selectionchange", () => {
  const { anchorNode, focusNode } = getSelection();
  const row = focusNode?.parentElement?.closest(".page-text > div");
  const between = row?.parentElement.querySelector(".between");
  if (!between) return;
  const isBackwards = anchorNode.compareDocumentPosition(focusNode) & Node.DOCUMENT_POSITION_PRECEDING;
  const neighbour = isBackwards ? row.previousSibling : row.nextSibling;
  if (neighbour !== between) row[isBackwards ? "before" : "after"](between);
});

/** Spaces the letters and words of each line so that they are where the picture shows them, whatever the font. */
function fit(layer, lines) {
  const spans = [...layer.children].map((row) => [...row.children]);
  const lengths = spans.map((row) => row.map(lengthOf));
  const probe = h("div", {}, h("span", {}, "\u00a0"));
  probe.style.fontSize = "100px";
  layer.append(probe);
  const space = lengthOf(probe.firstChild) / 100;
  probe.remove();
  for (const [index, line] of lines.entries()) {
    const blankWidth = space * LAID_OUT * line.height;
    for (const [nth, word] of line.words.entries()) {
      const span = spans[index][nth];
      const hasGap = nth < line.words.length - 1;
      const own = lengths[index][nth] - (hasGap ? blankWidth : 0);
      const between = (LAID_OUT * word.width - own) / Math.max(1, [...word.text].length);
      span.style.letterSpacing = `${between}px`;
      if (hasGap) span.style.wordSpacing = `${LAID_OUT * word.gap - blankWidth - between}px`;
    }
  }
}

const lengthOf = (span) => span.getBoundingClientRect().width;

function scale(sheet) {
  const layer = sheet.querySelector(".page-text");
  if (layer) layer.style.transform = `scale(${sheet.clientWidth / layer.offsetWidth})`;
}

/** The bar below the pages, and the function that shows which one is in sight. */
function toolsOf(sheets, holder, sizes) {
  const labelOf = (page) => sizes[page - 1].label ?? String(page);
  const pageOf = (label) => sizes.findIndex((size) => size.label === label) + 1 || Number(label) || 1;
  const number = h("input", { type: "text", inputmode: "numeric", value: labelOf(1), "aria-label": t("pageField", sheets.length) });
  const beside = h("span", { "aria-hidden": "true" });
  const turnTo = (wanted) => sheets[Math.min(Math.max(wanted, 1), sheets.length) - 1]?.scrollIntoView({ block: "start", inline: "nearest" });
  let current = 1; // the page in sight
  let isTyped = false;
  const toPage = (page) => {
    current = page;
    beside.textContent = `${sizes[page - 1].label ? `(${page}) ` : ""}/ ${sheets.length}`;
    if (!isTyped) number.value = labelOf(page);
  };
  number.addEventListener("input", () => (isTyped = true));
  number.addEventListener("blur", () => (isTyped = false));
  number.addEventListener("change", () => {
    isTyped = false;
    turnTo(pageOf(number.value.trim()));
  });
  toPage(1);
  const step = (by, word, sign) => h("button", { type: "button", "aria-label": word, onclick: () => turnTo(current + by) }, sign);
  const zooms = ZOOMS.map(([value, word]) => h("button", { type: "button", "data-zoom": value, onclick: () => enlarge(value) }, word));
  const enlarge = (value) => {
    const page = sheets[current - 1];
    const before = page.getBoundingClientRect();
    zoom = value;
    holder.style.width = value ? `${Math.max(...sizes.map((size) => size.width)) * PIXELS_A_POINT * Number(value)}px` : "";
    holder.style.maxWidth = value ? "none" : "";
    for (const each of zooms) each.setAttribute("aria-pressed", String(each.dataset.zoom === value));
    if (!page.isConnected) return;
    const after = page.getBoundingClientRect();
    const middle = innerHeight / 2;
    const moved = after.top - middle + ((middle - before.top) * after.height) / before.height;
    const body = holder.parentElement;
    for (const scroller of [body, document.scrollingElement]) scroller.scrollTop += moved; // one of them scrolls
    scale(page);
    const lefts = [...page.querySelectorAll(".rectangle, .page-text > div")].map((each) => each.getBoundingClientRect().left);
    body.scrollLeft += Math.min(...lefts, after.right) - body.getBoundingClientRect().left - MARGIN_PIXELS;
  };
  enlarge(zoom);
  const tools = h(
    "div",
    { class: "page-tools", role: "toolbar", "aria-label": t("pages") },
    step(-1, t("previousPage"), "‹"),
    number,
    beside,
    step(1, t("nextPage"), "›"),
    h("div", { class: "segments", role: "group", "aria-label": t("size") }, zooms),
  );
  return { tools, toPage };
}
