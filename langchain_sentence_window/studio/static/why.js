// The road of a query as a picture, and the fate of a sentence.

import { el } from "./dom.js";

export function createWhy() {
  return { element: el("div", { class: "why" }), show() {}, showSentence() {} };
}
