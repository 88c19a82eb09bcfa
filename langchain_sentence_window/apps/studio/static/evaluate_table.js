// The runs as a table: what each found, and how it differs from one of them.

import { el, fill } from "./dom.js";
import { interval, percent, points } from "./plot.js";

/**
 * Make the table.
 *
 * @param {Object} handlers
 * @param {(numbers: number[]) => void} handlers.onDrawn Called when other runs are to be drawn.
 * @param {(number: number) => void} handlers.onBase Called when all are to be compared with another run.
 * @param {(number: number) => void} handlers.onActive Called when the questions of another run are to be listed.
 */
export function createRunTable({ onDrawn, onBase, onActive }) {
  const element = el("div", { class: "run-table" });
  return {
    element,
    /**
     * Show runs.
     *
     * @param {Object} given
     * @param {Object[]} given.runs As `/api/runs` returns them.
     * @param {number} given.budget
     * @param {Set<number>} given.drawn The runs that are drawn.
     * @param {number|null} given.base The run that the others are compared with.
     * @param {number|null} given.active The run whose questions are listed.
     * @param {Map<number, Object>} given.differences By run.
     */
    show({ runs, budget, drawn, base, active, differences }) {
      const found = runs.filter((run) => run.budgets.includes(budget));
      const best = bestOf(found, differences, budget);
      const rows = found.map((run) => {
        const means = run.averages.find((each) => each.budget === budget);
        const difference = differenceOf(differences.get(run.number), budget);
        return el("tr", { class: run.number === active ? "active" : "" },
          el("td", {}, el("input", { type: "checkbox", checked: drawn.has(run.number), aria: { label: `Draw run ${run.number}, ${run.name}` }, on: { change: (event) => {
            if (event.target.checked) drawn.add(run.number);
            else drawn.delete(run.number);
            onDrawn([...drawn]);
          } } })),
          el("th", { scope: "row" }, el("span", { class: "run-name" }, run.name), run.number === best ? el("span", { class: "badge good" }, "best") : null,
            el("span", { class: "muted small run-count" }, `run ${run.number}, ${run.count.toLocaleString()} questions`, run.left_out ? `, ${run.left_out} left out` : ""),
            el("span", { class: "row run-buttons" },
              el("button", { type: "button", class: "small", aria: { pressed: String(run.number === active), label: `List the questions of run ${run.number}` }, on: { click: () => onActive(run.number) } }, "Questions"),
              run.number === base ? null : el("button", { type: "button", class: "small", aria: { label: `Compare with run ${run.number}` }, on: { click: () => onBase(run.number) } }, "Compare"))),
          el("td", { class: "number" }, interval(means.recall)),
          el("td", { class: "number" }, run.number === base ? el("span", { class: "muted" }, "compared with this") : difference ? [points(difference), el("br"), verdict(difference)] : "–"),
          el("td", { class: "number" }, percent(means.precision.mean)),
          el("td", { class: "number" }, percent(means.full_coverage.mean)),
          el("td", { class: "number" }, run.wrong_section ? percent(run.wrong_section.mean) : "–"));
      });
      fill(element, rows.length ? el("table", {},
        el("caption", {}, `At ${budget.toLocaleString()} characters, in %, with 95 % intervals`),
        el("thead", {}, el("tr", {}, ["Draw", "Run", "Recall", "Recall, difference in points", "Precision", "Wholly found", "Wrong section first"]
          .map((each) => el("th", { scope: "col" }, each)))),
        el("tbody", {}, rows)) : null);
    },
  };
}

/** The run with the highest recall among those that are clearly better than the one compared with; null for none. */
export function bestOf(runs, differences, budget) {
  const better = runs.map((run) => ({ number: run.number, difference: differenceOf(differences.get(run.number), budget) }))
    .filter(({ difference }) => difference && difference.low > 0)
    .sort((a, b) => b.difference.mean - a.difference.mean);
  return better[0]?.number ?? null;
}

function differenceOf(found, budget) {
  return found?.recall[found.budgets.indexOf(budget)] ?? null;
}

function verdict({ low, high }) {
  if (low > 0) return el("span", { class: "better" }, "better");
  if (high < 0) return el("span", { class: "worse" }, "worse");
  return el("span", { class: "muted" }, low === 0 && high === 0 ? "the same" : "no clear difference");
}
