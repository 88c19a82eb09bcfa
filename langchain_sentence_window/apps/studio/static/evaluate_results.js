// Results: what to measure, what runs, the plot and the table of the runs, the fitted ranking.

import { get, post } from "./api.js";
import { el, fill } from "./dom.js";
import { createFitPanel } from "./evaluate_fit.js";
import { createMeasureForm } from "./evaluate_form.js";
import { createJobList } from "./evaluate_jobs.js";
import { bestOf, createRunTable } from "./evaluate_table.js";
import { complain } from "./messages.js";
import { MAX_LINES, createPlot } from "./plot.js";

const CALLS = { evaluate: "/api/evaluate", sweep: "/api/sweep", fit: "/api/fit" };

/**
 * Make the panel of results.
 *
 * @param {Object} handlers
 * @param {() => boolean} handlers.canChange Whether the page may change anything.
 * @param {(run: Object|null, budget: number, recalls: Map) => void} handlers.onScores Called with the run whose questions
 *   are listed, and the recall of each.
 */
export function createResults({ canChange, onScores }) {
  const jobs = createJobList(finished);
  const form = createMeasureForm(async (kind, given) => { jobs.watch((await post(CALLS[kind], given)).job); });
  const plot = createPlot({ xLabel: "characters of context", yLabel: "recall of the gold" });
  const table = createRunTable({ onDrawn: show, onBase: (number) => compare(number).catch(complain), onActive: (number) => activate(number).catch(complain) });
  const fit = createFitPanel(canChange);
  const size = el("select", { on: { change: () => { budget = Number(size.value); show(); tell(); } } });
  const remarks = el("ul", { class: "plain muted small remarks" });
  const none = el("p", { class: "muted" }, "Nothing was measured yet. “Evaluate” asks all questions and shows how much of their gold was found.");
  const measured = el("section", { hidden: true, aria: { label: "Runs" } }, plot.element,
    el("div", { class: "row" }, el("label", { class: "row" }, "Compare at", size), el("span", { class: "muted" }, "characters"),
      el("span", { class: "grow" }), el("button", { type: "button", class: "small", on: { click: () => forget().catch(complain) } }, "Forget all runs")),
    table.element, remarks);
  const element = el("div", { class: "results" }, form.element, jobs.element, none, fit.element, measured);
  let runs = [];
  let budget = null;
  let drawn = new Set();
  let base = null;
  let active = null;
  let rows = [];
  let differences = new Map();

  async function load() {
    ({ runs } = await get("/api/runs"));
    const sizes = [...new Set(runs.flatMap((run) => run.budgets))].sort((a, b) => a - b);
    if (!sizes.includes(budget)) budget = sizes.includes(1600) ? 1600 : sizes[Math.floor(sizes.length / 2)] ?? null;
    fill(size, sizes.map((each) => el("option", { value: each, selected: each === budget }, each.toLocaleString())));
    drawn = new Set(runs.map(({ number }) => number).filter((number) => drawn.has(number)));
    measured.hidden = !runs.length;
    none.hidden = Boolean(runs.length);
  }

  async function finished(job) {
    if (job.kind === "fit") {
      fit.show(job.result);
      fit.element.focus();
      return;
    }
    await load().catch(complain);
    const fresh = job.result.runs;
    const previous = active !== null && runs.some(({ number }) => number === active) ? active : null;
    drawn = new Set([...(fresh.length === 1 && previous !== null ? [previous] : []), ...fresh].slice(0, MAX_LINES));
    if (!runs.find(({ number }) => number === fresh[0]).budgets.includes(budget)) budget = runs.find(({ number }) => number === fresh[0]).budgets.at(-1);
    size.value = budget;
    await compare(fresh.length === 1 && previous !== null ? previous : fresh[0]).catch(complain);
    await activate(fresh[0]).catch(complain);
  }

  async function compare(number) {
    base = number;
    const others = runs.filter((run) => run.number !== base).slice(0, 60).map((run) => run.number);
    const found = others.length ? (await post("/api/runs/compare", { one: base, others })).differences : [];
    differences = new Map(found.map((each) => [each.one, each]));
    show();
  }

  async function activate(number) {
    active = number;
    rows = number === null ? [] : (await get("/api/runs/questions", { run: number })).questions;
    show();
    tell();
  }

  function tell() {
    const run = runs.find(({ number }) => number === active) ?? null;
    const at = run?.budgets.indexOf(budget) ?? -1;
    onScores(run, budget, new Map(at < 0 ? [] : rows.map((each) => [each.number, { recall: each.recall[at], isStale: each.is_stale }])));
  }

  function show() {
    const lines = runs.filter(({ number }) => drawn.has(number)).reverse();
    plot.show(lines.map((run) => ({ name: run.name, points: run.averages.map(({ budget: x, recall }) => ({ x, ...recall })) })));
    table.show({ runs, budget, drawn, base, active, differences });
    const named = runs.find(({ number }) => number === base);
    const better = bestOf(runs, differences, budget);
    fill(remarks, [...new Set(runs.filter(({ number }) => drawn.has(number)).flatMap((run) => run.remarks))].map((each) => el("li", {}, each)),
      differences.size && better === null ? el("li", {}, `No run is clearly better than “${named.name}” at this size.`) : null,
      differences.size > 3 ? el("li", {}, "Of many settings one may look better by chance: measure the best again on other questions.") : null);
  }

  async function forget() {
    await post("/api/runs/forget", { runs: runs.map(({ number }) => number) });
    [base, differences] = [null, new Map()];
    await load();
    await activate(null);
  }

  return {
    element,
    tellLost: form.tell,
    /** Show what was measured before, and watch what runs. */
    async resume() {
      await load();
      const last = await jobs.resume();
      if (last) fit.show(last.result);
      if (!runs.length) return;
      const newest = runs.filter(({ group }) => group === runs[0].group).reverse();
      drawn = new Set(newest.slice(0, MAX_LINES).map(({ number }) => number));
      await compare(newest[0].number);
      await activate(newest[0].number);
    },
    /** The run whose questions are listed, if it asked a question, and the size of the context; null for none. */
    active(question) {
      const run = runs.find(({ number }) => number === active);
      const row = rows.find(({ number }) => number === question);
      return run && row ? { run, budget, isStale: row.is_stale } : null;
    },
    /** Score the questions again, after some were changed. */
    async rescore() { if (active !== null) await activate(active); },
  };
}
