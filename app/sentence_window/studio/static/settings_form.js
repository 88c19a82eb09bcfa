// The settings of a call as a form: compact, checked while typing, and back to the default with a click.

import { get } from "./api.js";
import { el, fill } from "./dom.js";
import { button } from "./widgets.js";
import { brief, isEqual } from "./words.js";

const CONTROLS = {
  count: numberControl, number: numberControl, choice: choiceControl, window: windowControl, json: jsonControl,
};
let forms = 0;
let known = null;

/** Return what `GET /api/settings` says. */
export function readDescription() {
  known ??= get("/api/settings").catch((error) => { known = null; throw error; });
  return known;
}

/** Ask again for the settings, as the default of the index has changed. */
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
 *   that can't be used is left out, and explained next to its field.
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
    const control = CONTROLS[field.kind](field, { id, describedBy: `${id}-help ${id}-error` });
    const name = el("label", { class: "settings-label", htmlFor: id }, field.label);
    const whole = el("div", { class: `setting setting-${field.kind}`, data: { name: field.name } },
      el("div", { class: "settings-head" }, name, mark), control.input, described, error);
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

// The controls: `input`; `read`, which throws an error that says what is wrong; and `write`.

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
  return { input, read, write(value) { input.value = value ?? ""; } };
}

function choiceControl(field, { id, describedBy }) {
  const input = el("select", { id, aria: { describedby: describedBy } },
    field.choices.map((each) => el("option", { value: JSON.stringify(each) }, each ?? "none")));
  return { input, read: () => JSON.parse(input.value), write(value) { input.value = JSON.stringify(value); } };
}

/** A window as people write it: `auto`, a number, two of them, or windows by a value of the metadata as JSON. */
function windowControl(field, { id, describedBy }) {
  const input = el("input", { id, type: "text", spellcheck: false, placeholder: "auto, 2 or (1, 3)", aria: { describedby: describedBy } });
  function read() {
    const text = input.value.trim();
    if (text === "auto") return text;
    if (text.startsWith("{")) return fromJson(text);
    const sides = text.replace(/^[([]|[)\]]$/g, "").split(",").map((each) => each.trim());
    const isRight = sides.length <= 2 && sides.every((each) => /^\d+$/.test(each) && Number(each) <= field.max);
    if (!isRight) throw new Error(`Write auto, a number of sentences up to ${field.max}, or two such as (1, 3).`);
    return sides.length === 1 ? Number(sides[0]) : sides.map(Number);
  }
  return { input, read, write(value) { input.value = written(value); } };
}

/** Any value as JSON; nothing for none. */
function jsonControl(field, { id, describedBy }) {
  const input = el("textarea", { id, rows: 2, spellcheck: false, placeholder: "none", aria: { describedby: describedBy } });
  return {
    input, read: () => (input.value.trim() ? fromJson(input.value) : null),
    write(value) { input.value = value === null ? "" : JSON.stringify(value, null, 1).replace(/\n\s*(?=[}\]])/g, ""); },
  };
}

function fromJson(text) {
  try { return JSON.parse(text); } catch (error) { throw new Error(`This isn't JSON: ${error.message}`); }
}

/** Write a value as people do: `auto`, `2`, `(1, 3)`, and anything else as JSON. */
export function written(value) {
  if (Array.isArray(value) && value.every((each) => typeof each === "number")) return `(${value.join(", ")})`;
  return typeof value === "string" ? value : value === null ? "none" : JSON.stringify(value);
}
