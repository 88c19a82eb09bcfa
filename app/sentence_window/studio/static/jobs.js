// Work that takes long: how far it is, and a button that stops it.

import { stream } from "./api.js";
import { el, fill } from "./dom.js";
import { button } from "./widgets.js";

/** Make a panel with a title that shows how far something is. */
export function createProgress(title) {
  const aborting = new AbortController();
  const heading = el("h3", { class: "grow" }, title);
  const bar = el("progress", { max: 1, aria: { label: title } });
  const text = el("p", { class: "muted small number path" });
  const ending = button("Stop", () => (aborting.signal.aborted ? element.remove() : aborting.abort()), "small");
  const element = el("section", { class: "card job", aria: { label: title } }, el("div", { class: "row" }, heading, ending), bar, text);

  function show(part, what) {
    bar.value = part;
    fill(text, what);
  }

  return {
    element, show, signal: aborting.signal,
    /** Call what reports its progress, and return its result; `textOf` says how far it is, of its progress. */
    async run(path, given, textOf) {
      let result = null;
      await stream(path, given, ({ progress, done }) => {
        if (progress?.total) show(progress.done / progress.total, textOf(progress));
        result = done ?? result;
      }, { signal: aborting.signal });
      return result;
    },
    /** Show the outcome. */
    end(summary, ...children) {
      aborting.abort();
      bar.remove();
      text.remove();
      fill(heading, summary);
      fill(ending, "Close");
      element.append(...children.filter(Boolean));
    },
  };
}
