// The results of Evaluate: what the questions find as the index is asked now.

import { el, fill } from "./dom.js";
import { createProgress } from "./jobs.js";
import { button, complain, say } from "./widgets.js";
import { count, interval } from "./words.js";

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

  async function start() {
    const panel = createProgress("Evaluate");
    evaluate.disabled = true;
    running.append(panel.element);
    try {
      show(await panel.run("/api/evaluate", {}, ({ done, total }) => `${done.toLocaleString()} of ${total.toLocaleString()} asked`));
      say("The questions are measured.");
    } catch (error) { complain(error); } finally { panel.element.remove(); evaluate.disabled = false; }
  }

  function show(result) {
    last = result;
    fill(measured, measuredTable(result), result.remark ? el("p", { class: "muted small" }, result.remark) : null);
    onMeasured();
  }

  return {
    element,
    /** Return how a question fared, `{budget, recall, missed}`; null if it wasn't asked, or was changed since. */
    of({ id }) {
      const found = last?.questions.find((each) => each.id === id);
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
