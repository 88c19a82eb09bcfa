// The results of Evaluate: what to measure, what runs, the plot and the table of the runs, the fitted ranking.

import { get, post } from "./api.js";
import { el, fill } from "./dom.js";
import { createProgress } from "./jobs.js";
import { MAX_LINES, createPlot } from "./plot.js";
import { createSettingsForm, readDescription, readValues } from "./settings_form.js";
import { keep } from "./trial.js";
import { button, complain, say } from "./widgets.js";
import { count, interval, percent, points } from "./words.js";

const KINDS = { evaluate: "Evaluate", sweep: "Sweep", fit: "Fit the ranking" };

/** The settings that the form offers to sweep, with values to begin with. */
const SWEPT = [
  ["window", "Window", "auto, 1, (0, 2)", "auto, sentences on each side, or pairs (before, after)"],
  ["k", "k", "", "windows that are returned; few may not fill the budgets"],
  ["lexical_weight", "Weight of words", "", "how much words count beside meaning; 0 ignores them"],
];

/**
 * Make the panel of results.
 *
 * @param {Object} handlers
 * @param {() => boolean} handlers.canChange Whether the page may change anything.
 * @param {(recalls: Map) => void} handlers.onScores Called with the recall of each question in the run whose questions are listed.
 */
export function createResults({ canChange, onScores }) {
  const jobs = createJobList(finished);
  const form = createMeasureForm(async (kind, given) => { jobs.watch((await post(`/api/${kind}`, given)).job); });
  const plot = createPlot({ xLabel: "characters of context", yLabel: "recall of the gold" });
  const table = el("div", { class: "run-table" });
  const fitted = el("section", { class: "fit-panel", hidden: true, tabIndex: -1, aria: { label: "The fitted ranking" } });
  const size = el("select", { on: { change: () => { budget = Number(size.value); show(); tell(); } } });
  const remarks = el("ul", { class: "plain muted small remarks" });
  const none = el("p", { class: "muted" }, "Nothing was measured yet. “Evaluate” asks all questions and shows how much of their gold was found.");
  const measured = el("section", { hidden: true, aria: { label: "Runs" } }, plot.element,
    el("div", { class: "row" }, el("label", { class: "row" }, "Compare at", size), el("span", { class: "muted grow" }, "characters"),
      button("Forget all runs", () => forget().catch(complain), "small")),
    table, remarks);
  const element = el("div", { class: "results" }, form.element, jobs.element, none, fitted, measured);
  let runs = [], budget = null, drawn = new Set(), base = null, active = null, rows = [], differences = new Map();

  const runOf = (number) => runs.find((each) => each.number === number);

  async function load() {
    ({ runs } = await get("/api/runs"));
    const sizes = [...new Set(runs.flatMap((run) => run.budgets))].sort((a, b) => a - b);
    if (!sizes.includes(budget)) budget = sizes.includes(1600) ? 1600 : sizes[Math.floor(sizes.length / 2)] ?? null;
    fill(size, sizes.map((each) => el("option", { value: each, selected: each === budget }, each.toLocaleString())));
    drawn = new Set([...drawn].filter(runOf));
    measured.hidden = !runs.length;
    none.hidden = Boolean(runs.length);
  }

  async function finished(job) {
    if (job.kind === "fit") {
      showFit(fitted, job.result, canChange());
      fitted.focus();
      return;
    }
    await load().catch(complain);
    const fresh = job.result.runs;
    const previous = fresh.length === 1 && active !== null && runOf(active) ? active : null;
    drawn = new Set([...(previous === null ? [] : [previous]), ...fresh].slice(0, MAX_LINES));
    if (!runOf(fresh[0]).budgets.includes(budget)) budget = runOf(fresh[0]).budgets.at(-1);
    size.value = budget;
    await compare(previous ?? fresh[0]).catch(complain);
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
    const at = runOf(active)?.budgets.indexOf(budget) ?? -1;
    onScores(new Map(at < 0 ? [] : rows.map((each) => [each.number, { recall: each.recall[at], isStale: each.is_stale }])));
  }

  function show() {
    const lines = runs.filter(({ number }) => drawn.has(number)).reverse();
    plot.show(lines.map((run) => ({ name: run.name, points: run.averages.map(({ budget: x, recall }) => ({ x, ...recall })) })));
    const best = bestRun();
    const found = runs.filter((run) => run.budgets.includes(budget));
    fill(table, found.length ? el("table", {},
      el("caption", {}, `At ${budget.toLocaleString()} characters, in %, with 95 % intervals`),
      el("thead", {}, el("tr", {}, ["Draw", "Run", "Recall", "Recall, difference in points", "Precision", "Wholly found", "Wrong section first"]
        .map((each) => el("th", { scope: "col" }, each)))),
      el("tbody", {}, found.map((run) => row(run, best)))) : null);
    fill(remarks, [...new Set(lines.flatMap((run) => run.remarks))].map((each) => el("li", {}, each)),
      differences.size && best === null ? el("li", {}, `No run is clearly better than “${runOf(base).name}” at this size.`) : null,
      differences.size > 3 ? el("li", {}, "Of many settings one may look better by chance: measure the best again on other questions.") : null);
  }

  function row(run, best) {
    const means = run.averages.find((each) => each.budget === budget);
    const difference = differenceOf(run);
    const draw = el("input", { type: "checkbox", checked: drawn.has(run.number), aria: { label: `Draw run ${run.number}, ${run.name}` }, on: { change: () => {
      if (draw.checked) drawn.add(run.number);
      else drawn.delete(run.number);
      show();
    } } });
    return el("tr", { class: run.number === active ? "active" : "" },
      el("td", {}, draw),
      el("th", { scope: "row" }, el("span", { class: "run-name" }, run.name), run.number === best ? el("span", { class: "badge good" }, "best") : null,
        el("span", { class: "muted small run-count" }, `run ${run.number}, ${run.count.toLocaleString()} questions`, run.left_out ? `, ${run.left_out} left out` : ""),
        el("span", { class: "row run-buttons" },
          button("Questions", () => activate(run.number).catch(complain), "small", { aria: { pressed: String(run.number === active), label: `List the questions of run ${run.number}` } }),
          run.number === base ? null : button("Compare", () => compare(run.number).catch(complain), "small", { aria: { label: `Compare with run ${run.number}` } }))),
      el("td", { class: "number" }, interval(means.recall)),
      el("td", { class: "number" }, run.number === base ? el("span", { class: "muted" }, "compared with this") : difference ? [points(difference), el("br"), verdict(difference)] : "–"),
      el("td", { class: "number" }, percent(means.precision.mean)),
      el("td", { class: "number" }, percent(means.full_coverage.mean)),
      el("td", { class: "number" }, run.wrong_section ? percent(run.wrong_section.mean) : "–"));
  }

  function differenceOf({ number }) {
    const found = differences.get(number);
    return found?.recall[found.budgets.indexOf(budget)] ?? null;
  }

  /** The run with the highest recall among those that are clearly better than the one compared with; null for none. */
  function bestRun() {
    const better = runs.filter((run) => differenceOf(run)?.low > 0).sort((a, b) => differenceOf(b).mean - differenceOf(a).mean);
    return better[0]?.number ?? null;
  }

  async function forget() {
    await post("/api/runs/forget", { runs: runs.map(({ number }) => number) });
    [base, differences] = [null, new Map()];
    await load();
    await activate(null);
  }

  return {
    element, tellLost: form.tell,
    /** Show what was measured before, and watch what runs. */
    async resume() {
      await load();
      const last = await jobs.resume();
      if (last) showFit(fitted, last.result, canChange());
      if (!runs.length) return;
      const newest = runs.filter(({ group }) => group === runs[0].group).reverse();
      drawn = new Set(newest.slice(0, MAX_LINES).map(({ number }) => number));
      await compare(newest[0].number);
      await activate(newest[0].number);
    },
    /** The run whose questions are listed, if it asked a question, and the size of the context; null for none. */
    active(question) {
      const asked = rows.find(({ number }) => number === question);
      return runOf(active) && asked ? { run: runOf(active), budget, isStale: asked.is_stale } : null;
    },
    /** Score the questions again, after some were changed. */
    async rescore() { if (active !== null) await activate(active); },
  };
}

function verdict({ low, high }) {
  if (low > 0) return el("span", { class: "better" }, "better");
  if (high < 0) return el("span", { class: "worse" }, "worse");
  return el("span", { class: "muted" }, low === 0 && high === 0 ? "the same" : "no clear difference");
}

/** Make the list of what runs: how far it is, and a button that stops it. `onDone` is called with each job that is done. */
function createJobList(onDone) {
  const element = el("div", { class: "running" });
  const known = new Set();

  async function watch(job) {
    if (known.has(job.number)) return;
    known.add(job.number);
    const panel = createProgress(`${KINDS[job.kind]}: ${job.title}`);
    element.append(panel.element);
    try {
      const ended = await panel.watch(job, ({ done, total }) => (done < total ? `${done.toLocaleString()} of ${total.toLocaleString()} questions asked`
        : job.kind === "fit" ? "the weights are fitted" : "the means are computed"));
      if (ended.status === "failed") throw new Error(ended.error.message);
      say(ended.status === "stopped" ? `${KINDS[job.kind]} was stopped.` : `${KINDS[job.kind]}: done.`);
      if (ended.status === "done") onDone(ended);
    } catch (error) { complain(error); } finally { panel.element.remove(); }
  }

  return {
    element, watch,
    /** Watch what runs already, and return the last fit that is done; null for none. */
    async resume() {
      const { jobs } = await get("/api/jobs");
      const mine = jobs.filter(({ kind }) => Object.hasOwn(KINDS, kind));
      for (const job of mine) if (job.status === "running") watch(job);
      return mine.find(({ kind, status }) => kind === "fit" && status === "done") ?? null;
    },
  };
}

/**
 * Make the form of what to measure: budgets, settings, and the values of a sweep.
 *
 * @param {(kind: "evaluate"|"sweep"|"fit", given: Object) => Promise<void>} onStart Called with what the server wants.
 */
function createMeasureForm(onStart) {
  const budgets = el("input", { value: "400, 800, 1600, 3200", spellcheck: false });
  const name = el("input", { placeholder: "Named by its settings", maxLength: 200 });
  const lost = el("input", { type: "checkbox", checked: true });
  const lostLabel = el("span", {}, "Leave out questions whose gold isn't in the index");
  const settings = el("details", { hidden: true }, el("summary", {}, "Settings of the retriever"),
    el("p", { class: "muted small" }, "Unless you change the number of windows, a run asks for at least 40, so that the sizes are filled."));
  const fields = new Map(SWEPT.map(([field, , value]) => [field, el("input", { value, spellcheck: false, on: { input: show } })]));
  const combinations = el("p", { class: "muted small", role: "status" });
  const problem = el("p", { class: "error", role: "alert" });
  const runSweep = button("Run the sweep", () => start("sweep"));
  const sweep = el("details", {}, el("summary", {}, "Sweep: try several settings"),
    el("div", { class: "sweep" }, SWEPT.map(([field, title, , help]) => el("label", { class: "wide" }, title, fields.get(field), el("span", { class: "muted small" }, help)))),
    el("div", { class: "row" }, runSweep, combinations));
  // Not a form, as it holds the one of the settings.
  const element = el("section", { class: "measure-form card", aria: { label: "What to measure" } },
    el("div", { class: "row fields" }, el("label", { class: "grow" }, "Sizes of the context, in characters", budgets), el("label", { class: "grow" }, "Name of the run", name)),
    el("label", { class: "row" }, lost, lostLabel), settings, sweep, problem,
    el("div", { class: "row" }, button("Evaluate", () => start("evaluate"), "main"), button(KINDS.fit, () => start("fit"))));
  let form = null;
  load();
  window.addEventListener("default-settings", load);
  show();

  async function load() {
    let description;
    try { description = await readDescription(); } catch { return; } // without the form, the retriever's own settings are measured
    form?.element.remove();
    form = createSettingsForm({ description });
    settings.append(form.element);
    settings.hidden = false;
  }

  function valuesOf() {
    return Object.fromEntries([...fields].map(([field, input]) => [field, readValues(input.value)]).filter(([, values]) => values.length));
  }

  function show() {
    try {
      const lengths = Object.values(valuesOf()).map((values) => values.length);
      const number = lengths.length ? lengths.reduce((a, b) => a * b, 1) : 0;
      combinations.textContent = number ? `${count(number, "combination")}, and the settings as they are` : "Write at least one value";
      runSweep.disabled = !number;
    } catch (error) {
      combinations.textContent = error.message;
      runSweep.disabled = true;
    }
  }

  async function start(kind) {
    problem.textContent = "";
    try {
      if (form && !form.isValid()) throw new Error("Correct the settings of the retriever first.");
      const wanted = { budgets: readBudgets(budgets.value), leave_out_lost: lost.checked };
      if (kind !== "fit") wanted.settings = form?.value() ?? {};
      if (kind === "evaluate") wanted.name = name.value;
      if (kind === "sweep") wanted.values = valuesOf();
      await onStart(kind, wanted);
    } catch (error) { problem.textContent = error.message; }
  }

  return {
    element,
    /** Say how many questions have no gold in the index. */
    tell(number) { lostLabel.textContent = `Leave out questions whose gold isn't in the index${number ? ` (${number.toLocaleString()})` : ""}`; },
  };
}

function readBudgets(text) {
  const found = readValues(text);
  if (!found.length || found.some((each) => !Number.isInteger(each) || each < 1)) throw new Error("Write budgets as whole numbers of characters, such as 400, 800, 1600");
  return found;
}

/** Show what a fitted ranking gains, and a button to use it. */
function showFit(element, { ranking, gain, groups, count: asked, left_out: leftOut, without_gold: without, is_recommended: gains }, canUse) {
  element.hidden = false;
  fill(element, el("h2", {}, "The fitted ranking"),
    el("p", { class: gains ? "better" : "" }, gains ? "Recommended: its whole interval is above 0."
      : "Not recommended: it may gain nothing, so the ranking stays as it was. More questions may help."),
    el("p", {}, "Mean recall: ", el("b", { class: "number" }, points(gain)), " points, each question measured with weights that were fitted without it",
      groups === "documents" ? ", nor the other questions of its document." : "."),
    el("p", { class: "muted small" }, count(asked, "question"), leftOut ? `, ${leftOut} left out` : "",
      without ? `; of ${without.toLocaleString()} the search finds no gold at all, which no ranking can change` : "", "."),
    gains && canUse ? el("div", { class: "row" }, button("Use as default…", () => keep({ ranking }), "main")) : null);
}
