// Keyboard shortcuts. They do nothing while someone types, except Escape.

import { el, fill } from "./dom.js";

const shortcuts = [];

/**
 * Add a shortcut.
 *
 * @param {string} key As `KeyboardEvent.key` has it.
 * @param {string} what What it does, for the list of shortcuts.
 * @param {() => void} action
 * @param {() => boolean} [isOn] Whether it works now, such as in the view that is shown.
 */
export function addKey(key, what, action, isOn = () => true) {
  shortcuts.push({ key, what, action, isOn });
}

/** Listen to the keyboard, and show the list of shortcuts at `?` and at a click on a button. */
export function startKeys(button) {
  const dialog = el("dialog", { aria: { label: "Keyboard shortcuts" } });
  document.body.append(dialog);
  const show = () => {
    const rows = shortcuts.filter((each) => each.isOn())
      .map((each) => el("tr", {}, el("td", {}, el("kbd", {}, each.key)), el("td", {}, each.what)));
    const close = el("button", { type: "button", on: { click: () => dialog.close() } }, "Close");
    fill(dialog, el("h2", {}, "Keyboard shortcuts"), el("table", {}, el("tbody", {}, rows)), close);
    dialog.showModal();
  };
  button.addEventListener("click", show);
  addKey("?", "Show this list", show);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || dialog.open) return;
    if (event.key !== "Escape" && isTyping(event.target)) return;
    const found = shortcuts.find((each) => each.key === event.key && each.isOn());
    if (!found) return;
    event.preventDefault();
    found.action();
  });
}

function isTyping(target) {
  return target instanceof HTMLElement &&
    (target.isContentEditable || ["TEXTAREA", "SELECT"].includes(target.tagName) ||
      (target.tagName === "INPUT" && !["checkbox", "radio", "button", "range"].includes(target.type)));
}
