// The palette (Ctrl+K): goes to a note by its title, asks a recent question again, and has all that the page can do by name.

import { get } from "./api.js";
import { byId, fill, h, settled } from "./dom.js";
import { onceAsked, save, saved } from "./start.js";
import { t } from "./strings.js";

const RESTS_MS = 40; // of what is typed, then the notes are looked for
const MOST = 5; // of recent questions

/** Opens the palette: `commands` are words, what they do and a key; `goes` has a function for a note, a question, a search and typed words. */
export function showPalette(commands, goes) {
  const dialog = byId("palette");
  let questions = [];
  let items = [];
  let marked = 0;
  const field = h("input", { type: "text", role: "combobox", "aria-expanded": "true", "aria-controls": "palette-list", "aria-autocomplete": "list", "aria-label": t("palette"), placeholder: t("palette"), spellcheck: "false", autocomplete: "off" });
  const list = h("div", { id: "palette-list", role: "listbox", "aria-label": t("palette") });
  const mark = (at) => {
    marked = Math.min(Math.max(at, 0), items.length - 1);
    const options = [...list.querySelectorAll("[role=option]")];
    options.forEach((each, nth) => each.setAttribute("aria-selected", String(nth === marked)));
    options[marked]?.scrollIntoView({ block: "nearest" });
    if (options[marked]) field.setAttribute("aria-activedescendant", options[marked].id);
    else field.removeAttribute("aria-activedescendant");
  };
  const choose = (item) => {
    if (!item) return;
    dialog.close();
    item.does();
  };
  const draw = (named) => {
    const typed = field.value.trim();
    const wanted = typed.toLowerCase().split(/\s+/u).filter(Boolean);
    const fits = (...texts) => wanted.every((word) => texts.join(" ").toLowerCase().includes(word));
    const groups = [
      [typed ? "notes" : "recent", named.map((each) => ({ word: each.title, detail: each.doc_path, does: () => goes.note(each.doc_path) }))],
      ["savedSearches", saved().filter((each) => fits(each.name)).map((each) => ({ word: each.name, does: () => goes.search(each.words) }))],
      ["recentQuestions", questions.filter((each) => fits(each.query)).slice(0, MOST).map((each) => ({ word: each.query, does: () => goes.question(each) }))],
      ["commands", commands.filter(([word]) => fits(word)).map(([word, does, key]) => ({ word, key, does }))],
      ["orSearch", typed ? [{ word: t("searchFor", typed), does: () => goes.words(typed, false) }, { word: t("askFor", typed), does: () => goes.words(typed, true) }] : []],
    ].filter(([, found]) => found.length);
    items = groups.flatMap(([, found]) => found);
    fill(list, groups.map(([name, found]) => h("div", { role: "group", "aria-label": t(name) }, h("p", { class: "group", "aria-hidden": "true" }, t(name)), found.map((item) => option(item, items.indexOf(item), () => choose(item))))));
    mark(0);
  };
  const look = settled(async () => {
    const found = await get("palette", "/api/named", new URLSearchParams({ name: field.value })).catch(() => []);
    if (found && dialog.open) draw(found.slice(0, field.value.trim() ? found.length : MOST));
  }, RESTS_MS);
  field.addEventListener("input", () => look());
  field.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key];
    if (event.isComposing || !(step || event.key === "Enter")) return;
    event.preventDefault();
    if (step) mark(marked + step);
    else choose(items[marked]);
  });
  fill(dialog, field, list);
  dialog.setAttribute("aria-label", t("palette"));
  dialog.showModal();
  draw([]);
  look.now();
  get("palette answers", "/api/answers", new URLSearchParams({ limit: 100 })).then((found) => {
    questions = onceAsked(found ?? []);
    if (dialog.open) look.now();
  }, () => null); // without them the rest is there
}

function option({ word, detail, key }, at, onclick) {
  return h("div", { role: "option", id: `option-${at}`, class: "item", onclick }, h("span", {}, h("bdi", {}, word), detail ? h("small", {}, h("bdi", {}, detail)) : null), key ? h("kbd", {}, key) : null);
}

/** Asks for the name of the search of a state, and saves it; `done` says so. */
export function nameSearch(state, name, done) {
  const dialog = byId("palette");
  const field = h("input", { type: "text", "aria-label": t("searchName"), value: name, maxlength: 100, spellcheck: "false" });
  const submit = (event) => {
    event.preventDefault();
    if (!field.value.trim()) return;
    save(field.value.trim(), state);
    dialog.close();
    done();
  };
  fill(dialog, h("form", { onsubmit: submit }, h("p", { class: "group" }, t("searchName")), field, h("p", { class: "ways" }, h("button", { type: "submit" }, t("saveSearch")), h("button", { type: "button", onclick: () => dialog.close() }, t("done")))));
  dialog.setAttribute("aria-label", t("saveSearch"));
  dialog.showModal();
  field.select();
}

byId("palette").addEventListener("click", (event) => event.target === event.currentTarget && event.currentTarget.close()); // beside it
