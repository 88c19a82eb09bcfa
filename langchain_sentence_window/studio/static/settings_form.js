// The settings of a call as a form.

import { el } from "./dom.js";

export function createSettingsForm() {
  return { element: el("form"), value: () => ({}), set() {} };
}
