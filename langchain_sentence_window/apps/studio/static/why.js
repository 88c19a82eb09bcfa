// The road of a query as a picture, its steps, its hits, and the fate of a single sentence.

import { post } from "./api.js";
import { el, fill } from "./dom.js";
import { fatesOf } from "./why_facts.js";
import { hitsTable } from "./why_hits.js";
import { createRoad } from "./why_road.js";
import { createVerdict } from "./why_sentence.js";
import { steps } from "./why_steps.js";

/**
 * Make the view of a query's road.
 *
 * @param {Object} options
 * @param {Object} options.app The page.
 * @param {(sentence: {docId: string, index: number, start: ?number, end: ?number, text: string}) => void} [options.onSentence]
 *   Called when the user chooses a sentence, to be shown in the document.
 * @param {(settings: Object) => void} [options.onSettings] Called when the user takes advice: the settings to ask with.
 * @returns {{element: HTMLElement, show: Function, showSentence: Function, fates: Function}}
 */
export function createWhy({ app, onSentence, onSettings }) {
  const road = createRoad();
  const verdict = createVerdict({ onSentence, onSettings: onSettings ?? goWith });
  const status = el("p", { class: "muted small", role: "status" });
  const below = el("div", { class: "why-below" });
  const body = el("div", { class: "why-body", hidden: true }, road.element, below);
  const element = el("div", { class: "why" }, verdict.element, status, body);
  let trace = null, asked = null, query = "", about = null, aborting = null;

  /** Ask again with other settings, and about the same sentence. */
  function goWith(settings) {
    app.go("ask", { q: query, settings: JSON.stringify(settings), ...(about ? { doc: about[0], sentence: about[1] } : {}), tab: "why" });
  }

  /** Show the road of a question. */
  async function show(question, settings) {
    about = null;
    verdict.clear();
    await showRoad(question, settings);
  }

  async function showRoad(question, settings) {
    const wanted = JSON.stringify([question, settings]);
    if (wanted === asked) return;
    aborting?.abort();
    const mine = aborting = new AbortController();
    query = question;
    fill(status, "Tracing…");
    body.setAttribute("aria-busy", "true");
    try {
      const found = await post("/api/explain", { query: question, settings }, { signal: mine.signal });
      [trace, asked] = [found, wanted];
      body.hidden = false;
      fill(status);
      road.show(trace);
      fill(below, el("h2", {}, "Step by step"), steps(trace, onSentence),
        trace.hits.length ? [el("h2", {}, `Hits (${trace.hits.length})`), hitsTable(trace, onSentence)] : null);
    } catch (error) {
      if (error.name === "AbortError") throw error;
      [trace, asked] = [null, null];
      body.hidden = true;
      fill(status, el("span", { class: "error" }, error.message));
    } finally {
      if (aborting === mine) body.removeAttribute("aria-busy");
    }
  }

  /** Show why a sentence is, or isn't, among the windows, and the road below; return its fate, or null after an error. */
  async function showSentence(question, settings, docId, sentence) {
    [query, about] = [question, [docId, sentence]];
    const [fate] = await Promise.all([verdict.show(question, settings, docId, sentence), showRoad(question, settings)]);
    return fate;
  }

  /** Return what became of each sentence of a document, for the reader; see `fatesOf`. */
  function fates(docId) {
    return trace && docId ? fatesOf(trace, docId) : null;
  }

  return { element, show, showSentence, fates };
}
