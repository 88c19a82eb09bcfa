// The questions of Evaluate: their list, and one of them with its gold and how it fared.

import { el, fill } from "./dom.js";
import { button } from "./widgets.js";
import { baseName, brief, count, percent } from "./words.js";

/** The recall at which gold counts as wholly covered, as in Python. */
const COVERED = 0.95;

const STATES = {
  open: "no gold yet",
  missing: "not in the index",
  changed: "its text is gone",
  outside: "after the document's end",
  ambiguous: "in several documents",
};
const MISSED_CHARS = 300;

/**
 * Make the list: search, choose which; bars of the recall, the worst first.
 *
 * @param {{onOpen: (id: string) => void}} handlers Called when a question is chosen.
 */
export function createQuestionList({ onOpen }) {
  const select = (label, choices) => el("select", { aria: { label }, on: { change: show } }, choices.map(([value, text]) => el("option", { value }, text)));
  const search = el("input", { type: "search", placeholder: "Search questions", class: "grow", aria: { label: "Search questions" }, on: { input: show } });
  const which = select("Which questions", [["all", "All"], ["failed", "Not wholly found"], ["open", "Without gold"], ["lost", "Not in the index"]]);
  const status = el("p", { class: "muted small", role: "status" });
  const list = el("ul", { class: "plain questions", role: "listbox", aria: { label: "Questions" }, on: { keydown: onKey } });
  const element = el("div", { class: "question-list" }, el("div", { class: "row" }, search, which), status, list);
  let resultOf = () => null, questions = [], recalls = new Map(), rows = new Map(), shown = [], current = null;

  function rowOf(question) {
    const bar = el("span", { class: "recall-bar", aria: { hidden: "true" } }, el("span", {}));
    const share = el("span", { class: "number recall-share" });
    const state = question.state === "ok" ? null : el("span", { class: "badge warn" }, STATES[question.state]);
    const row = el("li", { role: "option", tabIndex: -1, id: `question-${question.id}`, on: { click: () => choose(question.id) } },
      el("span", { class: "asked-text", dir: "auto" }, question.question),
      el("span", { class: "row small" }, el("span", { class: "muted grow document-name", title: question.name }, baseName(question.name)), state, bar, share));
    return { element: row, bar, share };
  }

  function score(id) {
    const { bar, share } = rows.get(id);
    const recall = recalls.get(id);
    bar.hidden = share.hidden = recall === undefined;
    if (recall === undefined) return;
    bar.firstChild.style.width = `${100 * recall}%`;
    bar.classList.toggle("low", recall < COVERED);
    share.textContent = `${percent(recall).replace(/\.0$/, "")} %`;
  }

  function measure() {
    const found = questions.map((each) => [each.id, resultOf(each)?.recall]);
    recalls = new Map(found.filter(([, recall]) => recall !== undefined));
    for (const { id } of questions) score(id);
    show();
  }

  function show() {
    const wanted = search.value.trim().toLowerCase();
    shown = questions.filter((each) => (!wanted || each.search.includes(wanted)) && fits(each));
    if (recalls.size) { // the worst first
      const of = (each) => recalls.get(each.id) ?? 2;
      shown = [...shown].sort((a, b) => of(a) - of(b));
    }
    fill(list, shown.map(({ id }) => rows.get(id).element));
    const all = count(questions.length, "question");
    status.textContent = shown.length === questions.length ? all : `${shown.length.toLocaleString()} of ${all}`;
    mark();
  }

  function fits({ id, state }) {
    if (which.value === "open") return state === "open";
    if (which.value === "lost") return !["ok", "open"].includes(state);
    return which.value === "all" || (recalls.get(id) ?? 1) < COVERED;
  }

  /** One row is in the tab order: the chosen one, or the first. */
  function mark() {
    const focusable = shown.some(({ id }) => id === current) ? current : shown[0]?.id;
    for (const [id, { element: row }] of rows) {
      row.setAttribute("aria-selected", String(id === current));
      row.tabIndex = id === focusable ? 0 : -1;
    }
  }

  function choose(id) {
    current = id;
    mark();
    onOpen(id);
  }

  function onKey(event) {
    const at = shown.findIndex(({ id }) => rows.get(id).element === event.target);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: shown.length - 1 }[event.key];
    if (event.key === "Enter" || event.key === " ") choose(shown[at].id);
    else if (next === undefined) return;
    else {
      const target = rows.get(shown[Math.min(Math.max(next, 0), shown.length - 1)].id).element;
      for (const { element: row } of rows.values()) row.tabIndex = -1;
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
      rows = new Map(questions.map((each) => [each.id, rowOf(each)]));
      measure();
    },
    /** Show other recalls: `given` returns how a question fared, as `createResults` does. */
    score(given) {
      resultOf = given;
      measure();
    },
    /** Mark a question as chosen; null for none. */
    select(id) {
      current = id;
      mark();
      rows.get(id)?.element.scrollIntoView({ block: "nearest" });
    },
    /** The id of the question after or before the chosen one; null at the ends. */
    next(step) {
      return shown[shown.findIndex(({ id }) => id === current) + step]?.id ?? null;
    },
  };
}

/**
 * Make the panel of a question next to the document: its words, its gold, and how it fared.
 *
 * @param {Object} handlers
 * @param {(question: Object) => void} handlers.onAsk
 * @param {(question: Object, start: number) => void} handlers.onWhy Called to see why a place was missed.
 * @param {(question: Object|null, words: string) => Promise<void>} handlers.onSave Called with new words; of a new question
 *   if it is null.
 * @param {(question: Object) => void} handlers.onDelete
 * @param {(question: Object, docId: string, spans: number[][]) => void} handlers.onMark Called to mark gold, or take it out.
 * @param {(step: number) => void} handlers.onStep Called to go to the next or the previous question.
 * @param {(start: number) => void} handlers.onPlace Called to show a place of the document.
 * @param {() => void} handlers.onCancel Called when no question is written after all.
 */
export function createQuestionPanel({ onAsk, onWhy, onSave, onDelete, onMark, onStep, onPlace, onCancel }) {
  const element = el("section", { class: "question-panel", hidden: true, aria: { label: "The question" } });
  const way = (text, start) => button(text, () => onPlace(start), "quiet reading place", { title: "Show it in the document", dir: "auto" });
  let written = null; // the words that are being written

  /**
   * Show a question; `result` says how it fared, as `createResults` does, or null.
   */
  function show(question, { result = null, canChange }) {
    written = null;
    element.hidden = false;
    const isOpen = question.state === "open";
    fill(element,
      el("h2", { dir: "auto" }, question.question),
      isOpen ? el("p", {}, el("span", { class: "badge warn" }, STATES.open))
        : el("p", { class: "muted small", title: question.name }, el("bdi", {}, baseName(question.name)), " ", question.state === "ok" ? null : el("span", { class: "badge warn" }, STATES[question.state])),
      question.problem ? el("p", { class: "gold-problem" }, question.problem) : null,
      question.answer ? [el("h3", {}, "Answer"), el("p", { class: "reading", dir: "auto" }, question.answer)] : null,
      el("div", { class: "row" },
        button(isOpen ? "Ask it, and mark the answer" : "Ask it", () => onAsk(question), "main"),
        canChange ? [button("Edit", () => write(question)), button("Delete", () => onDelete(question), "danger")] : null,
        button("Previous", () => onStep(-1), "", { repeats: true }), button("Next", () => onStep(1), "", { repeats: true })),
      result ? fared(question, result) : null,
      isOpen ? null : gold(question, canChange));
  }

  function gold(question, canChange) {
    const texts = question.texts.length ? question.texts : question.spans.map(([start, end]) => `code points ${start} to ${end}`);
    const show = (text, start) => question.problem ? el("span", { class: "reading place", dir: "auto" }, text) : way(text, start);
    return [el("h3", {}, question.problem ? "Gold: what was sought" : "Gold: what answers it"),
      el("ul", { class: "plain gold-list" }, texts.map((text, i) => el("li", { class: "gold-span row" }, show(text, question.spans[i][0]),
        canChange && question.state === "ok" ? button("Remove", () => onMark(question, question.doc_id, [question.spans[i]]), "small", { aria: { label: `Remove gold ${i + 1}` } }) : null))),
      canChange && question.state === "ok" ? el("p", { class: "muted small" }, "Click sentences of the document to add or remove them.") : null];
  }

  /** Write other words for a question, or a new one if it is null. */
  function write(question) {
    const words = el("textarea", { rows: 2, maxLength: 10000, placeholder: "As a user would ask it", dir: "auto", value: question?.question ?? "", aria: { label: "Question" } });
    const problem = el("p", { class: "error", role: "alert" });
    const save = el("button", { type: "submit", class: "main" }, "Save");
    written = () => words.value !== (question?.question ?? "");
    async function submit(event) {
      event.preventDefault();
      if (!words.value.trim()) problem.textContent = "Write the question.";
      else if (!save.disabled) {
        save.disabled = true;
        await onSave(question, words.value.trim()).catch((error) => { problem.textContent = error.message; });
        save.disabled = false;
      }
    }
    element.hidden = false;
    fill(element, el("h2", {}, question ? "Change the question" : "New question"),
      el("form", { class: "writing", on: { submit, keydown: (event) => { if (event.key === "Enter" && !event.shiftKey && !event.isComposing && event.target === words) submit(event); } } },
        words, problem, el("div", { class: "row" }, save, button("Cancel", onCancel))));
    words.focus();
  }

  function fared(question, { budget, recall, missed }) {
    const list = missed.map(([start, end]) => {
      const at = question.spans.findIndex(([from, to]) => from <= start && end <= to);
      const from = start - (question.spans[at]?.[0] ?? start);
      const text = brief(Array.from(question.texts[at] ?? "").slice(from, from + end - start).join(""), MISSED_CHARS);
      return el("li", {}, way(text, start),
        button("Why?", () => onWhy(question, start), "small", { aria: { label: `Why was “${text}” missed?` } }));
    });
    return el("div", { class: "fared" }, el("p", {}, el("b", {}, `${percent(recall)} % of the gold`),
      ` is in the first ${budget.toLocaleString()} characters that are returned.`),
    list.length ? [el("h3", {}, "Missed"), el("ul", { class: "plain missed-list" }, list)] : null);
  }

  return { element, show, write, hasChanges: () => Boolean(written?.()), isWriting: () => written !== null, hide() { element.hidden = true; written = null; } };
}
