// A question beside the document: its gold, and how it fared in a run.

import { el, fill } from "./dom.js";
import { STATES, shortName } from "./evaluate_list.js";
import { percent } from "./plot.js";

const MISSED_CHARS = 300;

/**
 * Make the panel of a question.
 *
 * @param {Object} handlers
 * @param {(question: Object) => void} handlers.onAsk
 * @param {(question: Object, start: number) => void} handlers.onWhy Called to see why a place was missed.
 * @param {(question: Object) => void} handlers.onEdit
 * @param {(question: Object) => void} handlers.onDelete
 * @param {(step: number) => void} handlers.onStep Called to go to the next or the previous question.
 * @param {(start: number) => void} handlers.onPlace Called to show a place of the document.
 */
export function createQuestionPanel({ onAsk, onWhy, onEdit, onDelete, onStep, onPlace }) {
  const element = el("section", { class: "question-panel", hidden: true, aria: { label: "The question" } });
  return {
    element,
    hide() { element.hidden = true; },
    /**
     * Show a question.
     *
     * @param {Object} question A row of `/api/questions`.
     * @param {Object} options
     * @param {{run: Object, budget: number, isStale: boolean, detail: Object|null}|null} options.result How it fared in a run.
     * @param {boolean} options.canChange
     */
    show(question, { result = null, canChange }) {
      element.hidden = false;
      fill(element,
        el("h2", {}, question.question),
        el("p", { class: "muted small", title: question.name }, shortName(question.name), " ", question.state === "ok" ? null : el("span", { class: "badge warn" }, STATES[question.state])),
        el("div", { class: "row" },
          button("Ask it", () => onAsk(question), "main"),
          canChange ? button("Edit", () => onEdit(question)) : null,
          canChange ? button("Delete", () => onDelete(question), "danger") : null,
          button("Previous", () => onStep(-1)), button("Next", () => onStep(1))),
        result?.isStale ? el("p", { class: "muted" }, `It was changed since “${result.run.name}” asked it. Evaluate again.`) : null,
        result?.detail ? fared(question, result) : null,
        el("h3", {}, "Gold"),
        question.texts.length ? el("ul", { class: "plain gold-list" }, question.texts.map((text, i) => goldOf(text, question.spans[i][0], onPlace)))
          : el("p", { class: "muted" }, question.spans.map(([start, end]) => `code points ${start} to ${end}`).join(", ")));
    },
  };

  function fared(question, { run, budget, detail }) {
    const at = detail.at.find((each) => each.budget === budget);
    const missed = detail.missedTexts ?? [];
    return el("div", { class: "fared" },
      el("p", {}, "In ", el("b", {}, run.name), ` at ${budget.toLocaleString()} characters: `,
        el("b", {}, `${percent(at.recall)} % of the gold`), `, precision ${percent(at.precision)} %.`,
        ` ${detail.windowsRead} windows were read, up to that size.`, detail.wrong_section ? " The first window is from a wrong section." : ""),
      el("p", { class: "muted small" }, "At each size: ",
        detail.at.map((each) => `${each.budget.toLocaleString()}: ${percent(each.recall)} %`).join(" · ")),
      missed.length ? [el("h3", {}, "Missed"), el("ul", { class: "plain missed-list" }, missed.map(({ start, text }) =>
        el("li", {}, el("button", { type: "button", class: "quiet reading place", on: { click: () => onPlace(start) } }, short(text)),
          el("button", { type: "button", class: "small", aria: { label: `Why was “${short(text)}” missed?` }, on: { click: () => onWhy(question, start) } }, "Why?"))))] : null);
  }
}

function goldOf(text, start, onPlace) {
  return el("li", { class: "gold-span" }, el("button", { type: "button", class: "quiet reading place", title: "Show it in the document", on: { click: () => onPlace(start) } }, text));
}

function button(label, action, kind = "") {
  return el("button", { type: "button", class: kind, on: { click: action } }, label);
}

function short(text) {
  const points = Array.from(text);
  return points.length > MISSED_CHARS ? `${points.slice(0, MISSED_CHARS).join("")}…` : text;
}
