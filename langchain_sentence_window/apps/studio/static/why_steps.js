// The steps of a query as a list: counts, tokens and milliseconds at each, and what was dropped there and why.

import { el } from "./dom.js";
import { brief, count, foundByText, grouped, moved, ms, returnedWindows, shortName, strongestSignals } from "./why_facts.js";

const SHOWN = 8;
const SHOWN_SIGNALS = 4;

/**
 * List the steps of a trace.
 *
 * @param {Object} trace
 * @param {(sentence: Object) => void} onSentence Called when a sentence or a window is chosen.
 */
export function steps(trace, onSentence) {
  const go = (each) => sentenceButton(trace, each, onSentence);
  return el("ol", { class: "plain steps" }, [
    questionStep(trace), foundStep(trace, go), reorderedStep(trace, go), hitsStep(trace, go), openedStep(trace),
    joinedStep(trace, go), rerankedStep(trace, go), cutStep(trace, go), returnedStep(trace, go),
  ].filter(Boolean));
}

/** Make a button that shows a sentence, or a window, in the document. */
export function sentenceButton(trace, each, onSentence, note) {
  const chosen = { docId: each.doc_id, index: each.index ?? each.sentences[0], start: each.start, end: each.end, text: each.text };
  return el("button", { type: "button", class: "quiet sentence", title: trace.names?.[each.doc_id] ?? each.doc_id,
    on: { click: () => onSentence?.(chosen) } },
  el("span", { class: "sentence-text", dir: "auto" }, brief(each.text)),
  el("span", { class: "muted small" }, [shortName(trace, each.doc_id), note].filter(Boolean).join(" · ")));
}

function step(title, facts, ...details) {
  return el("li", { class: "step" }, el("h3", {}, title), el("p", { class: "step-facts number" }, facts.filter(Boolean).join(" · ")), details);
}

function fold(summary, ...children) {
  return el("details", {}, el("summary", {}, summary), children);
}

function list(items, show) {
  const rest = items.length - SHOWN;
  const shown = el("ul", { class: "plain" }, items.slice(0, SHOWN).map((each) => el("li", {}, show(each))));
  if (rest <= 0) return shown;
  const more = el("button", { type: "button", class: "small", on: { click: () => {
    const others = items.slice(SHOWN).map((each) => el("li", {}, show(each)));
    shown.append(...others);
    others[0].querySelector("button")?.focus();
    more.remove();
  } } }, `Show ${rest} more`);
  return el("div", {}, shown, more);
}

function questionStep(trace) {
  const by = ({ name, words }) => (name ? `its name “${name}”` : words.map((word) => `“${word}”`).join(" and "));
  const named = trace.named.map((each) => el("li", {}, el("b", {}, shortName(trace, each.doc_id)), ` by ${by(each)}`));
  const isShorter = trace.searched_as && trace.searched_as !== trace.query;
  return step("Question", [named.length ? `names ${count(named.length, "document")}, searched first` : "names no document"],
    el("p", { class: "question-text", dir: "auto" }, trace.query),
    named.length ? el("ul", {}, named) : null,
    isShorter ? el("p", { class: "muted small" }, `Searched there as “${trace.searched_as}”`) : null,
    fold("The settings", el("ul", {}, Object.entries(trace.settings).map(([name, value]) =>
      el("li", { class: "small" }, el("code", {}, name), ` ${JSON.stringify(value)}`)))));
}

function foundStep(trace, go) {
  const { counts, seconds, candidates } = trace;
  return step("Found by meaning and by words", [
    `${counts.dense.toLocaleString()} by meaning`, `${counts.lexical.toLocaleString()} by words`,
    `${counts.both.toLocaleString()} by both`, seconds.search === undefined ? null : `${ms(seconds.search)} with reordering`,
  ],
  trace.settings.lexical_weight === 0 ? el("p", { class: "muted small" }, "Words don't count: lexical_weight is 0.") : null,
  grouped(candidates, foundByText).map(([how, found]) => fold(`${count(found.length, "candidate")} found ${how}`,
    list([...found].sort((one, other) => one.searched_rank - other.searched_rank), (each) => go(each, null)))));
}

function reorderedStep(trace, go) {
  const signals = strongestSignals(trace);
  if (!signals.length) return step("Reordered", ["no: the order is the search's"]);
  const movers = trace.candidates.filter((each) => moved(each)).sort((one, other) => moved(other) - moved(one));
  const [up, down] = [movers.filter((each) => moved(each) > 0), movers.filter((each) => moved(each) < 0).reverse()];
  const row = (each) => [go(each), el("span", { class: "moved small number" }, `${each.searched_rank} → ${each.rank}`)];
  return step("Reordered", [count(trace.candidates.length, "candidate"), `${up.length} up`, `${down.length} down`],
    el("p", { class: "muted small" }, "Mostly by ", signals.slice(0, SHOWN_SIGNALS).map((each, i) => [
      i ? ", " : null, el("span", { class: "signal-name", title: each.meaning }, `${each.name} (${percent(each.share)})`)])),
    fold("What the signals are", el("ul", {}, signals.map((each) =>
      el("li", { class: "small" }, el("code", {}, each.name), ` ${percent(each.share)}: ${each.meaning}`)))),
    up.length ? fold(`${count(up.length, "sentence")} moved up`, list(up, row)) : null,
    down.length ? fold(`${count(down.length, "sentence")} moved down`, list(down, row)) : null);
}

function hitsStep(trace, go) {
  const dropped = trace.candidates.filter((each) => each.left_out);
  return step("Hits taken", [`${trace.hits.length} of ${count(trace.candidates.length, "candidate")}`, count(trace.tokens.hits, "token")],
    judged(trace), droppedGroups(trace, dropped, go));
}

/** Say how relevance was judged, if it was. */
function judged({ relevance }) {
  const numbers = Object.entries(relevance);
  if (!numbers.length) return null;
  const isSupported = relevance.support >= relevance.needed;
  const verdict = relevance.support === undefined ? "" : `The question is${isSupported ? "" : "n't"} supported: `;
  return el("p", { class: "muted small" }, verdict, numbers.map(([name, value]) => `${name} ${Number(value).toPrecision(3)}`).join(", "));
}

function droppedGroups({ reasons }, items, go) {
  const cross = () => el("span", { class: "dropped-mark", aria: { hidden: "true" } }, "✕ ");
  return grouped(items, (each) => each.left_out).map(([code, found]) =>
    fold([cross(), `${found.length.toLocaleString()} left out: ${reasons[code]}`], list(found, (each) => go(each))));
}

function openedStep(trace) {
  const endOf = ({ by, where }) => `${by === "window" ? "a better window" : by}, ${where} the hit`;
  const ends = grouped(trace.windows.flatMap((each) => each.ends), endOf);
  const merged = trace.hits.length - trace.windows.length;
  const inOthers = merged > 0 ? `${count(merged, "hit")} ${merged === 1 ? "is" : "are"} in the window of another.` : null;
  const end = (what, found) => `${what}: ${count(found.length, "window")}`;
  return step("Opened to windows",
    [count(trace.windows.length, "window"), count(trace.tokens.windows, "token"), ms(trace.seconds.windows)],
    el("p", { class: "muted small" }, `window is ${JSON.stringify(trace.settings.window)}. `, inOthers),
    ends.length ? fold("What ended windows early", el("ul", {}, ends.map((each) => el("li", { class: "small" }, end(...each))))) : null);
}

function joinedStep(trace, go) {
  const returned = trace.windows.filter((each) => each.returned !== null);
  const joined = returned.filter((each) => each.joined.length);
  const wider = returned.filter((each) => each.change === "widened");
  const trimmed = returned.filter((each) => each.change === "trimmed");
  const widths = (each) => (each.kept ? `sentences ${each.sentences.join("–")} → ${each.kept.join("–")}` : null);
  const row = (each) => [go(each), el("span", { class: "moved small number" }, widths(each))];
  return step("Joined and completed", [`${joined.length} joined`, `${wider.length} completed or widened`, `${trimmed.length} trimmed`],
    [["joined with another near it", joined], ["completed or widened", wider], ["trimmed to fit", trimmed]].map(([what, found]) =>
      (found.length ? fold(`${count(found.length, "window")} ${what}`, list(found, row)) : null)));
}

function rerankedStep(trace, go) {
  const ranked = trace.windows.filter((each) => each.reranked !== null);
  if (!ranked.length) return null;
  const row = (each) => [go(each), el("span", { class: "moved small number" }, `${each.number} → ${each.reranked}`)];
  const order = [...ranked].sort((one, other) => one.reranked - other.reranked);
  return step("Reranked", [count(ranked.length, "window"), ms(trace.seconds.rerank)], fold("The new order", list(order, row)));
}

function cutStep(trace, go) {
  const dropped = trace.windows.filter((each) => each.returned === null);
  const limits = [`k ${trace.settings.k}`, trace.settings.max_tokens === null ? null : `max_tokens ${trace.settings.max_tokens}`];
  return step("Cut", [`${count(dropped.length, "window")} left out`, ...limits], droppedGroups(trace, dropped, go));
}

function returnedStep(trace, go) {
  const windows = returnedWindows(trace);
  const all = Object.values(trace.seconds).reduce((one, other) => one + other, 0);
  const row = (each) => [go(each), el("span", { class: "moved small number" }, count(each.returned_tokens, "token"))];
  return step("Returned", [count(trace.counts.returned, "window"), count(trace.tokens.returned, "token"), `${ms(all)} in all`],
    windows.length ? fold("The windows", list(windows, row)) : null);
}

function percent(share) {
  return `${Math.round(100 * share)} %`;
}
