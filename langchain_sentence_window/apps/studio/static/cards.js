// A window as a card: where it is from, its text with the hits marked, its scores.

import { copyButton } from "./copying.js";
import { el, externalLink, fill } from "./dom.js";

const SHOWN_CHARS = 1200;

/**
 * Make the card of a window.
 *
 * @param {Object} card The window, as `/api/ask` returns it.
 * @param {Object} [options]
 * @param {(card: Object) => void} [options.onOpen] Called when the user chooses the card.
 * @param {boolean} [options.isCurrent] Whether its document is shown at it.
 * @param {string} [options.badge] A short remark, such as what changed.
 * @param {[number, number]} [options.scale] The lowest and the highest score of the result, for the bar.
 * @param {(docId: string, start: number) => string} [options.addressOf] The address of another place of equal text.
 * @param {string} [options.heading] The tag of its heading.
 * @returns {HTMLElement}
 */
export function windowCard(card, { onOpen, isCurrent = false, badge, scale, addressOf, heading = "h2" } = {}) {
  const element = el("article", {
    class: "card window-card", data: { rank: card.rank }, aria: isCurrent ? { current: "true" } : {},
    on: { click: (event) => { if (onOpen && isPlain(event)) onOpen(card); } },
  });
  const title = onOpen
    ? el("button", { type: "button", class: "quiet window-open", title: card.name, on: { click: () => onOpen(card) } }, nameOf(card))
    : el("span", { title: card.name }, nameOf(card));
  return fill(element,
    el("div", { class: "window-head" },
      el("span", { class: "rank number" }, el("span", { class: "visually-hidden" }, "Rank "), card.rank),
      el(heading, { class: "grow" }, title),
      badge ? el("span", { class: "badge small" }, badge) : null,
      scoreBar(card.score, scale)),
    breadcrumb(card),
    (card.lead_ins ?? []).map((each) => el("p", { class: "lead-in muted small", dir: "auto" },
      el("span", { class: "visually-hidden" }, "Before it: "), each.text)),
    foldedText(card),
    el("p", { class: "window-place muted small number" }, place(card), sourceLink(card, nameOf(card))),
    otherPlaces(card, addressOf),
    el("div", { class: "window-foot small" }, scores(card), el("span", { class: "row" },
      copyButton("Copy text", () => card.text), copyButton("Copy citation", () => `“${card.text}”\n— ${card.location}`))));
}

/** Return the text of a window with its hits marked. */
export function markedText(card) {
  return marked(card, Array.from(card.text), Infinity);
}

/** Return what a document is called in few words: the last part of its path, or its title. */
export function nameOf({ name, title }) {
  if (title && title !== name) return title;
  return name.split(/[\\/]/).filter(Boolean).pop() ?? name;
}

/** Return a link that opens a source where it says something; null if it isn't on the web. */
export function sourceLink({ url }, name) {
  if (!url) return null;
  const link = externalLink(url, "Open the source ↗");
  if (link instanceof Element) link.setAttribute("aria-label", `Open the source of ${name} in a new tab`);
  return el("span", { class: "source-link small" }, " ", link);
}

function marked(card, points, end) {
  const element = el("p", { class: "window-text", dir: "auto" });
  let at = 0;
  for (const hit of [...(card.hits ?? [])].sort((one, other) => one.start_index - other.start_index)) {
    const [from, to] = [hit.start_index, hit.end_index].map((each) => Math.min(Math.max(each - card.start_index, at), end));
    if (from >= to) continue;
    element.append(points.slice(at, from).join(""), el("mark", {}, points.slice(from, to).join("")));
    at = to;
  }
  element.append(points.slice(at, end).join(""));
  return element;
}

/** Return the text, of a long one the beginning with its first hit, and a button for the rest. */
function foldedText(card) {
  const points = Array.from(card.text);
  const firstHit = Math.min(...(card.hits ?? []).map((hit) => hit.end_index - card.start_index), points.length);
  const end = Math.max(SHOWN_CHARS, Math.min(firstHit, 4 * SHOWN_CHARS));
  if (points.length <= end + SHOWN_CHARS / 4) return marked(card, points, Infinity);
  const short = marked(card, points, end);
  short.append("…");
  const more = el("button", { type: "button", class: "small", on: { click: () => {
    const whole = el("div", { tabIndex: -1 }, marked(card, points, Infinity));
    folded.replaceWith(whole);
    whole.focus();
  } } }, `Show all ${points.length.toLocaleString()} characters`);
  const folded = el("div", {}, short, more);
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
  const titles = card.heading.split(" > ");
  return el("p", { class: "breadcrumb muted small" }, titles.map((each, i) => [
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
  parts.push(`characters ${card.start_index.toLocaleString()}–${card.end_index.toLocaleString()}`);
  return parts.join(" · ");
}

function otherPlaces(card, addressOf) {
  if (!card.also_in?.length) return null;
  return el("p", { class: "small" }, "Also in ", card.also_in.map((each, i) => [i ? ", " : null, otherPlace(each, addressOf)]));
}

function otherPlace(each, addressOf) {
  const name = nameOf({ name: each.source ?? each.doc_id });
  const page = each.pages?.length ? `, p. ${each.pages[0] + 1}` : `:${each.start_index}`;
  const text = `${name}${page}`;
  return addressOf ? el("a", { href: addressOf(each.doc_id, each.start_index), title: each.heading ?? "" }, text) : text;
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

function decimal(number) {
  return typeof number === "number" ? number.toFixed(3) : "–";
}

function count(number, what) {
  return `${number.toLocaleString()} ${what}${number === 1 ? "" : "s"}`;
}
