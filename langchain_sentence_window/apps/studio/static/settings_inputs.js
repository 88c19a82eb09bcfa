// What the controls of settings are made of.

import { el, fill } from "./dom.js";

/** Make an input for a number, and return it with a function that reads it. */
export function numberInput({ id, describedBy, label, field, isWhole }) {
  const input = el("input", {
    id, type: "number", step: isWhole ? "1" : "any", min: field.min ?? "", max: field.max ?? "", inputMode: isWhole ? "numeric" : "decimal",
    placeholder: field.is_optional ? "none" : "", aria: { describedby: describedBy, ...(label ? { label } : {}) },
  });
  const read = () => {
    if (input.validity.badInput) throw new Error("Write a number.");
    if (input.value === "") {
      if (field.is_optional) return null;
      throw new Error("Write a number.");
    }
    const number = Number(input.value);
    if (isWhole && !Number.isInteger(number)) throw new Error("Write a whole number.");
    if (field.min !== null && number < field.min) throw new Error(`Write ${field.min} or more.`);
    if (field.max !== null && number > field.max) throw new Error(`Write ${field.max.toLocaleString("en-US")} or less.`);
    return number;
  };
  return { input, read };
}

/** Make a list of choices, `[value, text]`. */
export function choiceInput({ id, describedBy, label, choices }) {
  return el("select", { id, aria: { describedby: describedBy, ...(label ? { label } : {}) } },
    choices.map(([value, text]) => el("option", { value }, text)));
}

/** Mark inputs as wrong, or not, for screen readers and in color. */
export function marking(...inputs) {
  return (isWrong) => {
    for (const each of inputs) {
      if (isWrong) each.setAttribute("aria-invalid", "true");
      else each.removeAttribute("aria-invalid");
    }
  };
}

/** Read an object from JSON. */
export function parsed(text) {
  let found;
  try { found = JSON.parse(text); } catch (error) { throw new Error(`This isn't JSON: ${error.message}`); }
  if (found === null || typeof found !== "object" || Array.isArray(found)) throw new Error("Write a JSON object: {\"key\": …}.");
  return found;
}

/** Replace the options of a list of choices. */
export function setChoices(select, choices) {
  fill(select, choices.map(([value, text]) => el("option", { value }, text)));
}
