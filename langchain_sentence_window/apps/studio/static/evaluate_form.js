// What to measure: budgets, settings, and the values of a sweep.

import { get } from "./api.js";
import { el } from "./dom.js";
import { readBudgets, readValues } from "./evaluate_values.js";
import { createSettingsForm } from "./settings_form.js";

/** The settings that the form offers to sweep, with values to begin with. */
const SWEPT = [
  ["window", "Window", "auto, 1, (0, 2)", "auto, sentences on each side, or pairs (before, after)"],
  ["k", "k", "", "windows that are returned; few may not fill the budgets"],
  ["lexical_weight", "Weight of words", "", "how much words count beside meaning; 0 ignores them"],
];

/**
 * Make the form.
 *
 * @param {(kind: "evaluate"|"sweep"|"fit", given: Object) => Promise<void>} onStart Called with what the server wants.
 */
export function createMeasureForm(onStart) {
  const budgets = el("input", { value: "400, 800, 1600, 3200", spellcheck: false });
  const name = el("input", { placeholder: "Named by its settings", maxLength: 200 });
  const lost = el("input", { type: "checkbox", checked: true });
  const lostLabel = el("span", {}, "Leave out questions whose gold isn't in the index");
  const settings = el("details", { hidden: true }, el("summary", {}, "Settings of the retriever"));
  const fields = new Map(SWEPT.map(([field, , value]) => [field, el("input", { value, spellcheck: false, on: { input: count } })]));
  const combinations = el("p", { class: "muted small", role: "status" });
  const problem = el("p", { class: "error", role: "alert" });
  const runSweep = el("button", { type: "button", on: { click: () => start("sweep") } }, "Run the sweep");
  const sweep = el("details", {}, el("summary", {}, "Sweep: try several settings"),
    el("div", { class: "sweep" }, SWEPT.map(([field, title, , help]) => el("label", { class: "wide" }, title, fields.get(field), el("span", { class: "muted small" }, help)))),
    el("div", { class: "row" }, runSweep, combinations));
  // Not a form, as it holds the one of the settings.
  const element = el("section", { class: "measure-form card", aria: { label: "What to measure" } },
    el("div", { class: "row fields" }, el("label", { class: "grow" }, "Sizes of the context, in characters", budgets), el("label", { class: "grow" }, "Name of the run", name)),
    el("label", { class: "row" }, lost, lostLabel), settings, sweep, problem,
    el("div", { class: "row" }, el("button", { type: "button", class: "main", on: { click: () => start("evaluate") } }, "Evaluate"), el("button", { type: "button", on: { click: () => start("fit") } }, "Fit the ranking")));
  let form = null;
  offerSettings();
  count();

  async function offerSettings() {
    try {
      form = createSettingsForm({ description: await get("/api/settings"), onChange() {} });
    } catch {
      return; // without the form, the retriever's own settings are measured
    }
    settings.append(el("p", { class: "muted small" }, "Unless you change the number of windows, a run asks for at least 40, so that the sizes are filled."), form.element);
    settings.hidden = false;
  }

  function valuesOf() {
    return Object.fromEntries([...fields].map(([field, input]) => [field, readValues(input.value)]).filter(([, values]) => values.length));
  }

  function count() {
    try {
      const lengths = Object.values(valuesOf()).map((values) => values.length);
      const number = lengths.length ? lengths.reduce((a, b) => a * b, 1) : 0;
      combinations.textContent = number ? `${number.toLocaleString()} combination${number === 1 ? "" : "s"}, and the settings as they are` : "Write at least one value";
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
      const given = { budgets: readBudgets(budgets.value), leave_out_lost: lost.checked };
      if (kind !== "fit") given.settings = form?.value() ?? {};
      if (kind === "evaluate") given.name = name.value;
      if (kind === "sweep") given.values = valuesOf();
      await onStart(kind, given);
    } catch (error) {
      problem.textContent = error.message;
    }
  }

  return {
    element,
    /** Say how many questions have no gold in the index. */
    tell(number) { lostLabel.textContent = `Leave out questions whose gold isn't in the index${number ? ` (${number.toLocaleString()})` : ""}`; },
  };
}
