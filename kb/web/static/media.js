// Pictures with their regions, recordings at their second beside what is said in them.

import { h } from "./dom.js";
import { clock } from "./hits.js";
import { t } from "./strings.js";

const file = (path) => `/file?${new URLSearchParams({ path })}`;

/** A picture, the cited region marked, and what was read there. */
export function picture(view) {
  const place = view.citation;
  const image = h("img", { src: file(view.document.doc_path), alt: view.place_text ?? view.document.title });
  const frame = h("div", { class: "frame" }, image);
  if (place?.kind === "region") {
    const made = h("div", { class: "rectangle cited", "aria-hidden": "true" });
    image.addEventListener("load", () => {
      made.style.left = `${(100 * place.x) / image.naturalWidth}%`;
      made.style.top = `${(100 * place.y) / image.naturalHeight}%`;
      made.style.width = `${(100 * place.w) / image.naturalWidth}%`;
      made.style.height = `${(100 * place.h) / image.naturalHeight}%`;
      frame.append(made);
    });
  }
  return h("div", {}, frame, view.place_text ? h("blockquote", { class: "read-there" }, view.place_text) : null);
}

/** What is said in a recording or in subtitles; a recording is ready at the cited second, and a click on a sentence plays it. */
export function recording(view) {
  const place = view.citation;
  const isHeard = view.document.media_type.startsWith("audio/");
  const player = isHeard ? h("audio", { controls: true, preload: "metadata", src: file(view.document.doc_path) }) : null;
  if (place?.kind === "time") {
    player?.addEventListener("loadedmetadata", () => {
      player.currentTime = place.start_ms / 1000;
    }, { once: true });
  }
  const play = (each) => {
    player.currentTime = each.start_ms / 1000;
    player.play();
  };
  const rows = view.speech.map((each) => {
    const inside = place?.kind === "time" && each.start_ms < place.end_ms && each.end_ms > place.start_ms;
    const said = [h("span", { class: "number" }, clock(each.start_ms)), h("span", {}, each.text.trim())];
    const row = isHeard ? h("button", { type: "button", class: "said", onclick: () => play(each) }, said) : h("div", { class: "said" }, said);
    return h("li", { class: inside ? "cited" : null, "data-start": each.start_ms, "data-end": each.end_ms }, row);
  });
  player?.addEventListener("timeupdate", () => {
    const now = player.currentTime * 1000;
    for (const row of rows) row.classList.toggle("now", !player.paused && Number(row.dataset.start) <= now && now < Number(row.dataset.end));
  });
  return h("div", { class: "recording" }, player, rows.length ? h("ol", { class: "speech" }, rows) : h("p", { class: "hint" }, t("noSpeech")));
}
