// A bar beside the document with a tick for each window and hit.

import { el, fill } from "./dom.js";

/**
 * Make the bar.
 *
 * @param {(start: number) => void} onGo Called with the code point of a tick that was clicked.
 */
export function createMap(onGo) {
  const element = el("div", { class: "reader-map", aria: { hidden: "true" } });

  /** Show the marks of a document in a view. */
  function show(marks, view) {
    const ticks = [];
    const add = (first, last, start, kind, title) => {
      const top = view.placeOf(first);
      if (top === null) return;
      const bottom = last === first ? top : view.placeOf(last) ?? top;
      const style = { top: `${100 * top}%`, height: `${Math.max(0, 100 * (bottom - top))}%` };
      ticks.push(el("div", { class: `tick ${kind}`, title, style, on: { click: () => onGo(start) } }));
    };
    for (const { first, last, start, rank } of marks.windows) add(first, last, start, "window", rank === null ? "Window" : `Window ${rank}`);
    for (const { first, last, start } of marks.gold) add(first, last, start, "gold", "Marked text");
    for (const hit of marks.hits) add(hit.first, hit.first, hit.start, hit === marks.hit ? "hit current" : "hit", "Hit");
    fill(element, ticks);
  }
  return { element, show };
}
