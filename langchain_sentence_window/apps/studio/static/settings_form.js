// The settings of a call as a form: compact, checked while typing, and back to the default with a click.

import { el, fill } from "./dom.js";
import { settingControl } from "./settings_fields.js";

let forms = 0;

/**
 * Make the form.
 *
 * @param {Object} options
 * @param {(settings: Object) => void} [options.onChange] Called with `value()` when the user changes a setting. A value
 *   that can't be used is left out, and said beside its field.
 * @param {Object} options.description What `GET /api/settings` returns.
 * @param {string} [options.label] What screen readers call the form.
 * @returns {{element: HTMLElement, value: () => Object, set: (settings: Object) => void, isValid: () => boolean}}
 *   `value()` holds only what differs from the retriever's own settings.
 */
export function createSettingsForm({ onChange, description, label = "Settings" }) {
  const prefix = `settings-${forms += 1}`;
  const fields = description.fields.map((field) => makeField(field, `${prefix}-${field.name}`));
  const help = el("p", { class: "settings-help muted small" }, "Point at a setting to read what it does.");
  const reset = el("button", { type: "button", class: "small", on: { click: onReset } }, "Reset");
  const usual = fields.filter((each) => !each.field.is_advanced);
  const advanced = fields.filter((each) => each.field.is_advanced);
  const more = el("details", { class: "settings-more" }, el("summary", {}, "More settings"),
    el("div", { class: "settings-grid" }, advanced.map((each) => each.element)));
  const element = el("form", { class: "settings", aria: { label }, on: {
    submit: (event) => event.preventDefault(), input: onInput, change: onInput,
    focusin: explain, pointerover: explain,
  } }, el("div", { class: "settings-grid" }, usual.map((each) => each.element)), more,
  el("div", { class: "settings-foot" }, help, reset));
  let last = "{}";
  set({});

  function makeField(field, id) {
    const error = el("p", { class: "error small", id: `${id}-error`, hidden: true });
    const described = el("span", { class: "visually-hidden", id: `${id}-help` }, field.help);
    const mark = el("span", { class: "settings-mark", hidden: true, title: "Changed" }, "●", el("span", { class: "visually-hidden" }, " changed"));
    const control = settingControl(field, description, {
      id, describedBy: `${id}-help ${id}-error`, onSet: () => onInput(),
    });
    const label = control.isGroup
      ? el("span", { class: "settings-label", id: `label-of-${id}` }, field.label)
      : el("label", { class: "settings-label", htmlFor: id }, field.label);
    const parts = [el("div", { class: "settings-head" }, label, mark), ...control.elements, described, error];
    const whole = el("div", {
      class: `setting setting-${field.kind}`, data: { name: field.name },
      ...(control.isGroup ? { role: "group", aria: { labelledby: `label-of-${id}` } } : {}),
    }, parts);
    return { field, control, error, mark, element: whole };
  }

  /** Read a field: its value, or what is wrong with it. */
  function read({ field, control, error, mark }) {
    let value, problem = "";
    try { value = control.read(); } catch (wrong) { problem = wrong.message; }
    fill(error, problem);
    error.hidden = !problem;
    control.mark(Boolean(problem));
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
    const next = JSON.stringify(settings);
    if (next !== JSON.stringify(value()) || fields.some((each) => read(each).problem)) {
      for (const { field, control } of fields) {
        control.write(Object.hasOwn(settings, field.name) ? settings[field.name] : field.default);
      }
    }
    last = JSON.stringify(value());
    if (advanced.some((each) => read(each).isChanged)) more.open = true;
    reset.disabled = last === "{}" && isValid();
  }

  function onInput() {
    const now = value();
    reset.disabled = JSON.stringify(now) === "{}" && isValid();
    if (JSON.stringify(now) === last) return;
    last = JSON.stringify(now);
    onChange?.(now);
  }

  function onReset() {
    for (const { field, control } of fields) control.write(field.default);
    onInput();
    fields[0].element.querySelector("input, select").focus();
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

  return { element, value, set, isValid };
}

function isEqual(one, other) {
  return JSON.stringify(one ?? null) === JSON.stringify(other ?? null);
}
