// The head of a reader: what is open, where it is scrolled to, its hits, and how it is shown.

import { el, fill } from "./dom.js";

/**
 * Make the head.
 *
 * @param {Object} options
 * @param {(step: number) => void} options.onHit
 * @param {(kind: string) => void} options.onView
 * @param {(start: number) => void} options.onHeading
 */
export function createHead({ onHit, onView, onHeading }) {
  const title = el("h2", { class: "reader-title", dir: "auto" });
  const path = el("nav", { class: "reader-path muted small", aria: { label: "Place in the document" } });
  const number = el("span", { class: "number", aria: { live: "polite" } });
  const step = (by, text, name) => el("button", { type: "button", class: "quiet", title: name, aria: { label: name }, on: { click: () => onHit(by) } }, text);
  const hits = el("div", { class: "reader-hits", hidden: true }, step(-1, "↑", "Previous hit"), number, step(1, "↓", "Next hit"));
  const buttons = Object.fromEntries([["pages", "Page"], ["text", "Text"]].map(([kind, text]) =>
    [kind, el("button", { type: "button", on: { click: () => onView(kind) } }, text)]));
  const choice = el("div", { class: "reader-view", role: "group", aria: { label: "Show as" }, hidden: true }, Object.values(buttons));
  const reason = el("p", { class: "reader-note small", role: "status", hidden: true });
  const element = el("header", { class: "reader-head", hidden: true }, el("div", { class: "reader-line" }, title, hits, choice), path, reason);
  let shown = "";

  return {
    element,
    /** Show what is open; `null` for nothing. */
    name(data) {
      element.hidden = data === null;
      fill(title, data ? data.title ?? shortName(data.name) : "");
      title.title = data?.source ?? data?.name ?? "";
      fill(path);
      shown = "";
    },
    /** Show which view is on, and why there are no pages. */
    view(kind, hasPages, why) {
      choice.hidden = !hasPages;
      for (const [each, button] of Object.entries(buttons)) button.setAttribute("aria-pressed", String(each === kind));
      reason.hidden = kind === "pages" || !why;
      fill(reason, why ? `This is the document's text: ${why}.` : "");
    },
    /** Show the number of hits, and which is the current one, from 0; -1 for none. */
    hits(count, current) {
      hits.hidden = count === 0;
      fill(number, current < 0 ? `${count} ${count === 1 ? "hit" : "hits"}` : `Hit ${current + 1} of ${count}`);
    },
    /** Show the place at the upper edge. */
    place(headings, page, pages) {
      const key = JSON.stringify([headings.map(({ start }) => start), page]);
      if (key === shown) return;
      shown = key;
      const links = headings.map((each) => el("button", { type: "button", class: "quiet", dir: "auto", on: { click: () => onHeading(each.start) } }, each.title));
      const where = page === null ? null : el("span", { class: "number" }, `Page ${page + 1}${pages ? ` of ${pages}` : ""}`);
      fill(path, where, links.map((link, i) => [i || where ? el("span", { aria: { hidden: "true" } }, i ? "›" : "·") : null, link]));
    },
  };
}

function shortName(name) {
  return name.split(/[/\\]/).filter(Boolean).pop() ?? name;
}
