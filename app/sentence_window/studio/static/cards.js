// A window as a card: where it is from, its text with the hits marked, its scores, and how it differs from another one.

import { el, externalLink, fill } from "./dom.js";
import { createModel } from "./reader_model.js";
import { layBlocks } from "./reader_text.js";
import { button, copy } from "./widgets.js";
import { baseName, count, decimal } from "./words.js";

const SHOWN_CHARS = 1200;
/** The likelihood of an answer below which windows are doubtful, as for the command. */
const DOUBTFUL = 0.05;

/**
 * Make the card of a window.
 *
 * @param {Object} card The window, as `/api/ask` returns it.
 * @param {Object} options
 * @param {string} options.name What its document is called.
 * @param {(card: Object) => void} options.onOpen Called when the user chooses the card.
 * @param {(docId: string, start: number) => string} options.addressOf The address of another place of equal text.
 * @param {(docId: string, spans: number[][]) => void} options.onAnswer Called when text of the card answers the question, or no more.
 * @param {Array<{kind: string, text: string, long: ?string}>} [options.changes] How it differs from the other side's.
 * @param {Set<number>} [options.own] The indexes of its sentences that the other side doesn't have.
 */
export function windowCard(card, { name, onOpen, onAnswer, addressOf, changes = [], own = new Set() }) {
  const [text, sentences] = laidText(card, own);
  const spans = card.sentence_spans ?? [];
  const isHit = new Set((card.hits ?? []).map((hit) => hit.start_index));
  const all = spans.filter(([start]) => isHit.has(start));
  const below = all.filter((each) => !sentences[spans.indexOf(each)][0]?.closest(".heading"));
  const hits = below.length ? below : all; // the text below a heading answers
  const answer = button("This is the answer", () => onAnswer(card.doc_id, chosen()), "small", { hidden: true, title: "Keeps what is selected, else the hits, with the question (a)" });

  /** Return the sentences that are selected, else the hits. */
  function chosen() {
    const selection = getSelection();
    const isIn = (each) => !selection.isCollapsed && selection.containsNode(each, true);
    const found = spans.filter((_, i) => sentences[i].some(isIn));
    return found.length ? found : hits;
  }
  const badges = changes.map(({ kind, text, long }) => el("span", { class: `badge change-${kind} small`, title: long ?? text },
    long ? [el("span", { aria: { hidden: "true" } }, text), el("span", { class: "visually-hidden" }, long)] : text));
  const element = el("article", {
    class: "card window-card", data: { rank: card.rank }, on: { click: (event) => { if (isPlain(event)) onOpen(card); } },
  }, el("div", { class: "window-head" },
    el("span", { class: "rank number" }, el("span", { class: "visually-hidden" }, "Rank "), card.rank),
    el("h2", { class: "grow", dir: "auto" }, button(name, () => onOpen(card), "quiet window-open", { title: card.name })),
    badges, scoreBar(card)),
  breadcrumb(card),
  (card.lead_ins ?? []).map((each) => el("p", { class: "lead-in muted small", dir: "auto" },
    el("span", { class: "visually-hidden" }, "Before it: "), each.text)),
  text,
  el("p", { class: "window-place muted small number" }, place(card), sourceLink(card, name)),
  otherPlaces(card, addressOf),
  el("div", { class: "window-foot small" }, scores(card), el("span", { class: "row" }, answer,
    button("Copy with its place", () => copy(`“${card.text}”\n— ${card.location}`), "quiet small copy"))));
  return {
    card, element, chosen,
    /** Mark what is the answer of the question: spans of the document; null where nothing can be marked. */
    showGold(gold) {
      const isGold = ([start, end]) => (gold ?? []).some(([first, last]) => first <= start && end <= last);
      spans.forEach((each, i) => { for (const part of sentences[i]) part.classList.toggle("gold", isGold(each)); });
      answer.hidden = gold === null || !hits.length;
      fill(answer, hits.every(isGold) ? "This isn't the answer" : "This is the answer");
    },
  };
}

/** Return a link that opens a source where it says something; null if it isn't on the web. */
export function sourceLink({ url }, name) {
  if (!url) return null;
  const link = externalLink(url, "Open the source ↗");
  if (link instanceof Element) link.setAttribute("aria-label", `Open the source of ${name} in a new tab`);
  return el("span", { class: "source-link small" }, " ", link);
}

/** Lay the text out, of a long one the beginning with its first hit, and a button for the rest; return it with its sentences. */
function laidText(card, own) {
  const hits = new Set((card.hits ?? []).map((hit) => hit.start_index));
  const spans = card.sentence_spans ?? [];
  const model = createModel({ kind: card.kind, sentences: spans, blocks: card.blocks });
  const laid = layBlocks(model, (position) => (hits.has(spans[position][0]) ? "mark" : "span"));
  spans.forEach((_, i) => {
    if (own.has(card.sentences[0] + i)) for (const each of laid.sentences[i]) Object.assign(each, { className: "s is-own", title: "Not in the other side's windows" });
  });
  const element = el("div", { class: `window-text laid ${card.kind}`, dir: "auto" }, laid.chunks.flatMap((each) => [...each.children]));
  const firstHit = Math.min(...(card.hits ?? []).map((hit) => hit.end_index - card.start_index), card.text.length);
  const end = card.start_index + Math.max(SHOWN_CHARS, Math.min(firstHit, 4 * SHOWN_CHARS));
  if (card.text.length <= end - card.start_index + SHOWN_CHARS / 4) return [element, laid.sentences];
  const rest = [...laid.sentences.filter((_, i) => spans[i][0] >= end).flat(),
    ...laid.blocks.filter((each) => Number(each.dataset.start) > end)];
  const more = button(`Show all ${card.text.length.toLocaleString()} characters`, () => {
    for (const each of rest) each.hidden = false;
    more.remove();
    element.tabIndex = -1;
    element.focus();
  }, "small");
  for (const each of rest) each.hidden = true;
  return [el("div", {}, element, rest.length ? more : null), laid.sentences];
}

function scoreBar({ score }) {
  if (typeof score !== "number") return null;
  return el("span", { class: "score", title: `Score ${score}; the bar goes from 0 to 1` }, meter(score),
    el("span", { class: "visually-hidden" }, "Score "), el("span", { class: "number" }, decimal(score)));
}

/** Return what to say of windows that hardly fit the question; empty if one does, or it isn't known. */
export function doubtful(windows) {
  const isUnlikely = windows.length && windows.every(({ relevance }) => typeof relevance === "number" && relevance < DOUBTFUL);
  return isUnlikely ? "These passages may not answer the question." : "";
}

/** Draw a number from 0 to 1. */
export function meter(value) {
  const width = `${Math.round(100 * Math.min(Math.max(value, 0), 1))}%`;
  return el("span", { class: "score-bar", aria: { hidden: "true" } }, el("span", { style: { width } }));
}

function breadcrumb(card) {
  if (!card.heading) return null;
  return el("p", { class: "breadcrumb muted small" }, card.heading.split(" > ").map((each, i) => [
    i ? el("span", { class: "sep", aria: { label: "then" }, role: "img" }, " › ") : null, el("span", {}, each)]));
}

/** Return where a window is and how long it is. */
function place(card) {
  const [first, last] = card.sentences;
  const inside = card.location.replace(card.name, "").replace(` (${card.heading})`, "");
  const where = inside.replace(/^:/, "characters ").replace(/^, /, "");
  return [where, count(last - first + 1, "sentence"), `about ${count(card.tokens, "token")}`].filter(Boolean).join(" · ");
}

function otherPlaces(card, addressOf) {
  if (!card.also_in?.length) return null;
  const link = (each) => el("a", { href: addressOf(each.doc_id, each.start_index), title: each.heading ?? "" },
    `${baseName(each.source ?? each.doc_id)}${each.pages?.length ? `, p. ${each.pages[0] + 1}` : `:${each.start_index}`}`);
  return el("p", { class: "small" }, "Also in ", card.also_in.map((each, i) => [i ? ", " : null, link(each)]));
}

function scores(card) {
  const [first] = card.sentences ?? [0];
  const row = (hit) => el("tr", {}, el("th", { scope: "row" }, `Sentence ${hit.sentence_index - first + 1}`),
    el("td", { class: "number" }, decimal(hit.score)), el("td", { class: "number" }, decimal(hit.similarity)));
  const reranked = typeof card.relevance_score === "number" ? `, reranker ${decimal(card.relevance_score)}` : "";
  return el("details", { class: "window-scores" },
    el("summary", {}, `${count(card.hits?.length ?? 0, "hit")}${reranked}`),
    el("table", {},
      el("thead", {}, el("tr", {}, ["Hit", "Score", "Similarity"].map((each) => el("th", { scope: "col" }, each)))),
      el("tbody", {}, (card.hits ?? []).map(row))));
}

/** Return whether a click means the card itself: not something in it, nor the end of selecting text. */
function isPlain(event) {
  return !event.target.closest("button, a, summary, details, table") && String(getSelection()) === "";
}

/**
 * Compare the windows of one side with those of the other.
 *
 * @returns {Array<{other: Object|null, moved: number, longer: number, own: Set<number>}>} For each window: the one of
 *   the other side that shares the most sentences with it; by how many ranks this one is higher; how many more
 *   sentences it has; and the indexes of its sentences that no window of the other side has.
 */
export function compare(cards, others) {
  const indexes = ({ sentences: [first, last] }) => Array.from({ length: last - first + 1 }, (_, i) => first + i);
  const shared = (one, other) => Math.min(one.sentences[1], other.sentences[1]) - Math.max(one.sentences[0], other.sentences[0]) + 1;
  return cards.map((card) => {
    const near = others.filter((other) => other.doc_id === card.doc_id);
    const other = near.filter((each) => shared(card, each) > 0).sort((a, b) => shared(card, b) - shared(card, a))[0] ?? null;
    const held = new Set(near.flatMap(indexes));
    return {
      other, moved: other ? other.rank - card.rank : 0, longer: other ? indexes(card).length - indexes(other).length : 0,
      own: other ? new Set(indexes(card).filter((index) => !held.has(index))) : new Set(),
    };
  });
}

/** Return in words how a window differs from its counterpart; `side` and `another` name the two sides. */
export function differences({ other, moved, longer }, side, another) {
  if (!other) return [{ kind: "only", text: `only in ${side}` }];
  const found = [];
  if (moved) {
    const [kind, arrow, how] = moved > 0 ? ["up", "▲", "higher"] : ["down", "▼", "lower"];
    const ranks = Math.abs(moved);
    found.push({ kind, text: `${arrow} ${ranks}`, long: `${how} by ${ranks}: ${another} has it as ${other.rank}` });
  }
  if (longer) {
    const [kind, sign] = longer > 0 ? ["longer", "+"] : ["shorter", "−"];
    const sentences = count(Math.abs(longer), "sentence");
    found.push({ kind, text: `${sign}${sentences}`, long: `${kind} than in ${another} by ${sentences}` });
  }
  return found;
}

/** Return a line that says how two results differ. */
export function comparison(ofA, ofB) {
  const only = (found) => found.filter((each) => !each.other).length;
  const both = ofA.filter((each) => each.other);
  const moved = both.filter((each) => each.moved).length;
  const resized = both.filter((each) => each.longer).length;
  if (!only(ofA) && !only(ofB) && !moved && !resized) return "Both return the same windows.";
  const same = `${both.length} in both: ${moved} at another rank, ${resized} longer or shorter`;
  return `${only(ofA)} only in A, ${only(ofB)} only in B, ${same}.`;
}
