// What runs on the server: how far it is, and a button that stops it.

import { follow, stopJob } from "./api.js";
import { el, fill } from "./dom.js";
import { button, complain } from "./widgets.js";

/**
 * Make a panel that shows how far something is.
 *
 * @param {string} title
 * @param {() => void} [onStop] Called to stop what isn't a job of the server yet.
 */
export function createProgress(title, onStop = () => {}) {
  let stop = onStop;
  const heading = el("h3", { class: "grow" }, title);
  const bar = el("progress", { max: 1, aria: { label: title } });
  const text = el("p", { class: "muted small number path" });
  const ending = button("Stop", () => stop(), "small");
  const element = el("section", { class: "card job", aria: { label: title } }, el("div", { class: "row" }, heading, ending), bar, text);

  function show(part, what) {
    bar.value = part;
    fill(text, what);
  }

  return {
    element, show,
    /** Show a job until it ends, and return it; `textOf` says how far it is, of its progress. */
    watch(job, textOf) {
      stop = () => stopJob(job.number).catch(complain);
      return follow(job.number, ({ progress }) => { if (progress.total) show(progress.done / progress.total, textOf(progress)); });
    },
    /** Say what came of it. */
    end(summary, ...children) {
      bar.remove();
      text.remove();
      fill(heading, summary);
      fill(ending, "Close");
      stop = () => element.remove();
      element.append(...children.filter(Boolean));
    },
  };
}
