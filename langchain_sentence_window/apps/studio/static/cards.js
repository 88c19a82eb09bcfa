// A window as a card: where it is from, its text with the hits marked, its scores, and how it differs from another one.

import { el, externalLink } from "./dom.js";
import { button, copyButton } from "./widgets.js";
import { baseName, count, decimal, nameOf } from "./words.js";

const SHOWN_CHARS = 1200;

/**
 * Make the card of a window.
 *
 * @param {Object} card The window, as `/api/ask` returns it.
 * @param {Object} options
 * @param {(card: Object) => void} options.onOpen Called when the user chooses the card.
 * @param {(docId: string, start: number) => string} options.addressOf The address of another place of equal text.
 * @param {[number, number]} [options.scale] The lowest and the highest score of the result, for the bar.
 * @param {Array<{kind: string, text: string, long: ?string}>} [options.changes] How it differs from the other side's.
 * @param {Set<number>} [options.own] The indexes of its sentences that the other side doesn't have.
 * @returns {HTMLElement}
 */
export function windowCard(card, { onOpen, addressOf, scale, changes = [], own = new Set() }) {
  const badges = changes.map(({ kind, text, long }) => el("span", { class: `badge change-${kind} small`, title: long ?? text },
    long ? [el("span", { aria: { hidden: "true" } }, text), el("span", { class: "visually-hidden" }, long)] : text));
  return el("article", {
    class: "card window-card", data: { rank: card.rank }, on: { click: (event) => { if (isPlain(event)) onOpen(card); } },
  }, el("div", { class: "window-head" },
    el("span", { class: "rank number" }, el("span", { class: "visually-hidden" }, "Rank "), card.rank),
    el("h2", { class: "grow" }, button(nameOf(card), () => onOpen(card), "quiet window-open", { title: card.name })),
    badges, scoreBar(card.score, scale)),
  breadcrumb(card),
  (card.lead_ins ?? []).map((each) => el("p", { class: "lead-in muted small", dir: "auto" },
    el("span", { class: "visually-hidden" }, "Before it: "), each.text)),
  foldedText(card, own),
  el("p", { class: "window-place muted small number" }, place(card), sourceLink(card, nameOf(card))),
  otherPlaces(card, addressOf),
  el("div", { class: "window-foot small" }, scores(card), el("span", { class: "row" },
    copyButton("Copy text", () => card.text), copyButton("Copy citation", () => `“${card.text}”\n— ${card.location}`))));
}

/** Return a link that opens a source where it says something; null if it isn't on the web. */
export function sourceLink({ url }, name) {
  if (!url) return null;
  const link = externalLink(url, "Open the source ↗");
  if (link instanceof Element) link.setAttribute("aria-label", `Open the source of ${name} in a new tab`);
  return el("span", { class: "source-link small" }, " ", link);
}

/** Return the text up to a code point, with hits marked, and sentences that the other side doesn't have. */
function marked(card, own, points, end) {
  const element = el("p", { class: "window-text", dir: "auto" });
  const spans = new Map((card.hits ?? []).map((hit) => [hit.start_index, { to: hit.end_index, isHit: true }]));
  (card.sentence_spans ?? []).forEach(([from, to], i) => {
    if (own.has(card.sentences[0] + i)) spans.set(from, { to, isHit: spans.has(from), isOwn: true });
  });
  let at = 0;
  for (const [start, { to: stop, isHit, isOwn }] of [...spans].sort((one, other) => one[0] - other[0])) {
    const [from, to] = [start, stop].map((each) => Math.min(Math.max(each - card.start_index, at), end));
    if (from >= to) continue;
    const text = points.slice(from, to).join("");
    const shown = isHit ? el("mark", {}, text) : text;
    element.append(points.slice(at, from).join(""), isOwn ? el("span", { class: "is-own", title: "Not in the other side's windows" }, shown) : shown);
    at = to;
  }
  element.append(points.slice(at, end).join(""));
  return element;
}

/** Return the text, of a long one the beginning with its first hit, and a button for the rest. */
function foldedText(card, own) {
  const points = Array.from(card.text);
  const firstHit = Math.min(...(card.hits ?? []).map((hit) => hit.end_index - card.start_index), points.length);
  const end = Math.max(SHOWN_CHARS, Math.min(firstHit, 4 * SHOWN_CHARS));
  if (points.length <= end + SHOWN_CHARS / 4) return marked(card, own, points, Infinity);
  const short = marked(card, own, points, end);
  short.append("…");
  const folded = el("div", {}, short, button(`Show all ${points.length.toLocaleString()} characters`, () => {
    const whole = el("div", { tabIndex: -1 }, marked(card, own, points, Infinity));
    folded.replaceWith(whole);
    whole.focus();
  }, "small"));
  return folded;
}

function scoreBar(score, scale) {
  if (typeof score !== "number") return null;
  const [low, high] = scale ?? [0, score];
  const floor = Math.min(0, low);
  const part = high > floor ? Math.min(Math.max((score - floor) / (high - floor), 0), 1) : 0;
  return el("span", { class: "score", title: `Score ${score}` },
    el("span", { class: "score-bar", aria: { hidden: "true" } }, el("span", { style: { width: `${Math.round(100 * part)}%` } })),
    el("span", { class: "visually-hidden" }, "Score "), el("span", { class: "number" }, decimal(score)));
}

function breadcrumb(card) {
  if (!card.heading) return null;
  return el("p", { class: "breadcrumb muted small" }, card.heading.split(" > ").map((each, i) => [
    i ? el("span", { class: "sep", aria: { label: "then" }, role: "img" }, " › ") : null, el("span", {}, each)]));
}

/** Return where a window stands and how long it is. */
function place(card) {
  const parts = [];
  const pages = card.page_labels ?? card.pages?.map((each) => each + 1);
  if (card.place) parts.push(card.place);
  else if (pages?.length) parts.push(`p. ${pages.length > 1 ? `${pages[0]}–${pages.at(-1)}` : pages[0]}`);
  const clock = (seconds) => new Date(1000 * seconds).toISOString().slice(11, 19);
  if (card.times?.length) parts.push(card.times.map(clock).join("–"));
  const [first, last] = card.sentences ?? [];
  if (first !== undefined) parts.push(count(last - first + 1, "sentence"));
  parts.push(`about ${count(card.tokens, "token")}`);
  const [unit, from, to] = card.lines ? ["line", ...card.lines] : ["character", card.start_index, card.end_index];
  const rest = from === to ? "" : `–${to.toLocaleString()}`;
  parts.push(`${unit}${rest && "s"} ${from.toLocaleString()}${rest}`);
  return parts.join(" · ");
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
 *   the other side that shares the most sentences with it; by how many ranks this one stands higher; how many more
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
