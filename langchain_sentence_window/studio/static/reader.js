// The document itself, with windows, hits and marked gold.

import { el } from "./dom.js";

export function createReader() {
  return { element: el("div", { class: "reader" }), open() {}, highlight() {}, scrollTo() {}, nextHit() {}, previousHit() {} };
}
