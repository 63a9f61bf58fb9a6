// Evaluation: two runs side by side.

import { get } from "./api.js";
import { command, fill, h } from "./dom.js";
import { address } from "./state.js";
import { t, words } from "./strings.js";

const PRIMARY = "ndcg_at_10"; // what questions are ordered by
const TONES = { better: "answered", worse: "bad-verdict", undecided: "unsure", not_comparable: "unsure" };

const figure = (value) => value.toFixed(3);
const signed = (value) => (value > 0 ? "+" : value < 0 ? "−" : "±") + Math.abs(value).toFixed(3);
const tone = (value) => (value > 0.0005 ? "good" : value < -0.0005 ? "bad" : null);
const nameOf = (run) => run.name ?? run.run_id.slice(0, 8);

/** Two runs compared: the newest and the one before it of the same golden set, or those of the state. */
export async function showRuns(state, holder, go) {
  const runs = await get("runs", "/api/runs");
  if (!runs) return;
  if (!runs.length) {
    fill(holder, h("p", { class: "quiet-line" }, t("noRuns")), command("eval run"));
    return;
  }
  const after = runs.find((run) => run.run_id === state.after_run) ?? runs[0];
  const older = runs.slice(runs.indexOf(after) + 1).find((run) => run.suite === after.suite);
  const before = runs.find((run) => run.run_id === state.before_run) ?? older;
  const choose = (label, chosen, name) =>
    h("label", {}, `${label} `, h("select", { name, onchange: (event) => go({ ...state, before_run: before?.run_id ?? "", after_run: after.run_id, [`${name}_run`]: event.target.value }) }, chosen ? null : h("option", { value: "" }, t("chooseRun")), runs.map((run) => h("option", { value: run.run_id, selected: run === chosen }, `${nameOf(run)} · ${run.suite} · ${run.created_at.slice(0, 16).replace("T", " ")}`))));
  const choice = h("p", { class: "choice" }, choose(t("beforeRun"), before, "before"), " ", choose(t("afterRun"), after, "after"));
  if (!before) {
    fill(holder, choice, h("p", { class: "quiet-line" }, t("noEarlierRun")), groups(null, after));
    return;
  }
  const found = await get("comparison", "/api/comparison", new URLSearchParams({ before: before.run_id, after: after.run_id }));
  if (!found) return;
  fill(holder, choice, h("h2", { class: `verdict ${TONES[found.verdict]}` }, t(found.verdict)), because(found), metrics(found), groups(before, after), moved(found, state));
}

/** What the verdict is from: what hinders it, the metrics that fell, or else nDCG@10. */
function because(found) {
  if (found.obstacles.length) return h("p", { class: "quiet-line", lang: "en" }, found.obstacles.join("; "));
  const fell = found.metrics.filter((each) => each.regressed);
  const named = fell.length ? fell : found.metrics.filter((each) => each.name === PRIMARY);
  const said = named.map((each) => `${nameOfMetric(each)} ${signed(each.difference)} (${t("interval")} ${signed(each.low)} … ${signed(each.high)})`);
  return h("p", { class: "quiet-line" }, [...said, ...(fell.length ? [t("beyond", found.tolerance)] : [])].join(" · "));
}

const nameOfMetric = (each) => words(each.name) ?? each.name;

function metrics(found) {
  if (!found.metrics.length) return null;
  return table(t("overAll"), ["", t("questionsHead"), t("beforeRun"), t("afterRun"), t("difference"), t("interval")], found.metrics.map((each) => [nameOfMetric(each), each.questions, figure(each.before), figure(each.after), h("span", { class: tone(each.difference) }, signed(each.difference)), `${signed(each.low)} … ${signed(each.high)}`]));
}

/** nDCG@10 by kind of question and language, of both runs. */
function groups(before, after) {
  const rows = after.groups.filter((each) => each.grouping !== "all" && each.label && each.ndcg_at_10 !== null);
  if (!rows.length) return null;
  const earlier = (each) => before?.groups.find((other) => other.grouping === each.grouping && other.label === each.label)?.ndcg_at_10 ?? null;
  return table(
    t("byGroup"),
    ["", t("questionsHead"), t("beforeRun"), t("afterRun"), t("difference")],
    rows.map((each) => {
      const was = earlier(each);
      const by = was === null ? null : each.ndcg_at_10 - was;
      return [each.grouping === "lang" ? (words(each.label) ?? each.label) : each.label, each.questions, was === null ? "–" : figure(was), figure(each.ndcg_at_10), by === null ? "–" : h("span", { class: tone(by) }, signed(by))];
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

/** The questions that are ranked better, those that are ranked worse, and those in which another metric fell that decided; by their kind. */
function moved(found, state) {
  const change = (each) => each.ndcg_at_10_after - each.ndcg_at_10_before;
  const fallen = found.metrics.filter((each) => each.regressed && each.name !== PRIMARY).map(({ name }) => ["movedDown", name, found.moved.filter(({ fell }) => fell.includes(name))]);
  const parts = [
    ["movedUp", PRIMARY, found.moved.filter((each) => change(each) > 0)],
    ["movedDown", PRIMARY, found.moved.filter((each) => change(each) < 0)],
    ...fallen,
  ].filter(([, , questions]) => questions.length);
  if (!parts.length) return h("p", { class: "quiet-line" }, t("noneMoved"));
  return parts.map(([title, name, questions]) => [
    h("h2", {}, t(title, questions.length, nameOfMetric({ name }))),
    byKind(questions).map(([kind, each]) => [
      kind ? h("h3", {}, `${kind} (${each.length})`) : null,
      h("ul", { class: "plain" }, each.map((one) => h("li", {}, h("details", {}, h("summary", {}, name === PRIMARY ? h("span", { class: tone(change(one)) }, `${signed(change(one))} `) : null, one.query), h("div", { class: "side-by-side" }, ranking(t("beforeRun"), one.before, state), ranking(t("afterRun"), one.after, state)))))),
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
    h("ol", {}, hits.map((hit) => h("li", { value: hit.rank }, h("a", { class: "to-document", href: address({ ...state, at: hit.citation, passage: "", view: "" }), "data-at": hit.citation }, hit.citation), hit.grade ? h("span", { class: "good" }, ` ✓ ${t("expected")}`) : null))),
  );
}
