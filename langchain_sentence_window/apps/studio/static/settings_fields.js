// The controls of single settings. Each reads its value, or throws an error that says what is wrong, and writes one.

import { el } from "./dom.js";
import { filterControl } from "./settings_filter.js";
import { choiceInput, marking, numberInput, parsed } from "./settings_inputs.js";
import { rankingControl } from "./settings_ranking.js";

const CONTROLS = {
  count: numberControl, number: numberControl, choice: choiceControl, window: windowControl, names: namesControl,
  ranking: rankingControl, filter: filterControl,
};

/**
 * Make the control of a setting.
 *
 * @param {Object} field One of the fields that `GET /api/settings` returns.
 * @param {Object} description All that it returns.
 * @param {{id: string, describedBy: string, onSet: () => void}} options `onSet` is called after a change that makes no
 *   input event.
 * @returns {{elements: Node[], isGroup: boolean, read: () => any, write: (value: any) => void, mark: (isWrong: boolean) => void}}
 */
export function settingControl(field, description, options) {
  return CONTROLS[field.kind](field, options, description);
}

function numberControl(field, { id, describedBy }) {
  const { input, read } = numberInput({ id, describedBy, field, isWhole: field.kind === "count" });
  return { elements: [input], isGroup: false, read, write(value) { input.value = value ?? ""; }, mark: marking(input) };
}

function choiceControl(field, { id, describedBy }) {
  const texts = field.choices.map((each) => [JSON.stringify(each), each ?? "none"]);
  const select = choiceInput({ id, describedBy, choices: texts });
  return {
    elements: [select], isGroup: false, read: () => JSON.parse(select.value),
    write(value) { select.value = JSON.stringify(value); }, mark: marking(select),
  };
}

const MODES = [["auto", "auto"], ["sides", "each side"], ["pair", "two sides"], ["kinds", "by kind"]];

function windowControl(field, { id, describedBy }) {
  const mode = choiceInput({ id, describedBy, label: "Kind of window", choices: MODES });
  const numbers = ["Sentences before", "Sentences after"].map((label, i) =>
    numberInput({ id: `${id}-${i}`, describedBy, label, field, isWhole: true }));
  const kinds = el("input", {
    id: `${id}-kinds`, type: "text", spellcheck: false,
    aria: { label: "Windows by a value of the metadata, as JSON", describedby: describedBy },
  });
  const [before, after] = numbers.map((each) => each.input);
  const row = el("div", { class: "setting-row" }, mode, before, after, kinds);
  mode.addEventListener("change", show);

  /** Show the inputs of the mode. It hears of a change before the form does. */
  function show() {
    before.hidden = !["sides", "pair"].includes(mode.value);
    after.hidden = mode.value !== "pair";
    kinds.hidden = mode.value !== "kinds";
    before.setAttribute("aria-label", mode.value === "pair" ? "Sentences before" : "Sentences on each side");
    for (const each of [before, after]) each.title = each.getAttribute("aria-label");
    for (const each of [before, after]) if (!each.value) each.value = 2;
    if (!kinds.value) kinds.value = '{"legal": [1, 3]}';
  }

  function read() {
    if (mode.value === "auto") return "auto";
    if (mode.value === "sides") return numbers[0].read();
    if (mode.value === "pair") return numbers.map((each) => each.read());
    const found = parsed(kinds.value);
    if (!Object.keys(found).length) throw new Error('Write a window for a value, such as {"legal": 2}.');
    return found;
  }

  function write(value) {
    if (typeof value === "number") [mode.value, before.value] = ["sides", value];
    else if (Array.isArray(value)) [mode.value, before.value, after.value] = ["pair", ...value];
    else if (value && typeof value === "object") [mode.value, kinds.value] = ["kinds", JSON.stringify(value)];
    else mode.value = "auto";
    show();
  }
  return { elements: [row], isGroup: true, read, write, mark: marking(before, after, kinds) };
}

function namesControl(field, { id, describedBy }) {
  const mode = choiceInput({ id, describedBy, label: "Names", choices: [["true", "hear names"], ["false", "don't"], ["keys", "and of keys"]] });
  const keys = el("input", {
    id: `${id}-keys`, type: "text", spellcheck: false, placeholder: "customer, vendor",
    aria: { label: "Keys of metadata that hold names", describedby: describedBy },
  });
  mode.addEventListener("change", show);

  function show() {
    keys.hidden = mode.value !== "keys";
  }

  function read() {
    if (mode.value !== "keys") return mode.value === "true";
    const found = keys.value.split(",").map((each) => each.trim()).filter(Boolean);
    if (!found.length) throw new Error("Write keys of metadata, such as customer.");
    return found;
  }

  function write(value) {
    mode.value = Array.isArray(value) ? "keys" : String(value);
    if (Array.isArray(value)) keys.value = value.join(", ");
    show();
  }
  return { elements: [el("div", { class: "setting-row" }, mode, keys)], isGroup: true, read, write, mark: marking(keys) };
}
