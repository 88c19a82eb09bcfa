// The questions of Evaluate: their list, one of them with its gold and how it fared, and the editor that marks gold.

import { get, post } from "./api.js";
import { el, fill } from "./dom.js";
import { button, complain, say } from "./widgets.js";
import { baseName, brief, count, percent } from "./words.js";

/** The recall at which gold counts as wholly covered, as in Python. */
const COVERED = 0.95;

const STATES = {
  missing: "not in the index",
  outside: "behind the document's end",
  unknown: "the store can't say whether it is there",
};
const MISSED_CHARS = 300;
const WAIT_MS = 150;
const FOUND = 50;

/**
 * Make the list: search, choose which, order; bars of the recall in a run.
 *
 * @param {{onOpen: (number: number) => void}} handlers Called when a question is chosen.
 */
export function createQuestionList({ onOpen }) {
  const select = (label, choices) => el("select", { aria: { label }, on: { change: show } }, choices.map(([value, text]) => el("option", { value }, text)));
  const search = el("input", { type: "search", placeholder: "Search questions", class: "grow", aria: { label: "Search questions" }, on: { input: show } });
  const which = select("Which questions", [["all", "All"], ["failed", "Not wholly found"], ["lost", "Not in the index"]]);
  const order = select("Order", [["worst", "Worst first"], ["list", "As in the list"]]);
  const status = el("p", { class: "muted small", role: "status" });
  const list = el("ul", { class: "plain questions", role: "listbox", aria: { label: "Questions" }, on: { keydown: onKey } });
  const element = el("div", { class: "question-list" }, el("div", { class: "row" }, search, which, order), status, list);
  let questions = [], recalls = new Map(), rows = new Map(), shown = [], current = null;

  function rowOf(question) {
    const bar = el("span", { class: "recall-bar", aria: { hidden: "true" } }, el("span", {}));
    const share = el("span", { class: "number recall-share" });
    const state = question.state === "ok" ? null : el("span", { class: "badge warn" }, STATES[question.state]);
    const row = el("li", { role: "option", tabIndex: -1, id: `question-${question.number}`, on: { click: () => choose(question.number) } },
      el("span", { class: "asked-text" }, question.question),
      el("span", { class: "row small" }, el("span", { class: "muted grow document-name", title: question.name }, baseName(question.name)), state, bar, share));
    return { element: row, bar, share };
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
    const all = count(questions.length, "question");
    status.textContent = shown.length === questions.length ? all : `${shown.length.toLocaleString()} of ${all}`;
    mark();
  }

  function fits({ number, state }) {
    if (which.value === "lost") return state !== "ok";
    return which.value === "all" || (recalls.get(number)?.recall ?? 1) < COVERED;
  }

  /** One row is in the tab order: the chosen one, or the first. */
  function mark() {
    const focusable = shown.some(({ number }) => number === current) ? current : shown[0]?.number;
    for (const [number, { element: row }] of rows) {
      row.setAttribute("aria-selected", String(number === current));
      row.tabIndex = number === focusable ? 0 : -1;
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

/**
 * Make the panel of a question beside the document: its gold, and how it fared in a run.
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
  const way = (text, start) => button(text, () => onPlace(start), "quiet reading place", { title: "Show it in the document" });

  /** Show a question; `result` says how it fared in a run: `{run, budget, isStale, detail}`, or null. */
  function show(question, { result = null, canChange }) {
    element.hidden = false;
    fill(element,
      el("h2", {}, question.question),
      el("p", { class: "muted small", title: question.name }, baseName(question.name), " ", question.state === "ok" ? null : el("span", { class: "badge warn" }, STATES[question.state])),
      el("div", { class: "row" },
        button("Ask it", () => onAsk(question), "main"),
        canChange ? [button("Edit", () => onEdit(question)), button("Delete", () => onDelete(question), "danger")] : null,
        button("Previous", () => onStep(-1), "", { repeats: true }), button("Next", () => onStep(1), "", { repeats: true })),
      result?.isStale ? el("p", { class: "muted" }, `It was changed since “${result.run.name}” asked it. Evaluate again.`) : null,
      result?.detail ? fared(question, result) : null,
      el("h3", {}, "Gold"),
      question.texts.length ? el("ul", { class: "plain gold-list" }, question.texts.map((text, i) => el("li", { class: "gold-span" }, way(text, question.spans[i][0]))))
        : el("p", { class: "muted" }, question.spans.map(([start, end]) => `code points ${start} to ${end}`).join(", ")));
  }

  function fared(question, { run, budget, detail }) {
    const at = detail.at.find((each) => each.budget === budget);
    const short = (text) => brief(text, MISSED_CHARS);
    return el("div", { class: "fared" },
      el("p", {}, "In ", el("b", {}, run.name), ` at ${budget.toLocaleString()} characters: `,
        el("b", {}, `${percent(at.recall)} % of the gold`), `, precision ${percent(at.precision)} %.`,
        ` ${detail.windowsRead} windows were read, up to that size.`, detail.wrong_section ? " The first window is from a wrong section." : ""),
      el("p", { class: "muted small" }, "At each size: ",
        detail.at.map((each) => `${each.budget.toLocaleString()}: ${percent(each.recall)} %`).join(" · ")),
      detail.missedTexts.length ? [el("h3", {}, "Missed"), el("ul", { class: "plain missed-list" }, detail.missedTexts.map(({ start, text }) =>
        el("li", {}, way(short(text), start), button("Why?", () => onWhy(question, start), "small", { aria: { label: `Why was “${short(text)}” missed?` } }))))] : null);
  }

  return { element, show, hide() { element.hidden = true; } };
}

/**
 * Make the editor: write a question, and mark the gold that answers it in the document.
 *
 * @param {Object} handlers
 * @param {Object} handlers.reader The reader, in which the document is shown.
 * @param {(row: Object) => void} handlers.onSaved Called with the question as the server has it now.
 * @param {() => void} handlers.onConflict Called when the questions aren't what the page shows any more.
 * @param {() => void} handlers.onClose Called when the editor is left without saving.
 */
export function createEditor({ reader, onSaved, onConflict, onClose }) {
  const title = el("h2", { tabIndex: -1 });
  const choice = createDocumentChoice(choose);
  const name = el("span", { class: "grow document-name" });
  const chosen = el("p", { class: "row" }, el("span", { class: "muted" }, "Document"), name, button("Choose another", () => choose(null), "small"));
  const words = el("textarea", { rows: 2, maxLength: 10000, placeholder: "As a user would ask it" });
  const marking = button("Mark the selection as gold", markSelection, "main", { disabled: true });
  const whole = el("input", { type: "checkbox", checked: true });
  const spans = el("ol", { class: "plain gold-list" });
  const problem = el("p", { class: "error", role: "alert" });
  const save = el("button", { type: "submit", class: "main" }, "Save the question");
  const gold = el("fieldset", {}, el("legend", {}, "Gold: the text that answers it"),
    el("p", { class: "muted small" }, "Choose sentences in the document below: click them, or go to them by arrow keys and press Enter. Or select text, and mark it (or press g)."),
    el("div", { class: "row" }, marking, el("label", { class: "row" }, whole, "Whole sentences")), spans);
  const element = el("form", { class: "editor", hidden: true, aria: { label: "Question" }, on: { submit } },
    title, choice.element, chosen, el("label", { class: "wide" }, "Question", words), gold, problem,
    el("div", { class: "row editor-end" }, save, button("Cancel", close)));
  let number = null, doc = null, text = null, marked = [], selection = null, before = "";

  const state = () => JSON.stringify([words.value, doc, marked]);

  async function choose(docId, given = []) {
    [doc, text, marked, selection] = [docId, null, given, null];
    show();
    if (docId === null) return choice.start();
    try {
      await reader.open(docId, { gold: marked, scrollTo: marked[0]?.[0] ?? null });
      if (doc !== docId || element.hidden) return;
      text = textOf(reader.model());
      show();
    } catch (error) {
      // The words of a question can be corrected though its document is gone.
      if (error.name !== "AbortError") problem.textContent = error.message;
    }
  }

  function show() {
    choice.element.hidden = doc !== null;
    chosen.hidden = gold.hidden = doc === null;
    name.textContent = text ? baseName(text.name) : doc;
    marking.disabled = !selection || !text;
    fill(spans, marked.map((span, i) => el("li", { class: "gold-span" },
      el("blockquote", { class: "reading" }, text ? text.slice(...span) : `code points ${span[0]} to ${span[1]}`),
      el("span", { class: "row small" }, text ? el("span", { class: "muted grow" }, text.named(span)) : null,
        button("Show", () => reader.scrollTo(span[0]), "small", { aria: { label: `Show gold ${i + 1} in the document` } }),
        button("Remove", () => { put(marked.filter((each) => each !== span)); words.focus(); }, "small", { aria: { label: `Remove gold ${i + 1}` } })))),
    marked.length ? null : el("li", { class: "muted" }, "Nothing is marked yet."));
  }

  function put(given) {
    marked = given;
    problem.textContent = "";
    reader.highlight({ gold: marked });
    show();
  }

  function markSelection() {
    if (!selection || !text) return;
    const span = whole.checked ? text.snap([selection.start, selection.end]) : text.trim([selection.start, selection.end]);
    if (!span) return complain(new Error("The selection holds only space. Select some text."));
    selection = null;
    reader.clearSelection();
    put(text.joined(marked, span));
    say(`Marked ${text.named(span)} as gold.`);
  }

  async function submit(event) {
    event.preventDefault();
    const missing = doc === null ? "Choose a document." : !words.value.trim() ? "Write the question." : !marked.length ? "Mark the gold in the document." : "";
    problem.textContent = missing;
    if (missing || save.disabled) return;
    save.disabled = true;
    try {
      const given = { question: words.value.trim(), doc_id: doc, spans: marked };
      const row = number === null ? await post("/api/questions/add", given) : await post("/api/questions/change", { number, ...given });
      element.hidden = true;
      onSaved(row);
    } catch (error) {
      problem.textContent = error.message;
      if (error.status === 409) onConflict();
    } finally {
      save.disabled = false;
    }
  }

  function close() {
    element.hidden = true;
    onClose();
  }

  return {
    element,
    /** Begin a question: a row of the list to change it; null for a new one, in a document if that is given. */
    async start(row, docId = null) {
      number = row?.number ?? null;
      title.textContent = row ? "Change the question" : "New question";
      words.value = row?.question ?? "";
      problem.textContent = "";
      element.hidden = false;
      const opened = choose(row?.doc_id ?? docId, row?.spans.map((each) => [...each]) ?? []);
      before = state();
      if (doc !== null) title.focus();
      await opened;
    },
    /** Take what is selected in the document; null for nothing. */
    select(given) {
      selection = given && given.docId === doc ? given : null;
      marking.disabled = !selection || !text;
    },
    /** Make a sentence of the document gold, or take it out if it is. */
    toggle({ docId, start, end }) {
      if (element.hidden || docId !== doc || !text) return;
      const isGold = marked.some(([a, b]) => a <= start && end <= b);
      put(isGold ? text.without(marked, [start, end]) : text.joined(marked, [start, end]));
      say(isGold ? `Took ${text.named([start, end])} out of the gold.` : `Marked ${text.named([start, end])} as gold.`);
    },
    mark: markSelection,
    close,
    isOpen: () => !element.hidden,
    hasChanges: () => !element.hidden && state() !== before,
  };
}

/** Make the choice of a document, by a part of its name. */
function createDocumentChoice(onChoose) {
  const search = el("input", { type: "search", placeholder: "A part of its name", autocomplete: "off", on: { input: later, keydown: onKey } });
  const found = el("select", { size: 6, class: "grow", aria: { label: "Documents found" }, on: { dblclick: choose, keydown: onKey } });
  const status = el("p", { class: "muted small", role: "status" });
  const open = button("Open this document", choose);
  const element = el("div", { class: "document-choice" }, el("label", {}, "Document", search), found, status, open);
  let call = null, timer = 0;

  function later() {
    clearTimeout(timer);
    timer = setTimeout(find, WAIT_MS);
  }

  async function find() {
    call?.abort();
    call = new AbortController();
    try {
      const { documents, found: total } = await get("/api/documents", { search: search.value, limit: FOUND }, call);
      fill(found, documents.map(({ doc_id: id, title }, i) => el("option", { value: id, selected: i === 0 }, title && title !== id ? `${id} – ${title}` : id)));
      status.textContent = total > documents.length ? `The first ${documents.length} of ${total.toLocaleString()} documents; write more of the name.` : count(total, "document");
      open.disabled = !documents.length;
    } catch (error) { complain(error); }
  }

  function onKey(event) {
    if (event.key === "Enter") choose();
    else if (event.key === "ArrowDown" && event.target === search) found.focus();
    else return;
    event.preventDefault();
  }

  function choose() {
    if (found.value) onChoose(found.value);
  }

  return { element, start() { find(); search.focus(); } };
}

/** Return what is asked of a document's text to mark gold in it; spans are code points, and `model` is the reader's. */
function textOf(model) {
  const length = (text) => Array.from(text).length;

  /** Leave out the space at the ends of a span; null if there is nothing else. */
  function trim([start, end]) {
    const text = model.slice(start, end);
    const first = start + length(text) - length(text.trimStart());
    const last = end - (length(text) - length(text.trimEnd()));
    return first < last ? [first, last] : null;
  }

  return {
    name: model.data.name, slice: model.slice, trim,
    /** Widen a span to whole sentences; null if it holds only space. */
    snap(span) {
      const found = trim(span);
      return found && [Math.min(found[0], model.span(model.at(found[0]))[0]), Math.max(found[1], model.span(model.at(found[1] - 1))[1])];
    },
    /** Add a span to others; those that overlap, or have only space between them, become one. */
    joined(spans, span) {
      const merged = [];
      for (const [start, end] of [...spans, span].sort((a, b) => a[0] - b[0] || a[1] - b[1])) {
        const last = merged.at(-1);
        const between = last && start > last[1] ? model.slice(last[1], start) : "";
        const isBare = last && !between.trim() && length(between) === Math.max(0, start - last[1]); // and nothing is hidden there
        if (isBare) last[1] = Math.max(last[1], end);
        else merged.push([start, end]);
      }
      return merged;
    },
    /** Take a span out of others. */
    without(spans, [first, last]) {
      return spans.flatMap(([start, end]) => (end <= first || start >= last ? [[start, end]]
        : [[start, first], [last, end]].filter(([a, b]) => a < b).map(trim).filter(Boolean)));
    },
    /** Say which sentences a span touches, in words. */
    named([start, end]) {
      const [first, last] = [model.at(start) + 1, model.at(end - 1) + 1];
      return first === last ? `sentence ${first}` : `sentences ${first} to ${last}`;
    },
  };
}
