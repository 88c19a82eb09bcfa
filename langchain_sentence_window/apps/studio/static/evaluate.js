// Evaluate: questions with the gold that answers them, and what the retriever finds of it.

import { get, post } from "./api.js";
import { mark, undo as takeBack } from "./answers.js";
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
  const list = createQuestionList({ onOpen: (number) => open(number).catch(complain) });
  const panel = createQuestionPanel({
    onAsk: ask, onWhy: why, onSave: save, onDelete: (row) => remove(row).catch(complain), onMark, onStep: step,
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
  const undo = button("Undo", () => takeBack().catch(conflict), "", { hidden: true });
  const kept = el("p", { class: "muted small" });
  let questions = [];
  let current = null;
  let opened = 0;

  fill(left, el("div", { class: "row" }, el("h2", { class: "grow" }, "Questions"), make, button("Results", () => look(RESULTS))),
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
    allow();
    fill(empty, el("p", { class: "muted" }, questions.length ? "Choose a question to see what answers it, or make a new one."
      : "There are no questions yet. A question with the text that answers it tells whether a change helps. “This is the answer” in Ask makes one; or import questions and answers."),
    questions.length || !canChange() ? null : el("a", { class: "button main", href: "#/ask" }, "Ask the first question"));
    if (current !== null && !questions.some(({ number }) => number === current)) current = null;
    list.select(current);
  }

  /** Show the questions as they are now, after some were changed: here, in another view, or by undoing. */
  async function changed() {
    await refresh();
    if (!panel.isWriting()) await open(current, { stay: true });
  }

  const rowOf = (number) => questions.find((each) => each.number === number);

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

  async function open(number, { stay = false, isGiven = false } = {}) {
    if (!stay && !mayLeave()) return list.select(current);
    const row = number === null ? null : rowOf(number);
    const isOpened = Boolean(row) && current === null && !isGiven;
    current = row ? number : null;
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
    if (!stay) app.remember("evaluate", { question: number }, { isOpened });
    const turn = opened += 1;
    const result = results.of(row);
    panel.show(row, { canChange: canChange(), result });
    const proposal = row.state === "open" && row.answer ? (await post("/api/questions/propose", { number })).proposal : null;
    if (turn !== opened) return;
    if (proposal) panel.show(row, { canChange: canChange(), proposal });
    const place = row.state === "ok" ? row : proposal;
    const isSame = stay && reader.model()?.data.doc_id === place?.doc_id; // and it stays where it was scrolled to
    if (place && isSame) reader.highlight({ gold: proposal?.spans ?? [] });
    else if (place) await reader.open(place.doc_id, { gold: proposal?.spans ?? [], scrollTo: place.spans[0][0] });
    else reader.close();
  }

  function ask(row) {
    app.go("ask", { q: row.question, ...(row.spans.length ? { doc: row.doc_id, start: row.spans[0][0] } : {}) });
  }

  /** Ask why a place of the document that is open isn't returned. */
  function why(row, start) {
    const model = reader.model();
    if (model?.data.doc_id !== row.doc_id) return;
    const sentence = model.indexOf(model.at(start));
    app.go("ask", { q: row.question, doc: row.doc_id, start, sentence, tab: "why" });
  }

  function begin() {
    if (!mayLeave()) return;
    opened += 1;
    empty.hidden = true;
    reader.close();
    look(QUESTION);
    panel.write(null);
  }

  /** Save the words of a question; a new one if it is null. */
  async function save(row, words) {
    let saved = null;
    try {
      saved = row === null ? await post("/api/questions/add", { question: words })
        : await post("/api/questions/change", { number: row.number, version: row.version, question: words });
    } catch (error) {
      if (error.current === undefined) throw error;
      conflict(error, row, words);
    }
    if (!saved) return;
    say("The question is saved.");
    current = saved.number;
    panel.hide();
    await changed();
    await open(current);
  }

  /** Mark gold, or take it out; once a proposal is confirmed, go on with the next question that has no gold. */
  async function onMark(row, docId, spans) {
    const next = row.state === "open" ? list.nextOpen() : null;
    try {
      await mark(row.question, docId, spans); // which shows the change
      if (next !== null) await open(next);
    } catch (error) { complain(error); }
  }

  async function remove(row, version = row.version) {
    const next = list.next(1) ?? list.next(-1);
    try {
      await post("/api/questions/delete", { number: row.number, version });
    } catch (error) { return conflict(error, row); }
    say("The question is deleted.", { action: ["Undo", () => takeBack().catch(conflict)] });
    current = next;
    await changed();
    await open(next);
  }

  /** Let the user choose what becomes of a question that somebody else has changed; `words` are those to save, null to delete it. */
  function conflict(error, row = null, words = null) {
    if (!error.current && (error.current === undefined || row === null || words === null)) {
      complain(error);
      return changed().catch(complain);
    }
    const now = error.current;
    const theirs = now === null ? el("p", {}, "It was deleted meanwhile, in another tab or by another program.")
      : [el("p", {}, "It was changed meanwhile, in another tab or by another program. It is now:"), el("blockquote", { dir: "auto" }, now.question)];
    const mine = words === null ? null : [el("p", {}, "You wrote:"), el("blockquote", { dir: "auto" }, words)];
    panel.hide();
    confirm({
      title: words === null ? "Delete it all the same?" : now === null ? "Save yours as a new question?" : "Save yours in its place?",
      agree: words === null ? "Delete it" : "Save mine", refuse: now === null ? "Leave it deleted" : "Keep theirs", content: [theirs, mine],
      kind: words === null ? "danger" : "main",
      async action() {
        if (row === null) await takeBack();
        else if (words === null) await remove(row, now.version);
        else if (now === null) current = (await post("/api/questions/add", { question: words, ...(row.spans.length ? { doc_id: row.doc_id, spans: row.spans } : {}) })).number;
        else await post("/api/questions/change", { number: now.number, version: now.version, question: words });
      },
      onClose: () => changed().catch(complain),
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
    const first = questions.find(({ number, state }) => number === added[0] && state === "open");
    if (first) await open(first.number);
  }

  function step(by) {
    const next = list.next(by);
    if (next !== null) open(next).catch(complain);
  }

  return {
    async show({ question }) {
      await ready;
      const number = Number(question);
      if (number && number !== current && rowOf(number)) await open(number, { isGiven: true }).catch(complain);
      else if (!number && current !== null && !panel.isWriting()) {
        split.classList.remove("reads");
        await open(null);
      }
    },
  };
}
