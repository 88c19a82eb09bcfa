// The results of Evaluate: what the questions find as the index is asked now.

import { get, post } from "./api.js";
import { el, fill } from "./dom.js";
import { createProgress } from "./jobs.js";
import { button, complain, say } from "./widgets.js";
import { count, interval } from "./words.js";

const KIND = "evaluate";

/**
 * Make the panel of results.
 *
 * @param {Object} handlers
 * @param {() => void} handlers.onMeasured Called when there is another measurement.
 */
export function createResults({ onMeasured }) {
  const running = el("div", { class: "stack" });
  const measured = el("section", { class: "stack", aria: { label: "What was found" } },
    el("p", { class: "muted" },
      "Nothing was measured yet. “Evaluate” asks all questions, and shows how much of their gold is found."));
  const evaluate = button("Evaluate", start, "main");
  const element = el("div", { class: "results stack" }, el("div", { class: "row" }, evaluate), running, measured);
  let last = null;
  const resumed = resume().catch(complain);

  async function start() {
    await resumed; // else a job that begins meanwhile would be watched twice
    post(`/api/${KIND}`).then(({ job }) => watch(job)).catch(complain);
  }

  /** Show what was measured before, and watch what runs. */
  async function resume() {
    const { jobs } = await get("/api/jobs");
    const mine = jobs.filter((each) => each.kind === KIND);
    const done = mine.find((each) => each.status === "done");
    if (done) show(done);
    for (const each of mine) if (each.status === "running") watch(each);
  }

  async function watch(job) {
    const panel = createProgress(`Evaluate: ${job.title}`);
    running.append(panel.element);
    try {
      const ended = await panel.watch(job, ({ done, total }) => `${done.toLocaleString()} of ${total.toLocaleString()} asked`);
      if (ended.status === "failed") throw new Error(ended.error.message);
      say(`Evaluate: ${ended.status}.`);
      if (ended.status === "done") show(ended);
    } catch (error) { complain(error); } finally { panel.element.remove(); }
  }

  function show({ result }) {
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
