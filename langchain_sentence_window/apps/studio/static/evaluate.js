// Evaluate: make questions by marking their gold in documents, and measure the retriever on them.

import { get, post } from "./api.js";
import { el, fill } from "./dom.js";
import { createEditor, createQuestionList, createQuestionPanel } from "./evaluate_questions.js";
import { createResults } from "./evaluate_runs.js";
import { createReader } from "./reader.js";
import { addKey, button, complain, createTabs, say } from "./widgets.js";
import { baseName } from "./words.js";

export const title = "Evaluate";

const [QUESTION, RESULTS] = ["evaluate-question", "evaluate-results"];

export function mount(container, app) {
  const canChange = () => app.about !== null && !app.about.is_read_only;
  const reader = createReader({ onSelect: (selection) => editor.select(selection), onSentence: (sentence) => editor.toggle(sentence) });
  const list = createQuestionList({ onOpen: (number) => open(number).catch(complain) });
  const editor = createEditor({ reader, onSaved: (row) => saved(row).catch(complain), onConflict: () => refresh().catch(complain), onClose: () => open(current).catch(complain) });
  const panel = createQuestionPanel({ onAsk: ask, onWhy: why, onEdit: begin, onDelete: (row) => remove(row).catch(failed), onStep: step, onPlace: (start) => reader.scrollTo(start) });
  const results = createResults({ canChange, onScores: (recalls) => { list.score(recalls); if (current !== null && !editor.isOpen()) open(current, { stay: true }).catch(complain); } });
  const empty = el("div", { class: "hint" });
  const left = el("div", { class: "left evaluate-left" });
  const tabs = createTabs("Question and results", [
    { id: QUESTION, title: "Question", panel: el("div", { class: "question-side" }, empty, panel.element, editor.element, el("div", { class: "evaluate-reader" }, reader.element)) },
    { id: RESULTS, title: "Results", panel: results.element }]);
  const split = el("div", { class: "split" }, left, el("div", { class: "right evaluate-right" },
    button("← Back to the questions", leave, "back"), tabs.element));
  const make = button("New question", () => begin(null), "main", { title: "Make a question (n)" });
  const file = el("input", { type: "file", accept: ".jsonl,.json,.ndjson,.txt", hidden: true, on: { change: () => bring().catch(failed) } });
  const load = button("Import", () => file.click());
  const undo = button("Undo", () => takeBack().catch(failed), "", { hidden: true });
  const kept = el("p", { class: "muted small" });
  let questions = [];
  let current = null;
  let opened = 0;

  fill(left, el("div", { class: "row" }, el("h2", { class: "grow" }, "Questions"), make, button("Results", measure)),
    el("div", { class: "row" }, load, file, el("a", { class: "button", href: "/api/questions/export", download: "questions.jsonl" }, "Export"), undo), kept, list.element);
  container.classList.add("evaluate", "flush");
  fill(container, split);
  let known = "";
  app.listeners.push((about) => {
    allow();
    const now = `${about.documents} ${about.sentences}`;
    if (known && now !== known) refresh().catch(complain); // gold may be gone, or back
    known = now;
  });
  allow();
  const isShown = () => !container.hidden;
  addKey("n", "Make a question", () => begin(null), () => isShown() && canChange());
  addKey("g", "Mark the selection as gold", () => editor.mark(), () => isShown() && editor.isOpen());
  addKey("]", "Next question", () => step(1), isShown);
  addKey("[", "Previous question", () => step(-1), isShown);
  const ready = refresh().then(() => results.resume()).catch(complain);

  /** Show an error; if another program changed the file, show what it holds now. */
  function failed(error) {
    complain(error);
    if (error.status === 409) refresh().catch(complain);
  }

  function allow() {
    for (const each of [make, load]) each.hidden = !canChange();
    undo.hidden = !canChange() || !undo.dataset.what;
  }

  async function refresh() {
    const found = await get("/api/questions");
    questions = found.questions;
    list.set(questions);
    undo.dataset.what = found.undo ?? "";
    undo.textContent = found.undo ? `Undo ${found.undo}` : "Undo";
    kept.title = found.file ?? "";
    kept.textContent = found.file ? `Kept in ${baseName(found.file)}` : "Kept in memory until the program ends; export them to keep them.";
    results.tellLost(questions.filter(({ state }) => state === "missing" || state === "outside").length);
    allow();
    fill(empty, el("p", { class: "muted" }, questions.length ? "Choose a question to see its gold in the document, or make a new one: mark the text that answers it."
      : "There are no questions yet. A question with the text that answers it tells whether a change helps."),
    questions.length || !canChange() ? null : button("Make the first question", () => begin(null), "main"));
    if (current !== null && !questions.some(({ number }) => number === current)) current = null;
    list.select(current);
  }

  const rowOf = (number) => questions.find((each) => each.number === number);

  /** Whether what is being written may be left; if not, say why. */
  function mayLeave() {
    if (!editor.hasChanges()) return true;
    complain(new Error("Save the question, or cancel it, first."));
    look(QUESTION);
    return false;
  }

  function look(tab) {
    tabs.select(tab);
    split.classList.add("reads");
  }

  function measure() { look(RESULTS); }

  /** Go back to the list, on a page that shows one of both. */
  function leave() {
    split.classList.remove("reads");
    if (history.state?.isOpened && !editor.isOpen()) history.back();
  }

  async function open(number, { stay = false, isGiven = false } = {}) {
    if (editor.isOpen()) {
      if (stay) return;
      if (!mayLeave()) return list.select(current);
      current = number;
      editor.close(); // which opens it
      return;
    }
    const row = number === null ? null : rowOf(number);
    const isOpened = row !== undefined && row !== null && current === null && !isGiven;
    current = row ? number : null;
    list.select(current);
    empty.hidden = Boolean(row);
    if (!row) {
      if (!stay) app.remember("evaluate", {});
      panel.hide();
      reader.close();
      return;
    }
    if (!stay) look(QUESTION);
    if (!stay) app.remember("evaluate", { question: number }, { isOpened });
    const turn = opened += 1;
    const measured = results.active(number);
    panel.show(row, { canChange: canChange(), result: measured });
    const detail = measured && !measured.isStale ? await get("/api/runs/question", { run: measured.run.number, question: number }).catch(() => null) : null;
    if (turn !== opened) return;
    if (detail) panel.show(row, { canChange: canChange(), result: { ...measured, detail: { ...detail, missedTexts: missed(row, detail, measured.budget), windowsRead: windowsRead(detail, measured.budget) } } });
    if (row.state === "ok") await reader.open(row.doc_id, { gold: row.spans, windows: detail ? await windowsOf(row, detail, measured) : [], scrollTo: row.spans[0][0] });
    else reader.close();
  }

  /** Ask again what the run asked, for the windows that it read within the size of the context. */
  async function windowsOf(row, detail, { run, budget }) {
    const { windows } = await post("/api/ask", { query: row.question, settings: { ...run.settings, k: run.k, order: "relevance" } });
    return windows.slice(0, windowsRead(detail, budget));
  }

  function ask(row) {
    const measured = results.active(row.number);
    const settings = measured?.run.settings ?? {};
    app.go("ask", { q: row.question, ...(Object.keys(settings).length ? { settings: JSON.stringify(settings) } : {}), doc: row.doc_id, start: row.spans[0][0] });
  }

  /** Ask why a place of the document that is open wasn't read, as the run asked. */
  function why(row, start) {
    const { run } = results.active(row.number);
    const model = reader.model();
    if (model?.data.doc_id !== row.doc_id) return;
    app.go("ask", { q: row.question, settings: JSON.stringify({ ...run.settings, k: run.k }), doc: row.doc_id, sentence: model.indexOf(model.at(start)), tab: "why" });
  }

  function begin(row, docId = null) {
    if (!mayLeave()) return;
    opened += 1;
    empty.hidden = true;
    panel.hide();
    if (!row) reader.close();
    look(QUESTION);
    editor.start(row, docId).catch(complain);
  }

  async function saved(row) {
    say("The question is saved.");
    current = row.number;
    await refresh();
    await results.rescore();
    await open(row.number);
  }

  async function remove(row) {
    const next = list.next(1) ?? list.next(-1);
    await post("/api/questions/delete", { numbers: [row.number] });
    say("The question is deleted. “Undo” brings it back.");
    current = null;
    await refresh();
    await open(next);
  }

  async function takeBack() {
    const { undone } = await post("/api/questions/undo");
    say(`Undone: ${undone}.`);
    await refresh();
    await open(current, { stay: true });
  }

  async function bring() {
    const [chosen] = file.files;
    if (!chosen) return;
    const text = await chosen.text();
    file.value = "";
    const { added, skipped } = await post("/api/questions/import", { text });
    say(`${added.length.toLocaleString()} questions added${skipped ? `, ${skipped.toLocaleString()} were there already` : ""}.`);
    await refresh();
  }

  function step(by) {
    const next = list.next(by);
    if (next !== null) open(next).catch(complain);
  }

  return {
    async show({ question, doc }) {
      await ready;
      const number = Number(question);
      if (doc) begin(null, doc);
      else if (number && number !== current && rowOf(number)) await open(number, { isGiven: true }).catch(complain);
      else if (!number && current !== null && !editor.isOpen()) {
        split.classList.remove("reads");
        await open(null);
      }
    },
  };
}

/** The parts of a question's gold that weren't read, with their text. */
function missed(row, detail, budget) {
  const spans = detail.at.find((each) => each.budget === budget)?.missed ?? [];
  return spans.flatMap(([first, last]) => row.spans.flatMap(([start, end], i) => {
    const [a, b] = [Math.max(first, start), Math.min(last, end)];
    return a < b && row.texts[i] ? [{ start: a, text: Array.from(row.texts[i]).slice(a - start, b - start).join("") }] : [];
  }));
}

/** The number of windows that were read before the size of the context was used up; the last one may be cut. */
function windowsRead(detail, budget) {
  let left = budget;
  return detail.read.filter(([, start, end]) => { const isIn = left > 0; left -= end - start; return isIn; }).length;
}
