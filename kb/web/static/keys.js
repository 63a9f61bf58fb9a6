// The keys of the page, in one table: what is pressed, what it does, and the help that lists them.

import { byId, h } from "./dom.js";
import { t } from "./strings.js";

const KEYS = [
  ["/", "key_field"],
  ["↓ ↑", "key_move"],
  ["Enter", "key_open"],
  ["Ctrl+K", "key_palette"],
  ["Ctrl+Enter", "key_ask"],
  ["Ctrl+Shift+Enter", "key_steps"],
  ["Esc", "key_back"],
  ["Alt+M", "key_mode"],
  ["Alt+F", "key_filters"],
  ["y m t", "key_cite"],
  ["o", "key_program"],
  ["v", "key_view"],
  ["Alt+G Alt+B", "key_judge"],
  ["?", "key_help"],
];
const WITH_ALT = { KeyM: "mode", KeyF: "filters", KeyG: "good", KeyB: "bad" };
const PLAIN = { "/": "field", y: "copyPlace", m: "copyLink", t: "copyText", o: "program", v: "view", "?": "help" };

/** Opens the list of keys. */
export function showHelp() {
  const dialog = byId("help");
  dialog.replaceChildren(
    h("header", {}, h("h2", { id: "help-title" }, t("keys")), h("button", { type: "button", onclick: () => dialog.close() }, t("done"))),
    h("dl", { class: "keys" }, KEYS.flatMap(([key, what]) => [h("dt", {}, key.split(" ").map((each) => h("kbd", {}, each))), h("dd", {}, t(what))])),
  );
  if (!dialog.open) dialog.showModal();
}

/** Listens for the keys; `does` (page.js) has a function for each name above, `back` for Esc. */
export function listen(does) {
  const field = byId("question");
  document.addEventListener("keydown", (event) => {
    if (event.isComposing || document.querySelector("dialog[open], :popover-open")) return;
    if ((event.ctrlKey || event.metaKey) && event.key === "Enter") {
      event.preventDefault();
      if (event.shiftKey) does.askInSteps();
      else does.ask();
      return;
    }
    if ((event.ctrlKey || event.metaKey) && event.code === "KeyK" && !event.shiftKey && !event.altKey) {
      event.preventDefault();
      does.palette();
    }
    if (event.ctrlKey || event.metaKey) return;
    const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    const action = event.altKey ? WITH_ALT[event.code] : plainKey(event, typing, field);
    if (!action) return;
    event.preventDefault();
    does[action]();
  });
}

function plainKey(event, typing, field) {
  if (event.key === "Escape") return "back";
  if (event.target === field || event.target.closest?.("#results")) {
    const moves = { ArrowDown: "next", ArrowUp: "previous" }[event.key];
    if (moves) return moves;
    if (event.key === "Enter" && event.target === field) return "open";
  }
  return typing ? null : PLAIN[event.key];
}
