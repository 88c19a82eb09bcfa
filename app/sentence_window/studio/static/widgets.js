// What all views are made of: messages, keyboard shortcuts, tabs, buttons that copy.

import { el, fill } from "./dom.js";

const SHOWN_MS = 6000;

/** Show a message for a while in a corner; screen readers read it out. */
export function say(text, { isError = false } = {}) {
  const message = el("div", { class: isError ? "error fade-in" : "fade-in" }, text);
  document.getElementById("messages").append(message);
  setTimeout(() => message.remove(), isError ? 3 * SHOWN_MS : SHOWN_MS);
}

/** Show an error, unless it only says that a newer call took the place of this one. */
export function complain(error) {
  if (error.name !== "AbortError") say(error.message || String(error), { isError: true });
}

/**
 * Make a button; `kind` is its classes. The second click of a double click does nothing, unless it `repeats`, as one does
 * that goes to what is next.
 */
export function button(label, action, kind = "", { repeats = false, ...more } = {}) {
  const click = (event) => { if (repeats || event.detail < 2) action(event); };
  return el("button", { type: "button", class: kind, ...more, on: { click } }, label);
}

/**
 * Ask in a dialog before something is done.
 *
 * @param {Object} options
 * @param {string} options.title The question.
 * @param {Array} options.content The content below it.
 * @param {string} options.agree What the button says that does it.
 * @param {() => Promise<void>} options.action Does it.
 * @param {string} [options.kind] The kind of that button. A `danger` isn't what Enter chooses at once.
 */
export function confirm({ title, content, agree, action, kind = "main" }) {
  const dialog = el("dialog", { aria: { labelledby: "dialog-title" }, on: { close() { dialog.remove(); } } });
  const cancel = button("Cancel", () => dialog.close());
  const go = button(agree, async () => {
    go.disabled = true;
    try { await action(); } catch (error) { complain(error); }
    dialog.close();
  }, kind);
  fill(dialog, el("h2", { id: "dialog-title" }, title), content, el("div", { class: "row dialog-end" }, cancel, go));
  document.body.append(dialog);
  dialog.showModal();
  (kind === "danger" ? cancel : go).focus();
}

/** Return whether the page is so narrow that it shows one column. */
export function isNarrow() {
  return matchMedia("(max-width: 800px)").matches;
}

const shortcuts = [];

/**
 * Add a keyboard shortcut. It does nothing while someone types, unless it is Escape.
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
export function startKeys(opener) {
  const dialog = el("dialog", { aria: { label: "Keyboard shortcuts" } });
  document.body.append(dialog);
  const show = () => {
    const rows = shortcuts.filter((each) => each.isOn())
      .map((each) => el("tr", {}, el("td", {}, el("kbd", {}, each.key)), el("td", {}, each.what)));
    fill(dialog, el("h2", {}, "Keyboard shortcuts"), el("table", {}, el("tbody", {}, rows)), button("Close", () => dialog.close()));
    dialog.showModal();
  };
  opener.addEventListener("click", show);
  addKey("?", "Show this list", show);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
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

/**
 * Make tabs with their panels: one is in the tab order, arrow keys go to the others.
 *
 * @param {string} label What screen readers call them.
 * @param {Array<{id: string, title: string, panel: HTMLElement}>} tabs The first one is selected.
 * @param {(id: string) => void} [onSelect] Called when the user selects a tab.
 * @returns {{element: HTMLElement, select: (id: string) => void, selected: () => string,
 *   retitle: (id: string, title: string) => void}}
 */
export function createTabs(label, tabs, onSelect = () => {}) {
  const ids = tabs.map((each) => each.id);
  const buttons = new Map(tabs.map(({ id, title }) => [id, el("button", {
    type: "button", role: "tab", id: `tab-${id}`, aria: { controls: `panel-${id}` },
    on: { click: () => choose(id), keydown: (event) => onKey(event, id) },
  }, title)]));
  const panels = new Map(tabs.map(({ id, panel }) => [id, el("div", {
    role: "tabpanel", id: `panel-${id}`, class: "panel", aria: { labelledby: `tab-${id}` },
  }, panel)]));
  const list = el("div", { role: "tablist", class: "tabs", aria: { label } }, [...buttons.values()]);
  const element = el("div", { class: "tabbed" }, list, [...panels.values()]);
  let current;
  select(ids[0]);

  function select(id) {
    current = ids.includes(id) ? id : ids[0];
    for (const each of ids) {
      const isCurrent = each === current;
      buttons.get(each).setAttribute("aria-selected", String(isCurrent));
      buttons.get(each).tabIndex = isCurrent ? 0 : -1;
      panels.get(each).hidden = !isCurrent;
    }
  }

  function choose(id) {
    select(id);
    onSelect(id);
  }

  function onKey(event, id) {
    const at = ids.indexOf(id);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: ids.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    const to = ids[(next + ids.length) % ids.length];
    choose(to);
    buttons.get(to).focus();
  }

  return { element, select, selected: () => current, retitle(id, title) { fill(buttons.get(id), title); } };
}

/** Copy a text, and say so. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text); // only with https, or on this machine
    say("Copied.");
  } catch {
    complain(new Error("The browser doesn't let this page copy. Select the text and copy it yourself."));
  }
}
