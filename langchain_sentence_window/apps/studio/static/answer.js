// The answers of the chat model to a question and its follow-ups.

import { createTurn } from "./answer_turn.js";
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
  let turns = [];
  const ask = el("button", { type: "button", class: "main", on: { click: start } }, "Write an answer");
  const stop = el("button", { type: "button", hidden: true, on: { click: () => turns.at(-1)?.stop() } }, "Stop");
  const citing = el("select", { id: "citing" },
    el("option", { value: "quotes" }, "Quotes, each verified"), el("option", { value: "numbers" }, "Numbers of sources"));
  const controls = el("div", { class: "row answer-controls" }, ask,
    el("label", { class: "row small", htmlFor: "citing" }, "Citations ", citing));
  const list = el("div", { class: "turns" });
  const next = el("input", { id: "follow-up", class: "grow", autocomplete: "off", placeholder: "Ask a follow-up" });
  const followUp = el("form", { class: "row follow-up", hidden: true, on: { submit: onFollowUp } },
    el("label", { class: "visually-hidden", htmlFor: "follow-up" }, "Follow-up question"), next,
    el("button", { type: "submit" }, "Ask"));
  const missing = noModel();
  const element = el("div", { class: "answer" }, missing, controls, list, stop, followUp);
  app.listeners.push(refresh);
  refresh();

  function refresh() {
    const canAnswer = app.about?.can_answer === true;
    const last = turns.at(-1);
    missing.hidden = canAnswer || app.about === null;
    controls.hidden = !canAnswer;
    ask.disabled = !request.query;
    const wasStopping = document.activeElement === stop;
    ask.hidden = Boolean(last?.isRunning());
    stop.hidden = !last?.isRunning();
    followUp.hidden = !last || last.isRunning() || !turns.some((each) => each.isDone());
    if (wasStopping && stop.hidden) (followUp.hidden ? ask : next).focus();
  }

  function prepare(query, settings) {
    if (asked && (asked.query !== query || JSON.stringify(asked.settings) !== JSON.stringify(settings))) clear();
    request = { query, settings };
    refresh();
  }

  function clear() {
    turns.at(-1)?.stop();
    turns = [];
    asked = null;
    fill(list);
  }

  function start() {
    if (!request.query || !app.about?.can_answer) return;
    clear();
    asked = request;
    take(request.query, []);
  }

  function onFollowUp(event) {
    event.preventDefault();
    const query = next.value.trim();
    if (!query) return;
    next.value = "";
    take(query, turns.filter((each) => each.isDone()).flatMap((each) => each.messages()));
  }

  function take(query, history) {
    const isFollowUp = history.length > 0;
    const turn = createTurn({ query, isFollowUp, onPlace, onChange() {
      if (turns.at(-1) !== turn) return;
      // A follow-up without an answer can be asked again.
      if (isFollowUp && !turn.isRunning() && !turn.isDone()) next.value ||= query;
      refresh();
    } });
    turns.push(turn);
    list.append(turn.element);
    const hadFocus = ask === document.activeElement || followUp.contains(document.activeElement);
    turn.run({ query, settings: asked.settings, citations: citing.value, history });
    if (hadFocus) stop.focus();
  }

  return { element, prepare, ask: start };
}

function noModel() {
  return el("div", { class: "empty", hidden: true }, el("h2", {}, "There is no chat model"),
    el("p", {}, "Start this page with one, and it answers from the windows, with citations that are checked:"),
    el("pre", {}, el("code", {}, "sentence-window serve --model openai:gpt-5-mini")),
    el("p", {}, "or in Python:"),
    el("pre", {}, el("code", {}, "serve_studio(retriever, chat_model=init_chat_model(\"openai:gpt-5-mini\"))")));
}
