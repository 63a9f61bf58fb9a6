// The menus of the second row: how passages are found, and filters with how many documents each leaves of the question.
// A menu stays open while one chooses; the hits below it change.

import { get } from "./api.js";
import { byId, failure, fill, h, icon } from "./dom.js";
import { FILTERS } from "./filter_table.js";
import { FILTER_NAMES, filtered, MODES, searched } from "./state.js";
import { mediaWord, number, t, words } from "./strings.js";

const CHIPS = ["media", "path_glob", "tag", "lang", "dated"]; // the others are under More
const REST = FILTERS.filter((each) => !CHIPS.includes(each.name));
const NAMED = ["media", "lang", "trust_min"]; // whose values are words of the page

const titleOf = (filter) => words(filter.name) ?? filter.title;
const valueWord = (name, value) => (NAMED.includes(name) ? mediaWord(value) : name === "path_glob" ? value.replace(/\/\*\*$/u, "/") : value);
const valuesOf = (state, names) => names.flatMap((name) => [state[name]].flat().filter(Boolean).map((value) => [name, value]));

/** How many filters are in force. */
export const countOf = (state) => valuesOf(state, FILTER_NAMES).length;

/** The filters in force as words. */
export const filterWords = (state) => valuesOf(state, FILTER_NAMES).map(([name, value]) => valueWord(name, value)).join(", ");

/** The state without its filters. */
export const withoutFilters = (state) => ({ ...state, ...Object.fromEntries(FILTER_NAMES.map((name) => [name, Array.isArray(state[name]) ? [] : ""])) });

/** Draws the row for a state: `current` gives it as it is when something is chosen, `mode` is the one in force. */
export function drawRow(current, go, mode) {
  const state = current();
  const filters = new Map(FILTERS.map((each) => [each.name, each]));
  fill(
    byId("chips"),
    chip("modes", state.sort === "date" ? `${t(mode)}, ${t("newestFirst")}` : t(mode), true, t("modeTitle"), () => chooseMode(current, go, mode)),
    CHIPS.filter((name) => filters.has(name)).map((name) => {
      const chosen = valuesOf(state, [name]).map(([, value]) => valueWord(name, value));
      return chip(`chip-${name}`, [titleOf(filters.get(name)), ...chosen].slice(chosen.length ? 1 : 0).join(", "), chosen.length > 0, titleOf(filters.get(name)), () => chooseValues([filters.get(name)], current, go));
    }),
    moreChip(state, current, go),
  );
}

function moreChip(state, current, go) {
  const chosen = valuesOf(state, REST.map((each) => each.name)).map(([name, value]) => valueWord(name, value));
  return chip("chip-more", chosen.length ? chosen.join(", ") : t("more"), chosen.length > 0, t("moreFilters"), () => chooseValues(REST, current, go));
}

/** A button that opens a menu. One that is there stays, and so does the focus on it. */
function chip(id, word, isOn, title, open) {
  const made = byId(id) ?? h("button", { type: "button", id, class: "chip", "aria-haspopup": "dialog" });
  fill(made, h("span", {}, word), icon("down"));
  made.classList.toggle("on", isOn);
  made.title = title;
  made.setAttribute("aria-label", title === word ? word : `${title}: ${word}`);
  made.onclick = open;
  return made;
}

/** Opens the menu below the element of that id; a second click closes it. */
function show(id, label, ...children) {
  const menu = byId("menu");
  const isOpen = menu.matches(":popover-open");
  if (closedBy === id && !isOpen) {
    closedBy = "";
    return menu;
  }
  fill(menu, ...children);
  menu.setAttribute("aria-label", label);
  if (isOpen && menu.dataset.of === id) return menu;
  menu.dataset.of = id;
  if (!isOpen) menu.showPopover({ source: byId(id) });
  const { left, bottom } = byId(id).getBoundingClientRect();
  menu.style.left = `${Math.max(8, Math.min(left, innerWidth - menu.offsetWidth - 8))}px`;
  menu.style.top = `${bottom + 4}px`;
  menu.querySelector("[aria-checked=true], [aria-pressed=true], button, input, a")?.focus({ preventScroll: true });
  return menu;
}

let closedBy = ""; // the button whose press closed its own menu: the click that follows opens none
addEventListener(
  "pointerdown",
  (event) => {
    const pressed = event.target.closest?.("[aria-haspopup]")?.id ?? "";
    closedBy = byId("menu").matches(":popover-open") && byId("menu").dataset.of === pressed ? pressed : "";
  },
  true,
);

byId("menu").addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const all = [...byId("menu").querySelectorAll("button, a, input")];
  all[(all.indexOf(document.activeElement) + step + all.length) % all.length]?.focus();
});
byId("menu").addEventListener("toggle", (event) => {
  if (event.newState === "closed" && (document.activeElement === document.body || byId("menu").contains(document.activeElement))) byId(byId("menu").dataset.of)?.focus();
});

/** Opens a menu of what a button offers: pairs of words and what they do, or a link's address. */
export function offer(id, label, items) {
  const close = (work) => () => {
    byId("menu").hidePopover();
    work();
  };
  show(id, label, items.map(([word, does, hint]) => h("button", { type: "button", class: "item", onclick: close(does) }, h("span", {}, word), hint ? h("kbd", {}, hint) : null)));
}

function chooseMode(current, go, mode) {
  const pick = (next) => {
    byId("menu").hidePopover();
    byId("modes").focus();
    go({ ...current(), mode: next });
  };
  const newest = current().sort === "date";
  const sorted = () => {
    go({ ...current(), sort: newest ? "" : "date" });
    byId("menu").hidePopover();
  };
  const order = h("button", { type: "button", class: "item", "aria-pressed": String(newest), onclick: sorted }, h("span", {}, t("newestFirst")));
  show("modes", t("modeTitle"), h("div", { role: "radiogroup", "aria-label": t("modeTitle") }, MODES.map((each) => h("button", { type: "button", class: "item", role: "radio", "aria-checked": String(each === mode), onclick: () => pick(each) }, h("span", {}, t(each), h("small", {}, t(`${each}Help`)))))), order);
}

/** Opens all filters: what the key does. */
export const openFilters = (current, go) => chooseValues(REST.length ? FILTERS : REST, current, go, "chip-more");

async function chooseValues(filters, current, go, id = filters.length > 1 ? "chip-more" : `chip-${filters[0].name}`) {
  const title = filters.length > 1 ? t("moreFilters") : titleOf(filters[0]);
  let facets = {};
  try {
    if (filters.some((each) => each.facet)) facets = await countsOf(current());
  } catch (error) {
    show(id, title, failure(error));
    return;
  }
  if (facets === null) return;
  const choose = async (change, key) => {
    go(change(current()));
    await chooseValues(filters, current, go, id);
    const menu = byId("menu");
    [...menu.querySelectorAll("[data-key]")].find((each) => each.dataset.key === key)?.focus();
  };
  const groups = filters.map((each) => (each.facet ? group(facets[each.facet] ?? [], each, current(), choose, filters.length > 1) : typed(each, current(), choose))).filter(Boolean);
  const count = valuesOf(current(), filters.map((each) => each.name)).length;
  const away = count ? h("button", { type: "button", class: "item", onclick: () => choose((now) => filters.reduce((state, each) => ({ ...state, [each.name]: each.many ? [] : "" }), now), "away") }, t("takeAwayAll", count)) : null;
  show(id, title, groups.length ? groups : h("p", { class: "hint" }, t("anyValue")), away);
}

/** The counts of the question; without one, of all documents. */
async function countsOf(state) {
  if (!state.q.trim()) return get("facets", "/api/facets", filtered(state));
  const asked = searched(state);
  asked.set("facets", "1");
  const found = await get("facets", "/api/found", asked);
  return found && found.documents === 0 ? get("facets", "/api/facets", filtered(state)) : found && found.facets;
}

function group(values, filter, state, choose, isTitled) {
  const { name, many } = filter;
  const chosen = [state[name]].flat().filter(Boolean);
  const counted = new Map(values.map(({ value, documents }) => [name === "path_glob" ? `${value}/**` : value, documents]));
  for (const value of chosen) if (!counted.has(value)) counted.set(value, 0);
  if (!counted.size) return isTitled ? null : h("p", { class: "hint" }, t("anyValue"));
  const flip = (now, value, isOn) => ({ ...now, [name]: many ? (isOn ? now[name].filter((each) => each !== value) : [...now[name], value]) : isOn ? "" : value });
  return h(
    "fieldset",
    {},
    h("legend", { class: isTitled ? null : "unseen" }, titleOf(filter)),
    [...counted].map(([value, documents]) => {
      const isOn = chosen.includes(value);
      return h("button", { type: "button", class: "item value", "data-key": `${name} ${value}`, "aria-pressed": String(isOn), onclick: () => choose((now) => flip(now, value, isOn), `${name} ${value}`) }, h("span", {}, valueWord(name, value)), h("span", { class: "count" }, number(documents)));
    }),
  );
}

function typed(filter, state, choose) {
  const { name } = filter;
  const field = h("input", { type: "text", id: `filter-${name}`, "data-key": name, value: [state[name]].flat().join(", ") || null, placeholder: filter.example, spellcheck: "false" });
  const submit = (event) => {
    event.preventDefault();
    const value = field.value.trim();
    choose((now) => ({ ...now, [name]: filter.many ? value.split(/,\s+/u).filter(Boolean) : value }), name);
  };
  return h("form", { onsubmit: submit }, h("label", { for: field.id }, titleOf(filter)), field, h("button", { type: "submit" }, t("set")));
}
