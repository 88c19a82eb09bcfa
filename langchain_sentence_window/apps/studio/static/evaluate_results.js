// The results of Evaluate: what the questions find as the index is asked now, and the ranking that fits them.

import { get, post } from "./api.js";
import { el, fill } from "./dom.js";
import { createProgress } from "./jobs.js";
import { keep } from "./trial.js";
import { button, complain, say } from "./widgets.js";
import { count, interval, percent, points } from "./words.js";

const KINDS = { evaluate: "Evaluate", fit: "Fit the ranking" };

/**
 * Make the panel of results.
 *
 * @param {Object} handlers
 * @param {() => boolean} handlers.canChange Whether the page may change anything.
 * @param {() => void} handlers.onMeasured Called when there is another measurement.
 */
export function createResults({ canChange, onMeasured }) {
  const running = el("div", { class: "stack" });
  const measured = el("section", { class: "stack", aria: { label: "What was found" } },
    el("p", { class: "muted" },
      "Nothing was measured yet. “Evaluate” asks all questions, and shows how much of their gold is found."));
  const label = "The fitted ranking";
  const fitted = el("section", { class: "card stack", hidden: true, tabIndex: -1, aria: { label } });
  const buttons = [button(KINDS.evaluate, () => start("evaluate"), "main"), button(KINDS.fit, () => start("fit"))];
  const element = el("div", { class: "results stack" }, el("div", { class: "row" }, buttons), running, measured, fitted);
  let last = null;
  const resumed = resume().catch(complain);

  async function start(kind) {
    await resumed; // else a job that begins meanwhile would be watched twice
    post(`/api/${kind}`).then(({ job }) => watch(job)).catch(complain);
  }

  /** Show what was measured before, and watch what runs. */
  async function resume() {
    const { jobs } = await get("/api/jobs");
    for (const kind of Object.keys(KINDS)) {
      const done = jobs.find((each) => each.kind === kind && each.status === "done");
      if (done) show(done);
      for (const each of jobs) if (each.kind === kind && each.status === "running") watch(each);
    }
  }

  async function watch(job) {
    const panel = createProgress(`${KINDS[job.kind]}: ${job.title}`);
    running.append(panel.element);
    try {
      const ended = await panel.watch(job, ({ done, total }) => `${done.toLocaleString()} of ${total.toLocaleString()} asked`);
      if (ended.status === "failed") throw new Error(ended.error.message);
      say(`${KINDS[job.kind]}: ${ended.status}.`);
      if (ended.status !== "done") return;
      show(ended);
      if (job.kind === "fit") fitted.focus();
    } catch (error) { complain(error); } finally { panel.element.remove(); }
  }

  function show({ kind, result }) {
    if (kind === "fit") return showFit(fitted, result, canChange());
    last = result;
    fill(measured, measuredTable(result), result.remarks.map((each) => el("p", { class: "muted small" }, each)));
    onMeasured();
  }

  return {
    element,
    /** Return how a question fared, `{budget, recall, missed}`; null if it wasn't asked, or was changed since. */
    of({ number, version }) {
      const found = last?.questions.find((each) => each.number === number && each.version === version);
      return found ? { ...found, budget: last.shown } : null;
    },
  };
}

/** Make the table: a row for each size of the context, with the mean of each metric and its interval. */
function measuredTable({ count: asked, left_out: leftOut, budgets, rows, wrong_section: wrong }) {
  const head = (text, scope = "col") => el("th", { scope }, text);
  const capital = (text) => `${text[0].toUpperCase()}${text.slice(1)}`;
  const left = leftOut ? `, ${leftOut.toLocaleString()} without gold in the index left out` : "";
  return [el("div", { class: "wide", role: "region", tabIndex: 0, aria: { label: "Means" } }, el("table", {},
    el("caption", {}, `${count(asked, "question")}${left}. Means with 95 % intervals.`),
    el("thead", {}, el("tr", {}, head("Characters"), rows.map(({ name }) => head(capital(name))))),
    el("tbody", {}, budgets.map((budget, i) => el("tr", {}, head(budget.toLocaleString(), "row"),
      rows.map(({ means }) => el("td", { class: "number" }, interval(means[i]))))))),
  ), wrong ? el("p", {}, `The first window is from a wrong section in ${interval(wrong)}.`) : null];
}

/** Show what a fitted ranking gains, and a button to use it. */
function showFit(element, { ranking, gain, groups, count: asked, left_out: leftOut, ...more }, canUse) {
  const { without_gold: without, is_recommended: gains } = more;
  element.hidden = false;
  fill(element, el("h2", {}, "The fitted ranking"),
    el("p", { class: gains ? "better" : "" }, gains ? "Recommended: its whole interval is above 0."
      : "Not recommended: it may gain nothing, so the ranking stays as it was. More questions may help."),
    el("p", {}, "Mean recall: ", el("b", { class: "number" }, points(gain)),
      " points, each question measured with weights that were fitted without it",
      groups === "documents" ? ", nor the other questions of its document." : "."),
    el("p", { class: "muted small" }, count(asked, "question"), leftOut ? `, ${leftOut} left out` : "",
      without ? `; of ${without.toLocaleString()} the search finds no gold at all, which no ranking can change` : "", "."),
    gains && canUse ? el("div", { class: "row" }, button("Use as default…", () => keep({ ranking }), "main")) : null);
}
