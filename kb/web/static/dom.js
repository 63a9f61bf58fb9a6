// Elements made of plain values; text is always text, never markup.

/** An element: `h("a", { class: "hit", href }, "text", child)`. An `on…` property is a listener; null is left out. */
export function h(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : String(value));
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

/** Puts children in the place of those that are there; lists of them are taken apart, null is left out. */
export function fill(holder, ...children) {
  holder.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
}

/** The element of that id. */
export const byId = (id) => document.getElementById(id);

/** `text` with the parts between the given ends (in characters, not code units) marked. */
export function marked(text, parts) {
  const letters = Array.from(text);
  const found = [];
  let at = 0;
  for (const [start, end] of parts) {
    if (start > at) found.push(letters.slice(at, start).join(""));
    found.push(h("mark", {}, letters.slice(start, end).join("")));
    at = end;
  }
  found.push(letters.slice(at).join(""));
  return found;
}

/** Calls `work` once nothing more has come for `ms`; `.now(…)` calls it at once, `.cancel()` not at all; `.isDue()` tells whether it will be. */
export function settled(work, ms) {
  let timer = null;
  const run = (...given) => {
    timer = null;
    work(...given);
  };
  const later = (...given) => {
    clearTimeout(timer);
    timer = setTimeout(run, ms, ...given);
  };
  later.now = (...given) => {
    clearTimeout(timer);
    run(...given);
  };
  later.cancel = () => {
    clearTimeout(timer);
    timer = null;
  };
  later.isDue = () => timer !== null;
  return later;
}
