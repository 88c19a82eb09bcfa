// Evaluations, sweeps and fits that run: how far they are, and a button that stops them.

import { get } from "./api.js";
import { el, fill } from "./dom.js";
import { follow, stop } from "./jobs.js";
import { complain, say } from "./messages.js";

const KINDS = { evaluate: "Evaluate", sweep: "Sweep", fit: "Fit the ranking" };

/**
 * Make the list of what runs.
 *
 * @param {(job: Object) => void} onDone Called with each job that is done.
 */
export function createJobList(onDone) {
  const element = el("ul", { class: "plain running", aria: { label: "What runs now" } });
  const known = new Set();

  async function watch(job) {
    if (known.has(job.number)) return;
    known.add(job.number);
    const bar = el("progress", { max: 1, aria: { label: `${KINDS[job.kind]}: ${job.title}` } });
    const text = el("span", { class: "muted small number" }, "begins");
    const end = el("button", { type: "button", class: "small", on: { click: () => { end.disabled = true; stop(job.number).catch(complain); } } }, "Stop");
    const row = el("li", { class: "card job" }, el("div", { class: "row" }, el("b", {}, KINDS[job.kind]), el("span", { class: "grow" }, job.title), end), bar, text);
    element.append(row);
    try {
      const ended = await follow(job.number, ({ progress: { done, total } }) => {
        if (!total) return;
        bar.max = total;
        bar.value = done;
        text.textContent = done < total ? `${done.toLocaleString()} of ${total.toLocaleString()} questions asked` : job.kind === "fit" ? "the weights are fitted" : "the means are computed";
      });
      if (ended.status === "failed") throw new Error(ended.error.message);
      say(ended.status === "stopped" ? `${KINDS[job.kind]} was stopped.` : `${KINDS[job.kind]}: done.`);
      if (ended.status === "done") onDone(ended);
    } catch (error) {
      complain(error);
    } finally {
      row.remove();
    }
  }

  return {
    element,
    watch,
    /** Watch what runs already, and return the last fit that is done; null for none. */
    async resume() {
      const { jobs } = await get("/api/jobs");
      const mine = jobs.filter(({ kind }) => Object.hasOwn(KINDS, kind));
      for (const job of mine) if (job.status === "running") watch(job);
      return mine.find(({ kind, status }) => kind === "fit" && status === "done") ?? null;
    },
    clear() { fill(element); },
  };
}
