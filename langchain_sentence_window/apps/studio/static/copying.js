// Buttons that copy text.

import { el } from "./dom.js";
import { complain, say } from "./messages.js";

/**
 * Make a button that copies a text.
 *
 * @param {string} label
 * @param {() => string} textOf Returns the text.
 */
export function copyButton(label, textOf) {
  return el("button", { type: "button", class: "quiet small copy", on: { click: () => copy(textOf()) } }, label);
}

async function copy(text) {
  try {
    if (navigator.clipboard) await navigator.clipboard.writeText(text);
    else copySelected(text);
    say("Copied.");
  } catch {
    complain(new Error("The browser doesn't let this page copy. Select the text and copy it yourself."));
  }
}

/** Copy where a browser has no clipboard for pages, as on an address without https. */
function copySelected(text) {
  const area = el("textarea", { class: "visually-hidden", value: text, aria: { hidden: "true" } });
  document.body.append(area);
  area.select();
  const isDone = document.execCommand("copy");
  area.remove();
  if (!isDone) throw new Error("not copied");
}
