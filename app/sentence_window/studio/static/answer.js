// The answers of the chat model to a question and its follow-ups: as they are written, with chips for their citations,
// and their quotes with their verdicts.

import { stream } from "./api.js";
import { doubtful, sourceLink } from "./cards.js";
import { el, fill } from "./dom.js";
import { button } from "./widgets.js";
import { count, namesOf } from "./words.js";

const UNVERIFIED = "[unverified]";
const VERDICTS = {
  verbatim: { icon: "✓", name: "verbatim", help: "It is there word for word." },
  normalized: { icon: "≈", name: "normalized", help: "It is there except for spaces, case or punctuation." },
  stitched: { icon: "+", name: "stitched", help: "It is put together from words in several places." },
  misattributed: { icon: "⇄", name: "misattributed", help: "It is in another source than the one that is cited." },
  paraphrase: { icon: "~", name: "paraphrase", help: "It is in the answer's own words, which nothing verifies." },
  not_found: { icon: "✕", name: "not found", help: "The sources don't say it in these words." },
};
const WORST_FIRST = ["not_found", "misattributed", "stitched", "paraphrase", "normalized", "verbatim"];

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
  const ask = button("Write an answer", start, "main");
  const stop = button("Stop", () => turns.at(-1)?.stop(), "", { hidden: true });
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
function createTurn({ query, isFollowUp, onPlace, onChange }) {
  const aborting = new AbortController();
  let state = { windows: [], answer: "", quotes: [], citations: null };
  let isRunning = false;
  let isDone = false;
  let frame = 0;
  const status = el("p", { class: "muted small answer-status", role: "status" });
  const elapsed = el("span", { class: "muted small number", aria: { hidden: "true" } });
  const failure = el("div", { role: "alert" });
  const doubt = el("div");
  const text = el("div", { class: "answer-text", dir: "auto", role: "region", aria: { label: isFollowUp ? `Answer to “${query}”` : "Answer" } });
  const quotes = el("div", { class: "answer-quotes" });
  const element = el("div", { class: "turn" }, isFollowUp ? el("h2", { class: "turn-question", dir: "auto" }, query) : null,
    el("div", { class: "row" }, status, elapsed), failure, doubt, text, quotes);

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
      const names = namesOf(event.windows);
      state.windows = event.windows.map((each) => ({ ...each, called: names.get(each.doc_id) }));
      fill(doubt, doubtful(event.windows) ? el("p", { class: "doubt" }, doubtful(event.windows)) : null);
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

/**
 * Return an answer as nodes.
 *
 * @param {{answer: string, citations: Object[]|null, windows: Object[]}} state Its citations as the server read them;
 *   null while it is written.
 * @param {(place: {docId: string, start: number, end: number}) => void} onPlace
 */
function answerNodes({ answer, citations, windows }, onPlace) {
  const nodes = [];
  let at = 0;
  const points = Array.from(answer);
  for (const { start, end, chips } of marksOf(citations ?? [], windows)) {
    if (start < at) continue;
    nodes.push(...plain(points.slice(at, start).join("")), ...chips.map((chip) => chipButton(chip, onPlace)));
    at = end;
  }
  return [...nodes, ...plain(points.slice(at).join(""))];
}

/** Return the quotes of an answer as a list, with their verdicts and places. */
function quoteList({ quotes, windows, citations }, onPlace) {
  if (!quotes.length) return [];
  return [el("h2", {}, "Quotes"), el("ol", { class: "plain quotes" }, quotes.map((quote) => {
    const verdict = VERDICTS[quote.verdict] ?? VERDICTS.not_found;
    return el("li", { class: `quote ${quote.verdict}` },
      el("p", { class: "verdict small" }, el("span", { aria: { hidden: "true" } }, verdict.icon), ` ${verdict.name}`,
        el("span", { class: "muted" }, ` · ${quote.kind === "claim" ? "a claim, compared word for word. " : ""}${verdict.help}`)),
      el("blockquote", { dir: "auto" }, quote.text),
      quote.places.map((place) => wayTo(place, whereabouts(windows[place.number - 1], place), citations, onPlace)),
      quote.closest ? wayTo(quote.closest, `${Math.round(quote.similarity * 100)} % of the words: ${quote.closest.text}`, citations, onPlace) : null,
      quote.places.length || quote.closest || !quote.cited.length ? null : el("p", { class: "muted small" }, `It cites ${quote.cited.map((each) => `[${each}]`).join("")}.`));
  }))];
}

/** Return a button that shows a place in its document, and a link to it once the answer is whole, if it is on the web. */
function wayTo(place, text, citations, onPlace) {
  const { number, start, end } = place;
  const found = citations?.find((each) => each.number === number && each.start === start && each.end === end);
  return [button(`[${number}] ${text}`, () => onPlace(placeOf(place)), "quiet small quote-place", { title: place.location }),
    found ? sourceLink(found, `[${number}]`) : null];
}

/** Say how many quotes are in the sources, without claims in the answer's own words. */
function verdictSummary(all) {
  const quotes = all.filter((each) => each.verdict !== "paraphrase");
  if (!quotes.length) return "It quotes nothing.";
  const found = quotes.filter((each) => each.verdict === "verbatim" || each.verdict === "normalized").length;
  return `${found} of ${quotes.length} ${quotes.length === 1 ? "quote is" : "quotes are"} in the sources that are cited.`;
}

/** Return the marks of an answer that the server has read, each with a chip for each of its sources. */
function marksOf(citations, windows) {
  const marks = new Map();
  for (const each of citations) {
    const [start, end] = each.mark;
    const mark = marks.get(start) ?? { start, end, chips: new Map() };
    marks.set(start, mark);
    const chip = mark.chips.get(each.number) ?? { number: each.number, verdicts: [], place: placeOf(each), card: windows[each.number - 1] };
    if (each.verdict) chip.verdicts.push(each.verdict);
    mark.chips.set(each.number, chip);
  }
  return [...marks.values()].sort((one, other) => one.start - other.start).map((each) => ({ ...each, chips: [...each.chips.values()] }));
}

function chipButton({ number, verdicts, card, place }, onPlace) {
  const worst = VERDICTS[WORST_FIRST.find((each) => verdicts.includes(each))];
  const name = card?.called ?? "";
  return el("button", {
    type: "button", class: `chip${worst ? ` ${WORST_FIRST.find((each) => verdicts.includes(each))}` : ""}`,
    title: `${name}${worst ? `: the quote is ${worst.name}` : ""}`,
    aria: { label: `Source ${number}, ${name}${worst ? `, quote ${worst.name}` : ""}` },
    on: { click: () => onPlace(place) },
  }, number, worst ? ` ${worst.icon}` : null);
}

function whereabouts(card, place) {
  if (!card) return place.location;
  return card.heading ? `${card.called} › ${card.heading.split(" > ").at(-1)}` : card.called;
}

function placeOf({ doc_id: docId, start, end }) {
  return { docId, start, end };
}

/** Return text, with a badge for each mark of an unverified statement. */
function plain(text) {
  return text.split(UNVERIFIED).flatMap((part, i) => [
    ...(i ? [el("span", { class: "unverified small" }, "✕ unverified")] : []), ...(part ? [document.createTextNode(part)] : [])]);
}
