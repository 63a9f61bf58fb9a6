// Finds a text where it is shown: by its letters and digits alone, whatever marks and line ends are around them.

const LETTER = /[\p{L}\p{N}]/u;
const BEHIND = /^[^\p{L}\p{N}\s[]+/u;
const lengthBehind = (text) => BEHIND.exec(text)?.[0].length ?? 0; // a full stop belongs to its sentence

/** The letters of an element, each with its text node and its ends there. */
export function lettersOf(root) {
  const found = { text: "", nodes: [], starts: [], ends: [] };
  const letters = [];
  const walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    let at = 0;
    for (const letter of node.data) {
      if (LETTER.test(letter)) {
        letters.push(letter);
        for (let unit = 0; unit < letter.length; unit += 1) {
          found.nodes.push(node);
          found.starts.push(at);
          found.ends.push(at + letter.length);
        }
      }
      at += letter.length;
    }
  }
  found.text = letters.join("");
  return found;
}

const bare = (text) => [...withoutMarkup(text)].filter((letter) => LETTER.test(letter)).join("");

/** The places of each text in the letters, in their order; null for one that is not there. */
export function find(letters, texts) {
  let from = 0;
  return texts.map((text) => {
    const wanted = bare(text);
    const at = wanted ? letters.text.indexOf(wanted, from) : -1;
    if (at < 0) return null;
    from = at + wanted.length;
    return [at, from];
  });
}

/** Places of which one begins where the other ends as one: what is between them, as brackets of code, is of it too. */
export function joined(places) {
  const found = [];
  for (const place of places) {
    if (place === null) continue;
    if (found.at(-1)?.[1] === place[0]) found.at(-1)[1] = place[1];
    else found.push([...place]);
  }
  return found;
}

/** The range of a place. */
export function rangeOf(letters, [start, end]) {
  const range = new Range();
  range.setStart(letters.nodes[start], letters.starts[start]);
  const [last, to] = [letters.nodes[end - 1], letters.ends[end - 1]];
  range.setEnd(last, to + lengthBehind(last.data.slice(to)));
  return range;
}

/** Puts the text of a place into elements that `make` gives, one for each text node. */
export function wrap(letters, [start, end], make) {
  for (let last = end - 1; last >= start; ) {
    const node = letters.nodes[last];
    let first = last;
    while (first > start && letters.nodes[first - 1] === node) first -= 1;
    const part = node.splitText(letters.starts[first]);
    const length = letters.ends[last] - letters.starts[first];
    part.splitText(length + (last === end - 1 ? lengthBehind(part.data.slice(length)) : 0));
    const made = make();
    part.replaceWith(made);
    made.append(part);
    last = first - 1;
  }
}

const MARKUP = [
  /^[ \t>]*(?:```|~~~)[^\n]*$/gmu,
  /^[ \t]*(?:>[ \t]*)+/gmu,
  /(?<=\s)(?:>[ \t]*)*>(?=\p{L})/gu, // a quotation's, where lines were joined
  /(?:(?<=\s)>[ \t]*)*\[![A-Za-z-]+\][+-]?/gu,
  /^[ \t]*#{1,6}[ \t]+/gmu,
  /^[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+/gmu,
  /(?<![^\s])(?:[-*+•][ \t]+)?\[[ xX]\](?=\s)/gu, // a task, also where lines were joined
  /(?<=\s)[•*](?=\s)/gu,
  /\\(?=\s|$)/gu,
  /\{\s*#[\w.-]+\s*\}/gu, // the anchor of a heading
  /^[ \t]*\|?[ \t]*:?-{2,}:?[ \t|:-]*$/gmu,
  /(?<=\|\s*)…(?=\s*\|)/gu, // what a snippet has in the place of that line
  /<\/?[A-Za-z][^<>]{0,300}>/gu,
  /!?\[\[(?:[^\][|\n]*\|)?(?=[^\][\n]*\]\])/gu,
  /\]\]/gu,
  /!?\[(?=[^\][\n]*\]\()/gu,
  /(?<=[^\]])\]\([^()\n]*\)/gu,
  /\*\*|__|~~|`/gu,
  /(?<![\p{L}\p{N}])[*_](?=\S)|(?<=\S)[*_](?![\p{L}\p{N}])/gu,
];

const CELL = /(?<![|\\])\|(?!\|)/gu; // what is between the cells of a table
const CALLOUT = /\[![A-Za-z-]+\]/u;
const QUOTE_MARK = /(?<=\s)>(?=\s)/gu; // of a callout whose lines were joined; elsewhere it may be the writer's

/** The parts of a text that are Markdown's and not the writer's, as a set of places of UTF-16 units. */
function markupOf(text) {
  const out = new Set();
  for (const pattern of CALLOUT.test(text) ? [...MARKUP, QUOTE_MARK] : MARKUP) for (const { index, 0: found } of text.matchAll(pattern)) for (let at = 0; at < found.length; at += 1) out.add(index + at);
  return out;
}

/** A text without its Markdown. */
export function withoutMarkup(text) {
  const out = markupOf(text);
  let kept = "";
  for (let at = 0; at < text.length; at += 1) if (!out.has(at)) kept += text[at];
  return kept;
}

/**
 * A text on one line without its Markdown, cut so that the first match is in sight: `[part, isMatch]` one behind the other.
 * `matches` count characters, not units.
 */
export function inOneLine(text, matches, before) {
  const units = [...text].map((letter) => letter.length);
  const toUnit = [0];
  for (const length of units) toUnit.push(toUnit.at(-1) + length);
  const isMatch = new Set();
  for (const [start, end] of matches) for (let at = toUnit[start]; at < toUnit[end]; at += 1) isMatch.add(at);
  const out = markupOf(text);
  const isTable = (text.match(CELL) ?? []).length > 2;
  const parts = [];
  let between = ""; // what comes before the next letter
  for (let at = 0; at < text.length; at += 1) {
    if (out.has(at)) continue;
    if (isTable && text[at] === "|") between = " · ";
    else if (/\s/u.test(text[at])) between ||= " ";
    else {
      const on = isMatch.has(at);
      const last = parts.at(-1);
      if (last?.[1] === on && (!on || !between || isMatch.has(at - 1))) last[0] += between + text[at];
      else if (!last) parts.push([text[at], on]);
      else if (!on) parts.push([between + text[at], on]);
      else {
        if (last[1]) parts.push([between, false]);
        else last[0] += between;
        parts.push([text[at], on]);
      }
      between = "";
    }
  }
  if (parts.length > 1 && !parts[0][1] && parts[0][0].length > before) {
    const cut = parts[0][0];
    const at = cut.indexOf(" ", cut.length - before);
    parts[0][0] = `…${cut.slice(at < 0 ? cut.length - before : at + 1)}`;
  }
  return parts;
}
