// Elements made of plain values; text is always text, never markup.

import { FILTERS } from "./filter_table.js";
import { LANGUAGE, t, words } from "./strings.js";

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

const PATHS = {
  copy: "M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z",
  open: "M9.5 2.5h4v4M13.5 2.5l-6 6M11.5 9.5v4h-9v-9h4",
  down: "M4 6.5l4 4 4-4",
  close: "M4 4l8 8M12 4l-8 8",
  dots: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  find: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.4 10.4l3.1 3.1",
  left: "M9.5 3.5L5 8l4.5 4.5",
  right: "M6.5 3.5L11 8l-4.5 4.5",
};

/** A small drawing of 16 × 16, which says nothing to those who do not see it. */
export function icon(name) {
  const space = "http://www.w3.org/2000/svg";
  const drawn = document.createElementNS(space, "svg");
  drawn.setAttribute("viewBox", "0 0 16 16");
  drawn.setAttribute("class", `icon ${name}`);
  drawn.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(space, "path");
  path.setAttribute("d", PATHS[name]);
  drawn.append(path);
  return drawn;
}

/** Puts children in the place of those that are there; lists of them are taken apart, null is left out. */
export function fill(holder, ...children) {
  holder.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
}

/** The element of that id. */
export const byId = (id) => document.getElementById(id);

const widths = new ResizeObserver((seen) => {
  for (const { target } of seen) target.tabIndex = target.scrollWidth > target.clientWidth ? 0 : -1;
});

/** Lets keys reach the code and tables of a text that scroll sideways: not every browser does. */
export function reachable(made) {
  for (const each of made.querySelectorAll("pre, table")) widths.observe(each);
  return made;
}

/** A text that the server rendered and cleaned as it does notes; links to notes are of the one it is from, and left out. */
export function plainNote(html, name) {
  const made = h("div", { class: `${name} note` });
  made.innerHTML = html;
  for (const link of made.querySelectorAll("[data-note], [data-tag]")) link.replaceWith(...link.childNodes);
  return reachable(made);
}

/** What went wrong, as a sentence with a way out; `ways` are pairs of words and what they do. */
export function failure(error, ways = []) {
  const flag = FILTERS.find((each) => error.message.startsWith(`--${each.name.replaceAll("_", "-")}: `));
  const known = flag ? t("error_filter", words(flag.name) ?? flag.title) : words(`error_${error.code}`);
  const own = flag ? error.message.slice(error.message.indexOf(" ") + 1) : error.message;
  const isOwn = LANGUAGE === "en" && !flag && !["away", "locked", "model_missing", "not_found", "query_syntax"].includes(error.code);
  const isSaid = isOwn || ["away", "locked"].includes(error.code); // the sentence above is all that there is to say
  const mends = words(`hint_${error.code}`) ? null : /^kb ([a-z]+(?: --[a-z-]+)*)$/u.exec(error.hint ?? "")?.[1]; // a command alone
  const hint = mends ? null : isOwn && !/[{]|--/u.test(error.hint ?? "") ? error.hint : words(`hint_${error.code}`);
  return h(
    "div",
    { class: "failure", role: "alert" },
    h("p", {}, isOwn ? own : (known ?? t("error_other"))),
    mends ? command(mends) : hint ? h("p", {}, hint) : null,
    isSaid ? null : h("p", { class: "said", lang: "en" }, own),
    ways.length ? h("p", { class: "ways" }, ways.map(([word, onclick]) => h("button", { type: "button", onclick }, word))) : null,
  );
}

/** A command of kb to type in a terminal, for this knowledge base, with a button that copies it. */
export function command(words) {
  const line = `${document.documentElement.dataset.kb ?? "kb"} ${words}`;
  const copied = async () => {
    await navigator.clipboard.writeText(line);
    byId("status").textContent = t("copied", t("command"));
  };
  return h("p", { class: "command" }, h("code", {}, line), h("button", { type: "button", onclick: copied, title: t("copy"), "aria-label": t("copy") }, icon("copy")));
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
