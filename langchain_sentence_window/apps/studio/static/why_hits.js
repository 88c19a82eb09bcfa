// The hits of a query as a table that can be sorted.

import { el } from "./dom.js";
import { SHORT_REASONS } from "./why_facts.js";
import { sentenceButton } from "./why_steps.js";

const SHOWN_SIGNALS = 3;
const LEAST_SHOWN = 0.005;
const COLUMNS = [
  { name: "rank", title: "Rank", of: (hit) => hit.rank, goesUp: true },
  { name: "score", title: "Score", of: (hit) => hit.score },
  { name: "dense", title: "Meaning", of: (hit) => hit.dense_rank ?? Infinity, goesUp: true },
  { name: "lexical", title: "Words", of: (hit) => hit.lexical_rank ?? Infinity, goesUp: true },
  { name: "signals", title: "Largest signals", of: null },
  { name: "outcome", title: "Outcome", of: (hit, window) => (window?.returned ?? Infinity), goesUp: true },
];

/**
 * Make the table.
 *
 * @param {Object} trace
 * @param {(sentence: Object) => void} onSentence Called when a sentence is chosen.
 */
export function hitsTable(trace, onSentence) {
  const windows = new Map(trace.windows.map((each) => [each.number, each]));
  const largest = Math.max(...trace.hits.flatMap((hit) => Object.values(hit.signals).map(Math.abs)), LEAST_SHOWN);
  const rows = new Map(trace.hits.map((hit) => [hit, row(hit)]));
  const table = el("table", { class: "hits" });
  const sorter = (column) => el("button", { type: "button", class: "quiet sorter", on: { click: () => sort(column) } },
    column.title, el("span", { class: "sort-mark", aria: { hidden: "true" } }));
  const heads = COLUMNS.map((column) => el("th", { scope: "col" }, column.of ? sorter(column) : column.title));
  table.append(el("caption", { class: "visually-hidden" }, "The hits. The buttons in the first row sort them."),
    el("thead", {}, el("tr", {}, heads)));
  let by = COLUMNS[0], isReversed = false;
  sort(by, false);

  function sort(column, turns = true) {
    isReversed = turns && column === by ? !isReversed : false;
    by = column;
    const order = [...trace.hits].sort((one, other) => {
      const [a, b] = [one, other].map((hit) => column.of(hit, windows.get(hit.window)));
      const compared = a === b ? 0 : (a < b) === Boolean(column.goesUp) ? -1 : 1;
      return (isReversed ? -compared : compared) || one.rank - other.rank;
    });
    table.append(...order.map((hit) => rows.get(hit)));
    COLUMNS.forEach((each, i) => {
      if (!each.of) return;
      const isUp = Boolean(each.goesUp) !== isReversed;
      heads[i].querySelector(".sort-mark").textContent = each === by ? (isUp ? " ▴" : " ▾") : "";
      if (each === by) heads[i].setAttribute("aria-sort", isUp ? "ascending" : "descending");
      else heads[i].removeAttribute("aria-sort");
    });
  }

  function row(hit) {
    const window = windows.get(hit.window);
    const isReturned = Boolean(window && window.returned !== null);
    return el("tbody", { class: isReturned ? "is-returned" : "" },
      el("tr", {},
        el("td", { class: "number", rowSpan: 2 }, hit.rank),
        el("th", { class: "hit-text", scope: "rowgroup", colSpan: COLUMNS.length - 1 }, sentenceButton(trace, hit, onSentence))),
      el("tr", {},
        el("td", { class: "number" }, hit.score.toFixed(3)),
        el("td", { class: "number" }, rank(hit.dense_rank, hit.dense_score)),
        el("td", { class: "number" }, rank(hit.lexical_rank, hit.lexical_score)),
        el("td", {}, signalBars(hit.signals, largest, trace.meanings)),
        el("td", { class: "small", title: [hit.outcome, window?.outcome].filter(Boolean).join("; ") },
          isReturned ? `✓ returned as ${window.returned}` : `✕ ${SHORT_REASONS[(window ?? hit).left_out]}`)));
  }

  return el("div", { class: "hits-scroll", role: "region", tabIndex: 0, aria: { label: "Hits" } }, table);
}

/**
 * Draw the largest signals as bars to the left (they lower the score) or to the right (they raise it).
 *
 * @param {Object<string, number>} signals
 * @param {number} largest The value of the longest bar.
 * @param {Object<string, string>} meanings
 * @param {number} [most] How many to draw.
 */
export function signalBars(signals, largest, meanings = {}, most = SHOWN_SIGNALS) {
  const shown = Object.entries(signals).sort((one, other) => Math.abs(other[1]) - Math.abs(one[1])).slice(0, most)
    .filter(([, value]) => Math.abs(value) >= LEAST_SHOWN);
  if (!shown.length) return el("span", { class: "muted" }, "–");
  return el("ul", { class: "plain bars" }, shown.map(([name, value]) => el("li", { title: meanings[name] ?? "" },
    el("span", { class: "bar-name" }, name),
    el("span", { class: `signal-bar ${value < 0 ? "is-less" : "is-more"}`, aria: { hidden: "true" } },
      el("span", { style: { width: `${Math.round(50 * Math.min(1, Math.abs(value) / largest))}%` } })),
    el("span", { class: "number" }, `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`))));
}

function rank(number, score) {
  return number === null ? el("span", { class: "muted" }, "–") : el("span", { title: `score ${score.toFixed(3)}` }, number);
}
