// The control of `ranking`: the default weights, weights of one's own, or the order of the search.

import { el } from "./dom.js";
import { choiceInput, marking } from "./settings_inputs.js";

const MODES = [["default", "default weights"], ["none", "order of the search"], ["weights", "own weights"]];

/** Make the control; see settings_fields.js. */
export function rankingControl(field, { id, describedBy }, description) {
  const mode = choiceInput({ id, describedBy, label: "Ranking", choices: MODES });
  const inputs = new Map(description.signals.map((signal) => [signal.name, weightInput(signal)]));
  const usual = description.signals.filter((each) => each.weight);
  const others = description.signals.filter((each) => !each.weight);
  const weights = el("div", { class: "weights" },
    usual.map(row), el("details", {}, el("summary", { class: "small" }, "Other signals"), others.map(row)));
  mode.addEventListener("change", show);

  function weightInput(signal) {
    return el("input", {
      id: `${id}-${signal.name}`, type: "number", step: "any", title: signal.meaning,
      aria: { describedby: `${id}-${signal.name}-meaning` },
    });
  }

  function row(signal) {
    return el("div", { class: "weight" }, el("label", { htmlFor: `${id}-${signal.name}`, class: "row small" }, el("code", {}, signal.name)),
      inputs.get(signal.name), el("span", { class: "muted small", id: `${id}-${signal.name}-meaning` }, signal.meaning));
  }

  function show() {
    weights.hidden = mode.value !== "weights";
  }

  function read() {
    if (mode.value !== "weights") return mode.value === "none" ? null : "default";
    const found = {};
    for (const [name, input] of inputs) {
      const number = Number(input.value);
      if (input.validity.badInput || Math.abs(number) > field.max) throw new Error(`Write a number for ${name}.`);
      if (number) found[name] = number;
    }
    if (!Object.keys(found).length) throw new Error("Give at least one signal a weight.");
    return found;
  }

  function write(value) {
    mode.value = value === null ? "none" : typeof value === "object" ? "weights" : "default";
    for (const { name, weight } of description.signals) {
      inputs.get(name).value = typeof value === "object" && value !== null ? value[name] ?? 0 : weight;
    }
    show();
  }
  return { elements: [mode, weights], isGroup: true, read, write, mark: marking(...inputs.values()) };
}
