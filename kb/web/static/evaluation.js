// Evaluation: two runs side by side, and fusion weights moved by sliders against one's own golden questions.

import { get } from "./api.js";
import { copied, fill, h } from "./dom.js";
import { address, keep } from "./state.js";

const LABELS = {
  hit_at_1: "First hit is right",
  hit_at_k: "Some hit is right",
  mrr: "1 / rank of the first right hit",
  ndcg_at_10: "nDCG@10",
  recall_at_k_doc: "Expected documents found",
  precision_at_k_chunk: "Hits that are expected passages",
  citation_exactness: "Lines cited exactly",
  answer_found: "Answer is among the hits",
  refusal_recall: "Unanswerable: refused",
  answer_recall: "Answerable: answered",
  must_contain: "Answers that say what they must",
  forbidden: "Answers that say nothing wrong",
  refusal_precision: "Refusals that are right",
};
const VERDICTS = { better: ["answered", "Better"], worse: ["refused", "Worse"], undecided: ["unsure", "No difference beyond the noise"], not_comparable: ["unsure", "Not comparable"] };
// Each weight of a rule: its key on the wire, what it is called, its bounds, its step, the rule that has it.
const SLIDERS = [
  ["lexical_weight", "What words count (the rest: meaning)", 0, 0.99, 0.01, "linear"],
  ["rrf_k", "Rank constant: the larger, the less the first places count", 1, 200, 1, "rrf"],
  ["rrf_lexical_weight", "What a rank by words counts (by meaning: 1)", 0, 10, 0.05, "rrf"],
];
const MOVED_SHOWN = 200;

const figure = (value) => value.toFixed(3);
const signed = (value) => (value > 0 ? "+" : value < 0 ? "−" : "±") + Math.abs(value).toFixed(3);
const tone = (value) => (value > 0.0005 ? "good" : value < -0.0005 ? "bad" : null);
const nameOf = (run) => run.name ?? run.run_id.slice(0, 8);

/** Two runs compared: the newest and the one before it of the same golden set, or those of the state. */
export async function showRuns(state, holder, go) {
  const runs = await get("runs", "/api/runs");
  if (!runs) return;
  if (!runs.length) {
    holder.replaceChildren(h("p", { class: "quiet-line" }, "No evaluation run yet. ", h("code", {}, "kb eval run"), " asks your golden questions and keeps what was found; Ctrl-G on a hit in ", h("code", {}, "kb ui"), " begins a golden set."));
    return;
  }
  const after = runs.find((run) => run.run_id === state.after) ?? runs[0];
  const older = runs.slice(runs.indexOf(after) + 1).find((run) => run.suite === after.suite);
  const before = runs.find((run) => run.run_id === state.before) ?? older;
  const choose = (label, chosen, name) =>
    h("label", {}, `${label} `, h("select", { name, onchange: (event) => go({ ...state, before: before?.run_id ?? "", after: after.run_id, [name]: event.target.value }) }, chosen ? null : h("option", { value: "" }, "choose a run"), runs.map((run) => h("option", { value: run.run_id, selected: run === chosen }, `${nameOf(run)} · ${run.suite} · ${run.created_at.slice(0, 16).replace("T", " ")}`))));
  const choice = h("p", { class: "choice" }, choose("Before", before, "before"), " ", choose("After", after, "after"));
  if (!before) {
    fill(holder, choice, h("p", { class: "quiet-line" }, "There is no earlier run of this golden set; ", h("code", {}, "kb eval run"), " makes another."), groups(null, after));
    return;
  }
  const found = await get("comparison", "/api/comparison", new URLSearchParams({ before: before.run_id, after: after.run_id }));
  if (!found) return;
  const [name, title] = VERDICTS[found.verdict];
  fill(holder, choice, h("p", { class: `verdict ${name}` }, title), h("p", { class: "quiet-line" }, found.reason), metrics(found), groups(before, after), moved(found, state));
}

function metrics(found) {
  if (!found.metrics.length) return null;
  return table("Over all questions", ["", "Questions", "Before", "After", "Difference", "95 % interval"], found.metrics.map((each) => [LABELS[each.name] ?? each.name, each.questions, figure(each.before), figure(each.after), h("span", { class: tone(each.difference) }, signed(each.difference)), `${signed(each.low)} to ${signed(each.high)}`]));
}

/** nDCG@10 by kind of question and language, of both runs. */
function groups(before, after) {
  const rows = after.groups.filter((each) => each.grouping !== "all" && each.label && each.ndcg_at_10 !== null);
  if (!rows.length) return null;
  const earlier = (each) => before?.groups.find((other) => other.grouping === each.grouping && other.label === each.label)?.ndcg_at_10 ?? null;
  return table(
    "nDCG@10 by kind and language",
    ["", "Questions", "Before", "After", "Difference"],
    rows.map((each) => {
      const was = earlier(each);
      const by = was === null ? null : each.ndcg_at_10 - was;
      return [each.label, each.questions, was === null ? "–" : figure(was), figure(each.ndcg_at_10), by === null ? "–" : h("span", { class: tone(by) }, signed(by))];
    }),
  );
}

function table(caption, heads, rows) {
  const [first, ...others] = heads;
  return h(
    "div",
    { class: "scrolled", role: "region", "aria-label": caption, tabindex: "0" },
    h(
      "table",
      { class: "figures" },
      h("caption", {}, caption),
      h("thead", {}, h("tr", {}, first ? h("th", { scope: "col" }, first) : h("td", {}), others.map((each) => h("th", { scope: "col" }, each)))),
      h("tbody", {}, rows.map(([name, ...cells]) => h("tr", {}, h("th", { scope: "row" }, name), cells.map((each) => h("td", {}, each))))),
    ),
  );
}

/** The questions that are ranked better, and those that are ranked worse, by their kind. */
function moved(found, state) {
  const change = (each) => each.ndcg_at_10_after - each.ndcg_at_10_before;
  return [
    ["better", found.moved.filter((each) => change(each) > 0)],
    ["worse", found.moved.filter((each) => change(each) < 0)],
  ].map(([word, questions]) => [
    h("h2", {}, `${questions.length} question${questions.length === 1 ? "" : "s"} ${word}`),
    byKind(questions).map(([kind, each]) => [
      kind ? h("h3", {}, `${kind} (${each.length})`) : null,
      h("ul", { class: "plain" }, each.map((one) => h("li", {}, h("details", {}, h("summary", {}, h("span", { class: tone(change(one)) }, signed(change(one))), ` ${one.query}`), h("div", { class: "side-by-side" }, ranking("Before", one.before, state), ranking("After", one.after, state)))))),
    ]),
  ]);
}

function byKind(questions) {
  const found = new Map();
  for (const each of questions) found.set(each.category ?? "", [...(found.get(each.category ?? "") ?? []), each]);
  return [...found];
}

function ranking(title, hits, state) {
  return h(
    "div",
    {},
    h("h4", {}, title),
    h("ol", {}, hits.map((hit) => h("li", { value: hit.rank }, h("a", { class: "to-document", href: address({ ...state, at: hit.citation, passage: "", view: "" }), "data-at": hit.citation }, hit.citation), hit.grade ? h("span", { class: "good" }, " ✓ expected") : null))),
  );
}

/** The fusion rule tried on one's own golden questions: sliders, and what each move does. */
export async function showWeights(state, holder) {
  let now = state;
  const found = await get("trial", "/api/trial", tried(now));
  if (!found) return;
  const outcome = h("div", { class: "outcome" });
  const move = async (change) => {
    now = { ...now, ...change };
    keep(now, { step: false });
    for (const slider of holder.querySelectorAll("[data-rule]")) slider.hidden = slider.dataset.rule !== (now.rule || found.current.rule);
    const next = await get("trial", "/api/trial", tried(now));
    if (next) fill(outcome, results(next, now));
  };
  const rule = now.rule || found.current.rule;
  fill(
    holder,
    h("p", {}, `${found.questions.length} golden questions of the run ${found.run_name ?? found.run_id.slice(0, 8)}, ranked again at each move. Nothing is written.`),
    found.is_read ? h("p", { class: "quiet-line" }, "Your hits are put in order by reading them; this rule orders those whose sentences have no vectors, and where ", h("code", {}, "rerank.provider"), " is none.") : null,
    h(
      "form",
      { class: "sliders", onsubmit: (event) => event.preventDefault() },
      h("fieldset", {}, h("legend", {}, "Rule"), [["linear", "Sum of scores"], ["rrf", "Ranks (RRF)"]].map(([value, word]) => h("label", { class: "value" }, h("input", { type: "radio", name: "rule", value, checked: value === rule, onchange: () => move({ rule: value }) }), word))),
      SLIDERS.map(([name, label, min, max, step, its]) => slider(name, label, min, max, step, found.rule[name], its, rule, move)),
      slider("depth", "Candidates of each channel", found.least_depth, found.current.depth, 1, found.rule.depth, null, rule, move),
      h("button", { type: "button", class: "quiet", onclick: () => { const { rule: r, lexical_weight: l, rrf_k: k, rrf_lexical_weight: w, depth: d } = found.current; holder.querySelector(`input[name=rule][value=${r}]`).checked = true; for (const [key, value] of Object.entries({ lexical_weight: l, rrf_k: k, rrf_lexical_weight: w, depth: d })) set(holder, key, value); move({ rule: "", lexical_weight: "", rrf_k: "", rrf_lexical_weight: "", depth: "" }); } }, "Back to the rule of the run"),
    ),
    outcome,
  );
  fill(outcome, results(found, now));
}

const tried = (state) => new URLSearchParams(["rule", "lexical_weight", "rrf_k", "rrf_lexical_weight", "depth"].filter((name) => state[name] !== "").map((name) => [name, state[name]]));

function set(holder, name, value) {
  const input = holder.querySelector(`#weight-${name}`);
  input.value = value;
  input.nextElementSibling.textContent = value;
}

function slider(name, label, min, max, step, value, its, rule, move) {
  const shown = h("output", { for: `weight-${name}` }, String(value));
  const input = h("input", {
    type: "range", id: `weight-${name}`, min, max, step, value,
    oninput: () => {
      shown.textContent = input.value;
      move({ [name]: input.value });
    },
  });
  return h("p", { class: "slider", "data-rule": its, hidden: its !== null && its !== rule }, h("label", { for: input.id }, label), input, shown);
}

function results(found, state) {
  const differences = found.questions.map((each) => ({ ...each, by: each.tried.ndcg_at_10 - each.now.ndcg_at_10, moved: each.now.first_rank !== each.tried.first_rank }));
  const changed = differences.filter((each) => each.moved || Math.abs(each.by) > 1e-9).sort((one, other) => Math.abs(other.by) - Math.abs(one.by));
  const by = (name) => found.tried[name] - found.now[name];
  const lines = `[search]\n${Object.entries(found.settings).map(([key, value]) => `${key.replace("search.", "")} = ${JSON.stringify(value)}`).join("\n")}\n`;
  const place = (rank) => (rank === null ? "not found" : rank.toLocaleString("en"));
  const up = changed.filter((each) => each.by > 0).length;
  const down = changed.filter((each) => each.by < 0).length;
  return [
    h("p", { class: "big-figures", role: "status" }, ["ndcg_at_10", "recall_at_10"].map((name) => h("span", {}, h("b", {}, figure(found.tried[name])), ` ${name === "ndcg_at_10" ? "nDCG@10" : "recall@10"}, now ${figure(found.now[name])} `, h("span", { class: tone(by(name)) }, signed(by(name)))))),
    h("p", { class: "quiet-line" }, changed.length ? `${up} question${up === 1 ? "" : "s"} better, ${down} worse. What fits these questions best is not yet better on others: ` : "No question is ranked otherwise.", changed.length ? [h("code", {}, "kb eval tune"), " says how sure a gain is."] : null),
    changed.length ? table("First right document", ["Question", "Now", "Tried", "nDCG@10"], changed.slice(0, MOVED_SHOWN).map((each) => [h("a", { href: address({ ...state, page: "", q: each.query }) }, each.query), place(each.now.first_rank), place(each.tried.first_rank), h("span", { class: tone(each.by) }, signed(each.by))])) : null,
    h("h2", {}, "In the configuration"),
    h("pre", { class: "lines-to-copy", tabindex: "0" }, lines),
    copied(lines, "Copy the config lines"),
  ];
}
