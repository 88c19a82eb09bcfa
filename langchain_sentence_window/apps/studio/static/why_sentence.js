// Why a sentence is, or isn't, among the windows.

import { post } from "./api.js";
import { el, fill } from "./dom.js";
import { brief } from "./why_facts.js";

const SHOWN_SIGNALS = 5;

/**
 * Make the box that tells what became of a sentence.
 *
 * @param {Object} options
 * @param {(sentence: Object) => void} [options.onSentence] Called when the sentence is chosen.
 * @param {(settings: Object) => void} options.onSettings Called with all settings when advice is taken.
 */
export function createVerdict({ onSentence, onSettings }) {
  const element = el("section", { class: "verdict-box card", hidden: true, aria: { label: "One sentence", live: "polite" } });
  let aborting = null;

  function clear() {
    aborting?.abort();
    element.hidden = true;
    fill(element);
  }

  async function show(query, settings, docId, sentence) {
    aborting?.abort();
    const mine = aborting = new AbortController();
    element.hidden = false;
    fill(element, el("p", { class: "muted" }, "Looking for the sentence…"));
    try {
      const fate = await post("/api/why", { query, settings, doc_id: docId, sentence }, { signal: mine.signal });
      fill(element, told(fate, settings));
      return fate;
    } catch (error) {
      if (error.name === "AbortError") throw error;
      fill(element, el("p", { class: "error" }, error.message));
      return null;
    }
  }

  function told(fate, settings) {
    const isThere = fate.is_shown;
    const known = fate.text !== null;
    return [
      el("div", { class: "row" }, el("h2", { class: "grow" }, isThere ? "This sentence is there" : "Why isn't this sentence there?"),
        el("button", { type: "button", class: "quiet small", on: { click: clear } }, "Close")),
      known ? sentence(fate) : null,
      el("p", { class: "reason" }, el("span", { aria: { hidden: "true" } }, isThere ? "✓ " : "✕ "), sentenceOf(fate.reason)),
      fate.nearest ? el("p", {}, sentenceOf(fate.nearest)) : null,
      advice(fate, settings),
      known ? ranks(fate) : null,
      lowered(fate),
    ];
  }

  function sentence({ doc_id: docId, index, start, end, text, heading }) {
    return el("button", { type: "button", class: "quiet sentence", on: { click: () => onSentence?.({ docId, index, start, end, text }) } },
      el("span", { class: "sentence-text", dir: "auto" }, `“${brief(text, 240)}”`),
      heading ? el("span", { class: "muted small" }, heading.replaceAll(" > ", " › ")) : null);
  }

  function advice(fate, settings) {
    const buttons = fate.advised.map(({ written, settings: own }) => el("button", { type: "button", class: "main small",
      on: { click: () => onSettings(withSettings(settings, own)) } }, `Try ${written}`));
    const tried = fate.tried.length ? el("details", {}, el("summary", { class: "small" }, `Tried: ${fate.tried.length}`),
      el("ul", { class: "small" }, fate.tried.map((each) => el("li", {}, el("code", {}, each))))) : null;
    return el("div", { class: "advice" }, el("p", {}, fate.advice), el("div", { class: "row" }, buttons), tried);
  }

  return { element, show, clear };
}

function withSettings(settings, own) {
  const found = { ...settings, ...own };
  if (own.filter === null) delete found.filter;
  return found;
}

/** Compare its ranks and scores with those of the last hit and the best one. */
function ranks(fate) {
  const rows = [
    ["This sentence", fate.rank, fate.score, fate.cosine, fate.lexical_score],
    fate.last_hit && ["The last hit", fate.last_hit.rank, fate.last_hit.score, fate.last_hit.cosine],
    fate.best && ["The best hit", fate.best.rank, fate.best.score, fate.best.cosine],
  ].filter(Boolean);
  return el("div", {},
    el("table", { class: "verdict-ranks" }, el("caption", { class: "visually-hidden" }, "Its rank and scores beside those of the hits"),
      el("thead", {}, el("tr", {}, ["", "Rank", "Score", "Similarity"].map((each, i) => (i ? el("th", { scope: "col" }, each) : el("td", {}))))),
      el("tbody", {}, rows.map(([name, rank, score, cosine]) => el("tr", {}, el("th", { scope: "row" }, name),
        el("td", { class: "number" }, rank === null ? `not among ${fate.candidates}` : `${rank} of ${fate.candidates}`),
        el("td", { class: "number" }, decimal(score)), el("td", { class: "number" }, decimal(cosine)))))));
}

/** Draw the signals that scored it lower than the last hit: its part and that one's. */
function lowered({ signals, meanings }) {
  const shown = Object.entries(signals).slice(0, SHOWN_SIGNALS);
  if (!shown.length) return null;
  const largest = Math.max(...shown.flat(2).filter((each) => typeof each === "number").map(Math.abs), 0.01);
  const bar = (name, value, who) => el("div", { class: "compared" }, el("span", { class: "muted small compared-who" }, who),
    el("span", { class: `signal-bar ${value < 0 ? "is-less" : "is-more"} of-${who === "this" ? "own" : "last"}`, aria: { hidden: "true" } },
      el("span", { style: { width: `${Math.round(50 * Math.abs(value) / largest)}%` } })),
    el("span", { class: "number small" }, `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`));
  return el("div", {}, el("h3", {}, "What scored it lower than the last hit"), el("ul", { class: "plain lowered" }, shown.map(([name, [own, last]]) =>
    el("li", {}, el("p", { class: "small" }, el("code", {}, name), el("span", { class: "muted" }, ` ${meanings[name] ?? ""}`)),
      bar(name, own, "this"), bar(name, last, "last hit")))));
}

/** Make a phrase a sentence: begin it with a capital, and end it with a full stop. */
function sentenceOf(phrase) {
  const [first = "", ...rest] = Array.from(phrase);
  return `${first.toUpperCase()}${rest.join("")}.`;
}

function decimal(number) {
  return typeof number === "number" ? number.toFixed(3) : "–";
}
