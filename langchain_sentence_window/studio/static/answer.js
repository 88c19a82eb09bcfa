// The answer of the chat model, as it is written, with its citations and what became of its quotes.

import { stream } from "./api.js";
import { answerNodes, quoteList, verdictSummary } from "./answer_text.js";
import { el, fill } from "./dom.js";

/**
 * Make the panel of the answer.
 *
 * @param {Object} options
 * @param {Object} options.app What views share.
 * @param {(place: {docId: string, start: number, end: number}, windows: Object[]) => void} options.onPlace Called when
 *   the user goes to the place of a citation, with the windows that the model was shown.
 * @returns {{element: HTMLElement, prepare: (query: string, settings: Object) => void, ask: () => void}} `prepare` sets
 *   the question without asking the model, which may cost something.
 */
export function createAnswer({ app, onPlace }) {
  let request = { query: "", settings: {} };
  let asked = null;
  let aborting = null;
  let timer = 0;
  let state = empty();
  const ask = el("button", { type: "button", class: "main", on: { click: () => start() } }, "Write an answer");
  const stop = el("button", { type: "button", hidden: true, on: { click: () => aborting?.abort() } }, "Stop");
  const citing = el("select", { id: "citing" },
    el("option", { value: "quotes" }, "Quotes, each verified"), el("option", { value: "numbers" }, "Numbers of sources"));
  const status = el("p", { class: "muted small answer-status", role: "status" });
  const elapsed = el("span", { class: "muted small number", aria: { hidden: "true" } });
  const controls = el("div", { class: "row answer-controls" }, ask, stop,
    el("label", { class: "row small", htmlFor: "citing" }, "Citations ", citing), elapsed);
  const text = el("div", { class: "answer-text", role: "region", aria: { label: "Answer" } });
  const quotes = el("div", { class: "answer-quotes" });
  const failure = el("div", { role: "alert" });
  const missing = noModel();
  const element = el("div", { class: "answer" }, missing, controls, status, failure, text, quotes);
  app.listeners.push(refresh);
  refresh();

  function refresh() {
    const canAnswer = app.about?.can_answer === true;
    missing.hidden = canAnswer || app.about === null;
    controls.hidden = !canAnswer;
    ask.disabled = !request.query;
  }

  function prepare(query, settings) {
    if (asked && (asked.query !== query || JSON.stringify(asked.settings) !== JSON.stringify(settings))) {
      aborting?.abort();
      asked = null;
      state = empty();
      draw();
      fill(status);
      fill(failure);
    }
    request = { query, settings };
    refresh();
  }

  async function start() {
    if (!request.query || !app.about?.can_answer) return;
    aborting?.abort();
    const mine = aborting = new AbortController();
    asked = request;
    state = empty();
    running(true);
    fill(failure);
    fill(status, "Searching…");
    draw();
    try {
      await stream("/api/answer", { ...request, citations: citing.value }, (event) => { if (aborting === mine) take(event); },
        { signal: mine.signal });
      if (aborting === mine && !state.done) throw new Error("The answer broke off. Ask again.");
    } catch (error) {
      if (aborting !== mine) return;
      if (error.name === "AbortError") fill(status, state.answer ? "Stopped. The answer isn't complete." : "Stopped.");
      else {
        fill(status, state.answer ? "The answer isn't complete." : "");
        fill(failure, el("p", { class: "error" }, error.message || String(error)));
      }
    } finally {
      if (aborting === mine) running(false);
    }
  }

  function take(event) {
    if (event.windows) {
      state.windows = event.windows;
      fill(status, event.windows.length ? `Waiting for the model, which is shown ${count(event.windows.length, "window")}…` : "");
    } else if (event.done) {
      state = { ...state, ...event.done, done: true };
      fill(status, summary(event.done));
    } else {
      if (!state.answer) fill(status, "Writing…");
      state.answer += event.text;
      state.quotes.push(...(event.quotes ?? []));
    }
    draw();
  }

  function summary({ seconds }) {
    if (!state.windows.length) return "Nothing was found, so there is nothing to answer from.";
    if (!state.answer) return "The model wrote nothing.";
    return `Answered in ${seconds.toFixed(1)} s from ${count(state.windows.length, "window")}. ${verdictSummary(state.quotes)}`;
  }

  function draw() {
    const go = (place) => onPlace(place, state.windows);
    fill(text, answerNodes(state, go));
    fill(quotes, quoteList(state, go));
  }

  function running(isRunning) {
    ask.hidden = isRunning;
    stop.hidden = !isRunning;
    text.setAttribute("aria-busy", String(isRunning));
    clearInterval(timer);
    fill(elapsed);
    if (!isRunning) return;
    const began = performance.now();
    timer = setInterval(() => fill(elapsed, `${Math.round((performance.now() - began) / 1000)} s`), 1000);
    if (document.activeElement === ask || document.activeElement === document.body) stop.focus();
  }

  return { element, prepare, ask: start };
}

function empty() {
  return { windows: [], answer: "", quotes: [], citations: null, done: false };
}

function noModel() {
  return el("div", { class: "empty", hidden: true }, el("h2", {}, "There is no chat model"),
    el("p", {}, "Start this page with one, and it answers from the windows, with citations that are checked:"),
    el("pre", {}, el("code", {}, "sentence-window serve --chat-model openai:gpt-5-mini")),
    el("p", {}, "or in Python:"),
    el("pre", {}, el("code", {}, "serve_studio(retriever, chat_model=init_chat_model(\"openai:gpt-5-mini\"))")));
}

function count(number, what) {
  return `${number.toLocaleString()} ${what}${number === 1 ? "" : "s"}`;
}
