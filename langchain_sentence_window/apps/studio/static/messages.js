// Messages that appear for a while in a corner, and are read out by screen readers.

import { el } from "./dom.js";

const SHOWN_MS = 6000;

/** Show a message. */
export function say(text, { isError = false } = {}) {
  const message = el("div", { class: isError ? "error fade-in" : "fade-in" }, text);
  document.getElementById("messages").append(message);
  setTimeout(() => message.remove(), isError ? 3 * SHOWN_MS : SHOWN_MS);
}

/** Show an error, unless it only says that a newer call took the place of this one. */
export function complain(error) {
  if (error.name === "AbortError") return;
  say(error.message || String(error), { isError: true });
}
