// The keys of the page, in one table: what is pressed, what it does, and the help that lists them.

import { byId, h } from "./dom.js";

const KEYS = [
  ["/", "go to the search field"],
  ["↓ ↑", "next, previous hit (also in the search field)"],
  ["Enter", "read the hit that is marked"],
  ["Ctrl+Enter", "answer the question from your notes; so does Enter where a ? is typed first"],
  ["Ctrl+Shift+Enter", "answer it in steps, each part of the question by itself; so does Enter after ??"],
  ["Esc", "back: from the document to the hits, from the hits to an empty field"],
  ["Alt+M", "by words and meaning, by words, by meaning"],
  ["Alt+F", "filters"],
  ["y", "copy the citation of what is open"],
  ["t", "copy its text"],
  ["v", "read, lines, both"],
  ["?", "this list"],
];

/** Opens the list of keys. */
export function showHelp() {
  const dialog = byId("help");
  dialog.replaceChildren(
    h("header", {}, h("h2", { id: "help-title" }, "Keys"), h("button", { type: "button", class: "quiet", onclick: () => dialog.close() }, "Done")),
    h("dl", { class: "keys" }, KEYS.flatMap(([key, what]) => [h("dt", {}, key.split(" ").map((each) => h("kbd", {}, each))), h("dd", {}, what)])),
  );
  if (!dialog.open) dialog.showModal();
}

/** Listens for the keys; `does` has a function for each name below. */
export function listen(does) {
  const field = byId("question");
  document.addEventListener("keydown", (event) => {
    if (event.isComposing || document.querySelector("dialog[open]")) return;
    if ((event.ctrlKey || event.metaKey) && event.key === "Enter") {
      event.preventDefault();
      if (event.shiftKey) does.askInSteps();
      else does.ask();
      return;
    }
    if (event.ctrlKey || event.metaKey) return;
    const typing = event.target instanceof HTMLInputElement;
    const action = event.altKey ? { KeyM: "mode", KeyF: "filters" }[event.code] : plainKey(event, typing, field);
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
  if (typing) return null;
  return { "/": "field", y: "copyPlace", t: "copyText", v: "view", "?": "help" }[event.key];
}
