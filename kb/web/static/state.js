// What is looked at, kept in the address: a reload, the Back button and a copied address all lead to the same view.

import { FILTERS } from "./filter_table.js";

const SEVERAL = ["turn", ...FILTERS.filter((each) => each.many).map((each) => each.name)];
const ONE_VALUED = FILTERS.filter((each) => !each.many).map((each) => each.name);
const SINGLE = ["q", "mode", "k", "sort", ...ONE_VALUED, "at", "passage", "heading", "view", "ask", "deep", "after", "answer", "page", "before_run", "after_run"];
/** How is searched: by words and meaning, by words, by meaning. */
export const MODES = ["hybrid", "lexical", "vector"];
/** The names of what narrows the search. */
export const FILTER_NAMES = FILTERS.map((each) => each.name);

/** The state that an address holds, without a mode that there is not. */
export function read(search = location.search) {
  const words = new URLSearchParams(search);
  const state = {};
  for (const name of SINGLE) state[name] = words.get(name) ?? "";
  for (const name of SEVERAL) state[name] = words.getAll(name);
  if (!MODES.includes(state.mode)) state.mode = "";
  return state;
}

/** The state of an address without words: the start. */
export const EMPTY = read("");

/** The words of an address for a state; `only` some of them. */
export function words(state, only = [...SINGLE, ...SEVERAL]) {
  const found = new URLSearchParams();
  for (const name of only) {
    for (const value of [state[name]].flat()) if (value) found.append(name, value);
  }
  return found;
}

/** The words of a search. */
export const searched = (state) => words(state, ["q", "mode", "k", "sort", ...FILTER_NAMES]);

/** The filters alone. */
export const filtered = (state) => words(state, FILTER_NAMES);

/** The address of a state. */
export function address(state) {
  const found = words(state).toString();
  return found ? `/?${found}` : "/";
}

/** Shows the state in the address: as a step to come Back to, or in the place of the present one. */
export function keep(state, { step }) {
  const next = address(state);
  if (next === location.pathname + location.search) return;
  if (step) history.pushState(null, "", next);
  else history.replaceState(null, "", next);
}
