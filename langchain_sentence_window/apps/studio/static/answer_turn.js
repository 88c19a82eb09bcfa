// One question to the chat model and its answer, as it is written.

import { stream } from "./api.js";
import { answerNodes, quoteList, verdictSummary } from "./answer_text.js";
import { el, fill } from "./dom.js";

/**
 * Make a turn of a conversation.
 *
 * @param {Object} options
 * @param {string} options.query
 * @param {boolean} options.isFollowUp Whether the question is shown above its answer.
 * @param {(place: Object, windows: Object[]) => void} options.onPlace See `createAnswer`.
 * @param {() => void} options.onChange Called when it begins and when it ends.
 * @returns {{element: HTMLElement, run: (given: Object) => Promise<void>, stop: () => void, isRunning: () => boolean,
 *   isDone: () => boolean, messages: () => Object[]}} `run` takes what `/api/answer` takes.
 */
export function createTurn({ query, isFollowUp, onPlace, onChange }) {
  const aborting = new AbortController();
  let state = { windows: [], answer: "", quotes: [], citations: null };
  let isRunning = false;
  let isDone = false;
  let frame = 0;
  const status = el("p", { class: "muted small answer-status", role: "status" });
  const elapsed = el("span", { class: "muted small number", aria: { hidden: "true" } });
  const failure = el("div", { role: "alert" });
  const text = el("div", { class: "answer-text", role: "region", aria: { label: isFollowUp ? `Answer to “${query}”` : "Answer" } });
  const quotes = el("div", { class: "answer-quotes" });
  const element = el("div", { class: "turn" }, isFollowUp ? el("h2", { class: "turn-question", dir: "auto" }, query) : null,
    el("div", { class: "row" }, status, elapsed), failure, text, quotes);

  async function run(given) {
    isRunning = true;
    text.setAttribute("aria-busy", "true");
    fill(status, given.history.length ? "Reading the conversation…" : "Searching…");
    const began = performance.now();
    const timer = setInterval(() => fill(elapsed, `${Math.round((performance.now() - began) / 1000)} s`), 1000);
    onChange();
    try {
      await stream("/api/answer", given, take, { signal: aborting.signal });
      if (!isDone) throw new Error("The answer broke off. Ask again.");
    } catch (error) {
      fill(status, state.answer ? "The answer isn't complete." : "");
      if (error.name === "AbortError") fill(status, state.answer ? "Stopped. The answer isn't complete." : "Stopped.");
      else fill(failure, el("p", { class: "error" }, error.message || String(error)));
    } finally {
      isRunning = false;
      clearInterval(timer);
      fill(elapsed);
      text.removeAttribute("aria-busy");
      draw();
      onChange();
    }
  }

  function take(event) {
    if (event.question) fill(status, `Searching with “${event.question}”…`);
    else if (event.windows) {
      state.windows = event.windows;
      fill(status, event.windows.length ? `Waiting for the model, which is shown ${count(event.windows.length, "window")}…` : "");
    } else if (event.done) {
      state = { ...state, ...event.done };
      isDone = true;
      fill(status, summary());
    } else {
      if (!state.answer) fill(status, "Writing…");
      state.answer += event.text;
      state.quotes.push(...(event.quotes ?? []));
    }
    // A model may write faster than a page can be drawn.
    frame ||= requestAnimationFrame(draw);
  }

  function draw() {
    cancelAnimationFrame(frame);
    frame = 0;
    const go = (place) => onPlace(place, state.windows);
    fill(text, answerNodes(state, go));
    fill(quotes, quoteList(state, go));
  }

  function summary() {
    if (!state.windows.length) return "Nothing was found, so there is nothing to answer from.";
    if (!state.answer) return "The model wrote nothing.";
    return `Answered in ${state.seconds.toFixed(1)} s from ${count(state.windows.length, "window")}. ${verdictSummary(state.quotes)}`;
  }

  return {
    element, run, stop: () => aborting.abort(), isRunning: () => isRunning, isDone: () => isDone,
    messages: () => [{ role: "user", content: query }, { role: "assistant", content: state.answer }],
  };
}

function count(number, what) {
  return `${number.toLocaleString()} ${what}${number === 1 ? "" : "s"}`;
}
