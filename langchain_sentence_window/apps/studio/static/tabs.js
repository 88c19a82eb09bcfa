// Tabs: one is in the tab order, arrow keys go to the others.

import { el } from "./dom.js";

/**
 * Make tabs with their panels.
 *
 * @param {string} label What screen readers call them.
 * @param {Array<{id: string, title: string, panel: HTMLElement}>} tabs The first one is selected.
 * @param {(id: string) => void} onSelect Called when the user selects a tab.
 * @returns {{element: HTMLElement, select: (id: string) => void, selected: () => string,
 *   retitle: (id: string, title: string) => void}}
 */
export function createTabs(label, tabs, onSelect) {
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
    const wanted = ids.at(next % ids.length);
    choose(wanted);
    buttons.get(wanted).focus();
  }

  return { element, select, selected: () => current, retitle: (id, title) => { buttons.get(id).textContent = title; } };
}
