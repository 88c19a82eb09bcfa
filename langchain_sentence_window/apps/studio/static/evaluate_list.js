// The list of questions: search, choose which, order; bars of the recall in a run.

import { el, fill } from "./dom.js";
import { percent } from "./plot.js";

/** The recall at which gold counts as wholly covered, as in Python. */
export const COVERED = 0.95;

export const STATES = {
  missing: "not in the index",
  outside: "behind the document's end",
  unknown: "the store can't say whether it is there",
};

/**
 * Make the list.
 *
 * @param {{onOpen: (number: number) => void}} handlers Called when a question is chosen.
 */
export function createQuestionList({ onOpen }) {
  const search = el("input", { type: "search", placeholder: "Search questions", class: "grow", aria: { label: "Search questions" }, on: { input: () => show() } });
  const which = el("select", { aria: { label: "Which questions" }, on: { change: () => show() } },
    el("option", { value: "all" }, "All"), el("option", { value: "failed" }, "Not wholly found"), el("option", { value: "lost" }, "Not in the index"));
  const order = el("select", { aria: { label: "Order" }, on: { change: () => show() } },
    el("option", { value: "worst" }, "Worst first"), el("option", { value: "list" }, "As in the list"));
  const count = el("p", { class: "muted small", role: "status" });
  const list = el("ul", { class: "plain questions", role: "listbox", aria: { label: "Questions" }, on: { keydown: onKey } });
  const element = el("div", { class: "question-list" }, el("div", { class: "row" }, search, which, order), count, list);
  let questions = [];
  let recalls = new Map();
  let rows = new Map();
  let shown = [];
  let current = null;

  function rowOf(question) {
    const bar = el("span", { class: "recall-bar", aria: { hidden: "true" } }, el("span", {}));
    const share = el("span", { class: "number recall-share" });
    const state = question.state === "ok" ? null : el("span", { class: "badge warn" }, STATES[question.state]);
    const element = el("li", { role: "option", tabIndex: -1, id: `question-${question.number}`, on: { click: () => choose(question.number) } },
      el("span", { class: "asked-text" }, question.question),
      el("span", { class: "row small" }, el("span", { class: "muted grow document-name", title: question.name }, shortName(question.name)), state, bar, share));
    return { element, bar, share };
  }

  function score(number) {
    const { bar, share } = rows.get(number);
    const found = recalls.get(number);
    bar.hidden = share.hidden = !found;
    if (!found) return;
    bar.firstChild.style.width = `${100 * found.recall}%`;
    bar.classList.toggle("low", found.recall < COVERED);
    share.textContent = `${found.isStale ? "before the change: " : ""}${percent(found.recall).replace(/\.0$/, "")} %`;
  }

  function show() {
    const wanted = search.value.trim().toLowerCase();
    shown = questions.filter((each) => (!wanted || each.search.includes(wanted)) && fits(each));
    if (order.value === "worst" && recalls.size) {
      const of = (each) => recalls.get(each.number)?.recall ?? 2;
      shown = [...shown].sort((a, b) => of(a) - of(b));
    }
    fill(list, shown.map(({ number }) => rows.get(number).element));
    count.textContent = shown.length === questions.length ? counted(questions.length) : `${shown.length.toLocaleString()} of ${counted(questions.length)}`;
    mark();
  }

  function fits({ number, state }) {
    if (which.value === "lost") return state !== "ok";
    return which.value === "all" || (recalls.get(number)?.recall ?? 1) < COVERED;
  }

  /** One row is in the tab order: the chosen one, or the first. */
  function mark() {
    const focusable = shown.some(({ number }) => number === current) ? current : shown[0]?.number;
    for (const [number, { element }] of rows) {
      element.setAttribute("aria-selected", String(number === current));
      element.tabIndex = number === focusable ? 0 : -1;
    }
  }

  function choose(number) {
    current = number;
    mark();
    onOpen(number);
  }

  function onKey(event) {
    const at = shown.findIndex(({ number }) => rows.get(number).element === event.target);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: shown.length - 1, PageDown: at + 10, PageUp: at - 10 }[event.key];
    if (event.key === "Enter" || event.key === " ") choose(shown[at].number);
    else if (next === undefined) return;
    else {
      const target = rows.get(shown[Math.min(Math.max(next, 0), shown.length - 1)].number).element;
      for (const { element } of rows.values()) element.tabIndex = -1;
      target.tabIndex = 0;
      target.focus();
    }
    event.preventDefault();
    event.stopPropagation();
  }

  return {
    element,
    /** Show other questions, as `/api/questions` returns them. */
    set(given) {
      questions = given.map((each) => ({ ...each, search: `${each.question} ${each.name}`.toLowerCase() }));
      rows = new Map(questions.map((each) => [each.number, rowOf(each)]));
      for (const { number } of questions) score(number);
      show();
    },
    /** Show other recalls: a map of the question's number to `{recall, isStale}`. */
    score(given) {
      recalls = given;
      for (const { number } of questions) score(number);
      show();
    },
    /** Mark a question as chosen; null for none. */
    select(number) {
      current = number;
      mark();
      rows.get(number)?.element.scrollIntoView({ block: "nearest" });
    },
    /** The number of the question after or before the chosen one; null at the ends. */
    next(step) {
      return shown[shown.findIndex(({ number }) => number === current) + step]?.number ?? null;
    },
  };
}

/** Return the last part of a path or an address; any other name as it is. */
export function shortName(name) {
  return name.split(/[\\/]/).filter(Boolean).at(-1) ?? name;
}

function counted(number) {
  return `${number.toLocaleString()} question${number === 1 ? "" : "s"}`;
}
