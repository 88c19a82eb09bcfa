// The settings of a call as a form: compact, checked while typing, and back to the default with a click.

import { get } from "./api.js";
import { el, fill } from "./dom.js";
import { button, complain } from "./widgets.js";
import { brief, isEqual } from "./words.js";

const CONTROLS = {
  count: numberControl, number: numberControl, choice: choiceControl, window: windowControl, names: namesControl,
  ranking: rankingControl, filter: filterControl,
};
const JSON_ROWS = 8;

let forms = 0;
let known = null;

/** Return what `GET /api/settings` says. */
export function readDescription() {
  known ??= get("/api/settings").catch((error) => { known = null; throw error; });
  return known;
}

/** Ask anew what the settings are, as the index's default has changed. */
export function forgetDescription() {
  known = null;
}

/** Return what the form calls a setting. */
export function nameOfSetting(name, description) {
  return description?.fields.find((each) => each.name === name)?.label ?? name;
}

/** Return settings in words, with the names that the form has. */
export function inWords(settings, description) {
  return Object.entries(settings).map(([name, value]) => `${nameOfSetting(name, description)} = ${brief(written(value), 60)}`);
}

/**
 * Make the form.
 *
 * @param {Object} options
 * @param {(settings: Object) => void} options.onChange Called with `value()` when the user changes a setting. A value
 *   that can't be used is left out, and said beside its field.
 * @param {Object} options.description What `readDescription` returns.
 * @param {string} options.label What screen readers call the form.
 * @returns {{element: HTMLElement, value: () => Object, set: (settings: Object) => void}}
 *   `value()` holds only what differs from the retriever's own settings.
 */
export function createSettingsForm({ onChange, description, label }) {
  const prefix = `settings-${forms += 1}`;
  const fields = description.fields.map((field) => makeField(field, `${prefix}-${field.name}`));
  const help = el("p", { class: "settings-help muted small" }, "Point at a setting to read what it does.");
  const reset = button("Reset", onReset, "small");
  const grid = (isAdvanced) => el("div", { class: "settings-grid" },
    fields.filter((each) => each.field.is_advanced === isAdvanced).map((each) => each.element));
  const more = el("details", { class: "settings-more" }, el("summary", {}, "More settings"), grid(true));
  const element = el("form", { class: "settings", aria: { label }, on: {
    submit: (event) => event.preventDefault(), input: onInput, change: onInput, focusin: explain, pointerover: explain,
  } }, grid(false), more, el("div", { class: "settings-foot" }, help, reset));
  let last = "{}";
  set({});

  function makeField(field, id) {
    const error = el("p", { class: "error small", id: `${id}-error`, hidden: true });
    const described = el("span", { class: "visually-hidden", id: `${id}-help` }, field.help);
    const mark = el("span", { class: "settings-mark", hidden: true, title: "Changed" }, "●", el("span", { class: "visually-hidden" }, " changed"));
    const control = CONTROLS[field.kind](field, { id, describedBy: `${id}-help ${id}-error`, onSet: () => onInput() }, description);
    const isGroup = control.elements.length > 1;
    const name = isGroup ? el("span", { class: "settings-label", id: `label-of-${id}` }, field.label)
      : el("label", { class: "settings-label", htmlFor: id }, field.label);
    const whole = el("div", {
      class: `setting setting-${field.kind}`, data: { name: field.name },
      ...(isGroup ? { role: "group", aria: { labelledby: `label-of-${id}` } } : {}),
    }, el("div", { class: "settings-head" }, name, mark), control.elements, described, error);
    return { field, control, error, mark, element: whole };
  }

  /** Read a field: its value, or what is wrong with it. */
  function read({ field, control, error, mark }) {
    let value, problem = "";
    try { value = control.read(); } catch (wrong) { problem = wrong.message; }
    fill(error, problem);
    error.hidden = !problem;
    if (problem) control.input.setAttribute("aria-invalid", "true");
    else control.input.removeAttribute("aria-invalid");
    const isChanged = Boolean(problem) || !isEqual(value, field.default);
    mark.hidden = !isChanged;
    return { value, problem, isChanged };
  }

  function value() {
    const found = {};
    for (const each of fields) {
      const { value: own, problem, isChanged } = read(each);
      if (isChanged && !problem) found[each.field.name] = own;
    }
    return found;
  }

  function set(settings) {
    if (!isEqual(settings, value()) || !isValid()) {
      for (const { field, control } of fields) {
        control.write(Object.hasOwn(settings, field.name) ? settings[field.name] : field.default);
      }
    }
    last = JSON.stringify(value());
    if (fields.some((each) => each.field.is_advanced && read(each).isChanged)) more.open = true;
    reset.disabled = last === "{}" && isValid();
  }

  function onInput() {
    const now = value();
    reset.disabled = isEqual(now, {}) && isValid();
    if (JSON.stringify(now) === last) return;
    last = JSON.stringify(now);
    onChange(now);
  }

  function onReset() {
    for (const { field, control } of fields) control.write(field.default);
    onInput();
    fields[0].control.input.focus();
  }

  function isValid() {
    return fields.every((each) => !read(each).problem);
  }

  /** Say what the field does that has the focus, or that is pointed at. */
  function explain(event) {
    const name = event.target.closest?.("[data-name]")?.dataset.name;
    const found = fields.find((each) => each.field.name === name);
    if (found) fill(help, el("b", {}, found.field.label), ` (${name}): ${found.field.help}`);
  }

  return { element, value, set };
}

// The controls: `elements`, of which `input` is the one that is marked if it is wrong; `read`, which throws an error that
// says what is wrong; and `write`.

function numberControl(field, { id, describedBy }) {
  const isWhole = field.kind === "count";
  const input = el("input", {
    id, type: "number", step: isWhole ? "1" : "any", min: field.min ?? "", max: field.max ?? "", required: !field.is_optional,
    inputMode: isWhole ? "numeric" : "decimal", placeholder: field.is_optional ? "none" : "", aria: { describedby: describedBy },
  });
  function read() {
    if (!input.checkValidity()) throw new Error(input.validationMessage);
    return input.value === "" ? null : Number(input.value);
  }
  return { elements: [input], input, read, write(value) { input.value = value ?? ""; } };
}

function choiceControl(field, { id, describedBy }) {
  const input = choices(field.choices.map((each) => [JSON.stringify(each), each ?? "none"]), { id, aria: { describedby: describedBy } });
  return { elements: [input], input, read: () => JSON.parse(input.value), write(value) { input.value = JSON.stringify(value); } };
}

/** A window as people write it: `auto`, a number, two of them, or windows by a value of the metadata as JSON. */
function windowControl(field, { id, describedBy }) {
  const input = el("input", { id, type: "text", spellcheck: false, placeholder: "auto, 2 or (1, 3)", aria: { describedby: describedBy } });
  function read() {
    const text = input.value.trim();
    if (text === "auto") return text;
    if (text.startsWith("{")) return objectOf(text);
    const sides = text.replace(/^[([]|[)\]]$/g, "").split(",").map((each) => each.trim());
    const isRight = sides.length <= 2 && sides.every((each) => /^\d+$/.test(each) && Number(each) <= field.max);
    if (!isRight) throw new Error(`Write auto, a number of sentences up to ${field.max}, or two such as (1, 3).`);
    return sides.length === 1 ? Number(sides[0]) : sides.map(Number);
  }
  return { elements: [input], input, read, write(value) { input.value = written(value); } };
}

function namesControl(field, { id, describedBy }) {
  const mode = choices([["true", "hear names"], ["false", "don't"], ["keys", "and of keys"]], { id: `${id}-mode`, aria: { label: "Names", describedby: describedBy } });
  const input = el("input", {
    id, type: "text", spellcheck: false, placeholder: "customer, vendor",
    aria: { label: "Keys of metadata that hold names", describedby: describedBy },
  });
  const show = () => { input.hidden = mode.value !== "keys"; };
  mode.addEventListener("change", show);
  function read() {
    if (mode.value !== "keys") return mode.value === "true";
    const found = input.value.split(",").map((each) => each.trim()).filter(Boolean);
    if (!found.length) throw new Error("Write keys of metadata, such as customer.");
    return found;
  }
  function write(value) {
    mode.value = Array.isArray(value) ? "keys" : String(value);
    if (Array.isArray(value)) input.value = value.join(", ");
    show();
  }
  return { elements: [mode, input], input, read, write };
}

function filterControl(field, options) {
  async function load() {
    const { keys } = await get("/api/filter-keys");
    return keys.flatMap((key) => key.values.map((value) => [key.name, value, `${key.name} = ${middle(JSON.stringify(value))}`]));
  }
  const { read, write, ...pairs } = pairsControl(options, { label: "Filter as JSON", what: "key of the documents", load });
  return {
    ...pairs, write(value) { write(value ?? {}); },
    read() {
      const found = read();
      return Object.keys(found).length ? found : null;
    },
  };
}

/** The default weights, weights of one's own, or the order of the search. */
function rankingControl(field, options, { signals }) {
  const mode = choices([["default", "default weights"], ["none", "order of the search"], ["weights", "own weights"]],
    { id: `${options.id}-mode`, aria: { label: "Ranking", describedby: options.describedBy } });
  const usual = Object.fromEntries(signals.map((each) => [each.name, each.weight]));
  const load = async () => signals.map((each) => [each.name, each.weight, `${each.name}: ${each.meaning}`]);
  const pairs = pairsControl(options, { label: "Weights as JSON", what: "signal", load });
  const show = () => { for (const each of pairs.elements) each.hidden = mode.value !== "weights"; };
  mode.addEventListener("change", show);
  function read() {
    if (mode.value !== "weights") return mode.value === "none" ? null : "default";
    const found = pairs.read();
    for (const [name, weight] of Object.entries(found)) {
      if (!signals.some((each) => each.name === name)) throw new Error(`${name} isn't a signal.`);
      if (typeof weight !== "number" || Math.abs(weight) > field.max) throw new Error(`Write a number for ${name}.`);
    }
    if (!Object.values(found).some(Boolean)) throw new Error("Give at least one signal a weight.");
    return Object.fromEntries(Object.entries(found).filter(([, weight]) => weight));
  }
  function write(value) {
    mode.value = value === null ? "none" : typeof value === "object" ? "weights" : "default";
    pairs.write(value !== null && typeof value === "object" ? value : usual);
    show();
  }
  return { ...pairs, elements: [mode, ...pairs.elements], read, write };
}

/**
 * Keys with values as JSON, one a line, and a list of known ones to add.
 *
 * @param {Object} options Those of a control.
 * @param {{label: string, what: string, load: () => Promise<Array<[string, any, string]>>}} kind `load` returns known
 *   keys, each with a value and what the list says.
 */
function pairsControl({ id, describedBy, onSet }, { label, what, load }) {
  const input = el("textarea", { id, rows: 2, spellcheck: false, placeholder: "none", aria: { label, describedby: describedBy } });
  const first = ["", `Add a ${what.split(" ")[0]}…`];
  const list = choices([first], { id: `${id}-known`, aria: { label: `Add a ${what}` } });
  let pairs = null;
  for (const event of ["focus", "pointerdown"]) list.addEventListener(event, fillList);
  list.addEventListener("change", (event) => {
    event.stopPropagation();
    const [name, value] = pairs?.[Number(list.value)] ?? [];
    list.value = "";
    if (name === undefined) return;
    let found = {};
    try { found = read(); } catch { /* what was there can't be read, so it goes */ }
    // Not `found[name] = value`: a key may be called `__proto__`.
    write(Object.fromEntries([...Object.entries(found), [name, value]]));
    onSet();
  });

  async function fillList() {
    if (pairs) return;
    pairs = [];
    try {
      pairs = await load();
      fill(list, [first, ...pairs.map(([, , text], i) => [String(i), text])].map(([value, text]) => el("option", { value }, text)));
    } catch (error) {
      pairs = null;
      complain(error);
    }
  }

  function read() {
    return input.value.trim() ? objectOf(input.value) : {};
  }

  function write(value) {
    const entries = Object.entries(value).map(([key, each]) => `${JSON.stringify(key)}: ${JSON.stringify(each)}`);
    input.value = entries.length > 1 ? `{${entries.join(",\n ")}}` : entries.length ? `{${entries}}` : "";
    input.rows = Math.min(JSON_ROWS, Math.max(2, entries.length));
  }
  return { elements: [input, list], input, read, write };
}

function choices(given, properties) {
  return el("select", properties, given.map(([value, text]) => el("option", { value }, text)));
}

function objectOf(text) {
  let found;
  try { found = JSON.parse(text); } catch (error) { throw new Error(`This isn't JSON: ${error.message}`); }
  if (found === null || typeof found !== "object" || Array.isArray(found)) throw new Error('Write a JSON object: {"key": …}.');
  return found;
}

function middle(text) {
  const points = Array.from(text);
  return points.length <= 40 ? text : `${points.slice(0, 20).join("")}…${points.slice(-20).join("")}`;
}

/** Write a value as people do: `auto`, `2`, `(1, 3)`, and anything else as JSON. */
export function written(value) {
  if (Array.isArray(value) && value.every((each) => typeof each === "number")) return `(${value.join(", ")})`;
  return typeof value === "string" ? value : value === null ? "none" : JSON.stringify(value);
}
