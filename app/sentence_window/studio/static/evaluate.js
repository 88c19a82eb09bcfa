// Evaluate: questions with the gold that answers them, and what the retriever finds of it.

import { get, post } from "./api.js";
import { mark } from "./answers.js";
import { el, fill } from "./dom.js";
import { createQuestionList, createQuestionPanel } from "./evaluate_questions.js";
import { createResults } from "./evaluate_results.js";
import { createReader } from "./reader.js";
import { addKey, button, complain, confirm, createTabs, say } from "./widgets.js";
import { baseName, count } from "./words.js";

export const title = "Evaluate";

const [QUESTION, RESULTS] = ["evaluate-question", "evaluate-results"];

export function mount(container, app) {
  const canChange = () => app.about !== null && !app.about.is_read_only;
  const reader = createReader({ app, onSentence: ({ docId, start, end }) => { if (canChange() && rowOf(current)) onMark(rowOf(current), docId, [[start, end]]); } });
  const list = createQuestionList({ onOpen: (id) => open(id).catch(complain) });
  const panel = createQuestionPanel({
    onAsk: ask, onWhy: why, onSave: save, onDelete: remove, onMark, onStep: step,
    onPlace: (start) => reader.scrollTo(start), onCancel() { panel.hide(); open(current).catch(complain); },
  });
  const results = createResults({ onMeasured() {
    list.score((each) => results.of(each));
    if (current !== null && !panel.isWriting()) open(current, { stay: true }).catch(complain);
  } });
  const empty = el("div", { class: "hint" });
  const left = el("div", { class: "left evaluate-left" });
  const tabs = createTabs("Question and results", [
    { id: QUESTION, title: "Question", panel: el("div", { class: "question-side" }, empty, panel.element, el("div", { class: "evaluate-reader" }, reader.element)) },
    { id: RESULTS, title: "Results", panel: results.element }]);
  const split = el("div", { class: "split" }, left, el("div", { class: "right evaluate-right" },
    button("← Back to the questions", leave, "back"), tabs.element));
  const make = button("New question", begin, "main", { title: "Make a question (n)" });
  const file = el("input", { type: "file", accept: ".jsonl,.json,.ndjson,.txt,.csv,.tsv,.md", hidden: true, on: { change: () => bring().catch(complain) } });
  const load = button("Import", () => file.click(), "", { title: "Questions and answers as CSV or text, or JSON lines with gold" });
  const kept = el("p", { class: "muted small" });
  let questions = [];
  let current = null;

  fill(left, el("div", { class: "row" }, el("h2", { class: "grow" }, "Questions"), make, button("Results", () => look(RESULTS))),
    el("div", { class: "row" }, load, file, el("a", { class: "button", href: "/api/questions/export", download: "questions.jsonl" }, "Export")), kept, list.element);
  container.classList.add("evaluate", "flush");
  fill(container, split);
  let known = "";
  app.listeners.push((about) => {
    allow();
    const now = `${about.documents} ${about.sentences}`;
    if (known && now !== known) refresh().catch(complain); // gold may be gone, or back
    known = now;
  });
  window.addEventListener("questions", () => changed().catch(complain));
  allow();
  const isShown = () => !container.hidden;
  addKey("n", "Make a question", begin, () => isShown() && canChange());
  addKey("a", "Save the answer: what is selected, else the sentence", () => reader.answer(), () => isShown() && current !== null && canChange());
  addKey("]", "Next question", () => step(1), isShown);
  addKey("[", "Previous question", () => step(-1), isShown);
  const ready = refresh().catch(complain);

  function allow() {
    for (const each of [make, load]) each.hidden = !canChange();
  }

  async function refresh() {
    const before = rowOf(current);
    const found = await get("/api/questions");
    questions = found.questions;
    // An id is of the words and the gold, so a question that has other gold now has another id.
    const isSame = (each) => each.question === before.question && (each.doc_id === before.doc_id || !before.doc_id);
    if (before && !rowOf(current)) current = questions.find(isSame)?.id ?? null;
    list.set(questions);
    kept.title = found.file ?? "";
    kept.textContent = found.file ? `Kept in ${baseName(found.file)}` : "Kept in memory until the program ends; export them to keep them.";
    allow();
    fill(empty, el("p", { class: "muted" }, questions.length ? "Choose a question to see what answers it, or make a new one."
      : "There are no questions yet. A question with the text that answers it shows whether a change helps. “This is the answer” in Ask makes one; or import questions and answers."),
    questions.length || !canChange() ? null : el("a", { class: "button main", href: "#/ask" }, "Ask the first question"));
    list.select(current);
  }

  /** Show the questions as they are now, after some were changed here or in another view. */
  async function changed() {
    await refresh();
    if (!panel.isWriting()) await open(current, { stay: true });
  }

  function rowOf(id) {
    return questions.find((each) => each.id === id);
  }

  /** Whether what is being written may be left; if not, say why. */
  function mayLeave() {
    if (!panel.hasChanges()) return true;
    complain(new Error("Save the question, or cancel it, first."));
    look(QUESTION);
    return false;
  }

  function look(tab) {
    tabs.select(tab);
    split.classList.add("reads");
  }

  /** Go back to the list, on a page that shows one of both. */
  function leave() {
    split.classList.remove("reads");
    if (history.state?.isOpened && !panel.isWriting()) history.back();
  }

  async function open(id, { stay = false, isGiven = false } = {}) {
    if (!stay && !mayLeave()) return list.select(current);
    const row = id === null ? null : rowOf(id);
    const isOpened = Boolean(row) && current === null && !isGiven;
    current = row ? id : null;
    list.select(current);
    empty.hidden = Boolean(row);
    reader.ask(row?.question ?? "");
    if (!row) {
      if (!stay) app.remember("evaluate", {});
      panel.hide();
      reader.close();
      return;
    }
    if (!stay) look(QUESTION);
    if (!stay) app.remember("evaluate", { question: id }, { isOpened });
    const result = results.of(row);
    panel.show(row, { canChange: canChange(), result });
    const isSame = stay && reader.model()?.data.doc_id === row.doc_id; // and it stays where it was scrolled to
    if (row.state !== "ok") reader.close();
    else if (!isSame) await reader.open(row.doc_id, { scrollTo: row.spans[0][0] });
  }

  function ask(row) {
    app.go("ask", { q: row.question, ...(row.spans.length ? { doc: row.doc_id, start: row.spans[0][0] } : {}) });
  }

  /** Ask why a place of the document that is open isn't returned. */
  function why(row, start) {
    const model = reader.model();
    if (model?.data.doc_id !== row.doc_id) return;
    const sentence = model.at(start);
    app.go("ask", { q: row.question, doc: row.doc_id, start, sentence, tab: "why" });
  }

  function begin() {
    if (!mayLeave()) return;
    empty.hidden = true;
    reader.close();
    look(QUESTION);
    panel.write(null);
  }

  /** Save the words of a question; a new one if it is null. */
  async function save(row, words) {
    const saved = row === null ? await post("/api/questions/add", { question: words })
      : await post("/api/questions/change", { id: row.id, question: words });
    say("The question is saved.");
    current = saved.id;
    panel.hide();
    await changed();
    await open(current);
  }

  function onMark(row, docId, spans) {
    mark(row.question, docId, spans).catch(complain); // which shows the change
  }

  function remove(row) {
    confirm({
      title: "Delete this question?", agree: "Delete it", kind: "danger", content: [el("blockquote", { dir: "auto" }, row.question)],
      async action() {
        const next = list.next(1) ?? list.next(-1);
        await post("/api/questions/delete", { id: row.id });
        current = next;
        await changed();
        await open(next);
      },
    });
  }

  async function bring() {
    const [chosen] = file.files;
    if (!chosen) return;
    const text = await chosen.text();
    file.value = "";
    const { added, skipped } = await post("/api/questions/import", { text });
    say(`${count(added.length, "question")} added${skipped ? `, ${skipped.toLocaleString()} were there already` : ""}.`);
    await refresh();
    if (added.length) await open(added[0]);
  }

  function step(by) {
    const next = list.next(by);
    if (next !== null) open(next).catch(complain);
  }

  return {
    async show({ question }) {
      await ready;
      if (question && question !== current && rowOf(question)) await open(question, { isGiven: true }).catch(complain);
      else if (!question && current !== null && !panel.isWriting()) {
        split.classList.remove("reads");
        await open(null);
      }
    },
  };
}
