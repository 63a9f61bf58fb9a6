// Filters: which there are with how many documents each leaves, and those in force as labels that can be taken away.

import { get } from "./api.js";
import { byId, h } from "./dom.js";
import { FILTERS } from "./filter_table.js";
import { filtered } from "./state.js";

const NAMES = { ko: "Korean", en: "English", und: "unknown", markdown: "notes", pdf: "PDF", image: "pictures", audio: "recordings", code: "code" };

/** The filters in force above the results, each with a button that takes it away. */
export function showChosen(state, go) {
  const holder = byId("chosen");
  const labels = FILTERS.flatMap(({ name, label }) =>
    [state[name]].flat().filter(Boolean).map((value) =>
      h(
        "button",
        { type: "button", class: "label", "aria-label": `Take away the filter ${label} ${value}`, onclick: () => go(without(state, name, value)) },
        h("span", { class: "quiet-word" }, `${label} `),
        named(name, value),
        h("span", { "aria-hidden": "true" }, " ×"),
      ),
    ),
  );
  holder.replaceChildren(...labels);
  holder.hidden = !labels.length;
  const button = byId("filtering");
  button.textContent = labels.length ? `Filters (${labels.length})` : "Filters";
}

/** Opens the filters. `current` gives the state as it is: what was typed last may still be on its way into it. */
export async function open(current, go) {
  const dialog = byId("filters");
  await fill(dialog, current, go);
  if (!dialog.open) dialog.showModal();
}

async function fill(dialog, current, go) {
  const state = current();
  const found = await get("facets", "/api/facets", filtered(state));
  if (found === null) return;
  const close = () => dialog.close();
  const choose = (change) => {
    go(change(current()));
    fill(dialog, current, go); // where it was closed meanwhile it stays so
  };
  dialog.replaceChildren(
    h("header", {}, h("h2", { id: "filters-title" }, "Filters"), h("button", { type: "button", class: "quiet", onclick: close }, "Done")),
    h(
      "div",
      { class: "groups" },
      Object.keys(found).flatMap((facet) => FILTERS.filter((each) => each.facet === facet && found[facet].length).map((each) => group(found[facet], each, state, choose))),
      FILTERS.filter((each) => !each.facet).map((each) => written(each, state, choose)),
    ),
  );
}

function group(values, { title, name }, state, choose) {
  const chosen = [state[name]].flat();
  return h(
    "fieldset",
    {},
    h("legend", {}, title),
    values.map(({ value, documents }) => {
      const filter = name === "path_glob" ? `${value}/**` : value;
      const on = chosen.includes(filter);
      return h(
        "button",
        { type: "button", class: "value", "aria-pressed": String(on), onclick: () => choose((now) => (on ? without(now, name, filter) : withValue(now, name, filter))) },
        h("span", {}, named(name, value)),
        h("span", { class: "count" }, documents.toLocaleString("en")),
      );
    }),
  );
}

function written({ name, title, example }, state, choose) {
  const field = h("input", { type: "text", id: `filter-${name}`, value: state[name] || null, placeholder: example, spellcheck: "false" });
  const submit = (event) => {
    event.preventDefault();
    choose((now) => ({ ...now, [name]: field.value.trim() }));
  };
  return h("fieldset", {}, h("legend", {}, title), h("form", { onsubmit: submit }, h("label", { for: field.id, class: "unseen" }, title), field, h("button", { class: "quiet" }, "Set")));
}

function withValue(state, name, value) {
  return { ...state, [name]: Array.isArray(state[name]) ? [...state[name], value] : value };
}

function without(state, name, value) {
  return { ...state, [name]: Array.isArray(state[name]) ? state[name].filter((each) => each !== value) : "" };
}

function named(name, value) {
  return name === "media" || name === "lang" ? NAMES[value] ?? value : value;
}
