// A PDF by its pages, drawn by pdf.js when they come into sight, with text that can be selected and read aloud.
// The cited rectangles are marked. What a PDF has of scripts and forms never runs: it is drawn and nothing else.

import { h } from "./dom.js";

const HOME = "/static/pdfjs/";
const MOST_PIXELS = 6e6; // of one page's picture; more is memory that no eye sees

let library = null; // pdf.js, loaded with the first PDF
let opened = null; // the document that is open: { path, pdf }

async function open(path) {
  library ??= await import(`${HOME}pdf.min.mjs`);
  library.GlobalWorkerOptions.workerSrc = `${HOME}pdf.worker.min.mjs`;
  if (opened?.path === path) return opened.pdf;
  opened?.pdf.loadingTask.destroy();
  opened = null;
  const pdf = await library.getDocument({
    url: `/file?${new URLSearchParams({ path })}`,
    cMapUrl: `${HOME}cmaps/`,
    cMapPacked: true,
    wasmUrl: `${HOME}wasm/`,
    iccUrl: null,
    useSystemFonts: true,
    enableXfa: false,
    isEvalSupported: false,
    useWorkerFetch: true,
  }).promise;
  opened = { path, pdf };
  return pdf;
}

/** The pages of the document at `path` as an element; `place` is the page citation to show, or null. */
export async function pages(path, place) {
  const pdf = await open(path);
  const first = (await pdf.getPage(1)).getViewport({ scale: 1 });
  const sheets = [];
  for (let number = 1; number <= pdf.numPages; number += 1) {
    const sheet = h("section", { class: "sheet", "data-page": number, "aria-label": `Page ${number} of ${pdf.numPages}` });
    sheet.style.aspectRatio = `${first.width} / ${first.height}`;
    sheets.push(sheet);
  }
  const holder = h("div", { class: "sheets" }, sheets);
  const seen = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        if (entry.isIntersecting) draw(pdf, entry.target, place);
        else clear(entry.target);
      }
    },
    { rootMargin: "600px 0px" },
  );
  sheets.forEach((sheet) => seen.observe(sheet));
  holder.goTo = () => sheets[(place?.page ?? 1) - 1]?.scrollIntoView({ block: "start" });
  return holder;
}

async function draw(pdf, sheet, place) {
  if (sheet.dataset.drawn) return;
  sheet.dataset.drawn = "now";
  const number = Number(sheet.dataset.page);
  const page = await pdf.getPage(number);
  const size = page.getViewport({ scale: 1 });
  sheet.style.aspectRatio = `${size.width} / ${size.height}`;
  const shownScale = sheet.clientWidth / size.width;
  const sharp = Math.min(devicePixelRatio || 1, 2) * shownScale;
  const viewport = page.getViewport({ scale: Math.min(sharp, Math.sqrt(MOST_PIXELS / (size.width * size.height))) });
  const canvas = h("canvas", { width: Math.round(viewport.width), height: Math.round(viewport.height), "aria-hidden": "true" });
  const text = h("div", { class: "page-text" });
  text.style.setProperty("--total-scale-factor", String(shownScale));
  sheet.replaceChildren(canvas, text);
  if (place && number === place.page) sheet.append(...rectangles(place, size));
  await page.render({ canvas, viewport, annotationMode: library.AnnotationMode.DISABLE }).promise;
  const layer = new library.TextLayer({
    textContentSource: page.streamTextContent(),
    container: text,
    viewport: page.getViewport({ scale: shownScale }),
  });
  await layer.render();
  sheet.dataset.drawn = "yes";
}

/** Far pages are emptied again: a canvas is megabytes. */
function clear(sheet) {
  if (sheet.dataset.drawn !== "yes") return;
  delete sheet.dataset.drawn;
  sheet.replaceChildren();
}

/** The cited rectangles, in points from the page's top left as it is shown. */
function rectangles(place, size) {
  return place.regions.map(({ x, y, w, h: height }) => {
    const made = h("div", { class: "rectangle cited", "aria-hidden": "true" });
    made.style.left = `${(100 * x) / size.width}%`;
    made.style.top = `${(100 * y) / size.height}%`;
    made.style.width = `${(100 * w) / size.width}%`;
    made.style.height = `${(100 * height) / size.height}%`;
    return made;
  });
}
