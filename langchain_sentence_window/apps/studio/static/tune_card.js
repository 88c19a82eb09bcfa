// A window in a comparison: its text, with hits marked and sentences underlined that the other side doesn't have.

import { nameOf } from "./cards.js";
import { el } from "./dom.js";
import { differences } from "./tune_compare.js";

/**
 * Make the card.
 *
 * @param {Object} compared One of the windows that `compare` of tune_compare.js returns.
 * @param {Object} options
 * @param {string} options.side The name of its side.
 * @param {string} options.another The name of the other side.
 * @param {string} options.address The address of the window in the view Ask.
 * @param {boolean} options.isGold Whether it holds what answers the question.
 */
export function comparedCard(compared, { side, another, address, isGold }) {
  const { card, own } = compared;
  const changes = differences(compared, side, another);
  const badges = changes.map((each) => el("span", { class: `change change-${each.kind} small`, title: each.long ?? each.text },
    each.long ? [el("span", { aria: { hidden: "true" } }, each.text), el("span", { class: "visually-hidden" }, each.long)] : each.text));
  return el("article", { class: `card tune-card${compared.other ? "" : " is-only"}`, data: { rank: card.rank } },
    el("div", { class: "tune-card-head" },
      el("span", { class: "rank number" }, el("span", { class: "visually-hidden" }, "Rank "), card.rank),
      el("h3", { class: "grow" }, el("a", { href: address, title: card.name }, nameOf(card))),
      isGold ? el("span", { class: "badge small" }, "✓ answer") : null, badges),
    card.heading ? el("p", { class: "breadcrumb muted small" }, card.heading.replaceAll(" > ", " › ")) : null,
    (card.lead_ins ?? []).map((each) => el("p", { class: "lead-in muted small", dir: "auto" }, each.text)),
    text(card, compared.other ? own : new Set()),
    el("p", { class: "muted small number" }, `${card.tokens} tokens · score ${decimal(card.score)}`,
      typeof card.relevance_score === "number" ? ` · reranker ${decimal(card.relevance_score)}` : ""));
}

/** Return the text sentence by sentence; offsets count code points. */
function text(card, own) {
  const points = Array.from(card.text);
  const hits = new Set((card.hits ?? []).map((each) => each.sentence_index));
  const element = el("p", { class: "window-text", dir: "auto" });
  let at = 0;
  (card.sentence_spans ?? []).forEach(([from, to], i) => {
    const [first, last] = [from - card.start_index, to - card.start_index];
    if (first < at || last > points.length) return;
    const index = card.sentences[0] + i;
    const sentence = points.slice(first, last).join("");
    const shown = hits.has(index) ? el("mark", {}, sentence) : sentence;
    element.append(points.slice(at, first).join(""),
      own.has(index) ? el("span", { class: "is-own", title: "Not in the other side's windows" }, shown) : shown);
    at = last;
  });
  element.append(points.slice(at).join(""));
  return element;
}

function decimal(number) {
  return typeof number === "number" ? number.toFixed(3) : "–";
}
