// Write a question, and mark the gold that answers it in the document.

import { get, post } from "./api.js";
import { el, fill } from "./dom.js";
import { createDocumentChoice } from "./evaluate_documents.js";
import { createSentencePicker } from "./evaluate_sentences.js";
import { documentText } from "./evaluate_text.js";
import { complain, say } from "./messages.js";

/**
 * Make the editor.
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
  const chosen = el("p", { class: "row" }, el("span", { class: "muted" }, "Document"), name,
    el("button", { type: "button", class: "small", on: { click: () => choose(null) } }, "Choose another"));
  const words = el("textarea", { rows: 2, maxLength: 10000, placeholder: "As a user would ask it" });
  const marking = el("button", { type: "button", class: "main", disabled: true, on: { click: markSelection } }, "Mark the selection as gold");
  const whole = el("input", { type: "checkbox", checked: true });
  const spans = el("ol", { class: "plain gold-list" });
  const picker = createSentencePicker({ onToggle, onFocus: (start) => reader.scrollTo(start) });
  const picking = el("details", {}, el("summary", {}, "Choose sentences from a list, by keyboard"), picker.element);
  const problem = el("p", { class: "error", role: "alert" });
  const save = el("button", { type: "submit", class: "main" }, "Save the question");
  const gold = el("fieldset", {}, el("legend", {}, "Gold: the text that answers it"),
    el("p", { class: "muted small" }, "Select it in the document below with the mouse, then mark it (or press g)."),
    el("div", { class: "row" }, marking, el("label", { class: "row" }, whole, "Whole sentences")), spans, picking);
  const element = el("form", { class: "editor", hidden: true, aria: { label: "Question" }, on: { submit } },
    title, choice.element, chosen, el("label", { class: "wide" }, "Question", words), gold, problem,
    el("div", { class: "row editor-end" }, save, el("button", { type: "button", on: { click: close } }, "Cancel")));
  let number = null;
  let doc = null;
  let text = null;
  let marked = [];
  let selection = null;
  let before = "";
  let opening = null;

  const state = () => JSON.stringify([words.value, doc, marked]);

  async function choose(docId, given = []) {
    opening?.abort();
    const call = opening = new AbortController();
    [doc, text, marked, selection] = [docId, null, given, null];
    show();
    if (docId === null) return choice.start();
    try {
      const opened = reader.open(docId, { gold: marked, scrollTo: marked[0]?.[0] ?? null });
      const found = await get("/api/questions/sentences", { doc_id: docId }, call);
      await opened;
      if (opening !== call) return;
      text = documentText(found.sentences);
      name.textContent = found.name;
      picker.set(text);
      show();
    } catch (error) {
      if (error.name === "AbortError") return;
      // The words of a question can be corrected though its document is gone.
      problem.textContent = error.message;
    }
  }

  function show() {
    choice.element.hidden = doc !== null;
    chosen.hidden = gold.hidden = doc === null;
    if (doc !== null && !text) name.textContent = doc;
    marking.disabled = !selection || !text;
    picking.hidden = !text;
    fill(spans, marked.map((span) => el("li", { class: "gold-span" },
      el("blockquote", { class: "reading" }, text ? text.slice(...span) : `code points ${span[0]} to ${span[1]}`),
      el("span", { class: "row small" }, text ? el("span", { class: "muted grow" }, text.named(span)) : null,
        el("button", { type: "button", class: "small", aria: { label: `Show gold ${marked.indexOf(span) + 1} in the document` }, on: { click: () => reader.scrollTo(span[0]) } }, "Show"),
        el("button", { type: "button", class: "small", aria: { label: `Remove gold ${marked.indexOf(span) + 1}` }, on: { click: () => remove(span) } }, "Remove")))),
    marked.length ? null : el("li", { class: "muted" }, "Nothing is marked yet."));
    picker.mark(marked);
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

  function remove(span) {
    put(marked.filter((each) => each !== span));
    marking.focus();
  }

  function onToggle(span, isAdded) {
    put(isAdded ? text.joined(marked, span) : text.without(marked, span));
  }

  async function submit(event) {
    event.preventDefault();
    const missing = doc === null ? "Choose a document." : !words.value.trim() ? "Write the question." : !marked.length ? "Mark the gold in the document." : "";
    problem.textContent = missing;
    if (missing) return;
    save.disabled = true;
    try {
      const given = { question: words.value.trim(), doc_id: doc, spans: marked };
      const row = number === null ? await post("/api/questions/add", given) : await post("/api/questions/change", { number, ...given });
      hide();
      onSaved(row);
    } catch (error) {
      problem.textContent = error.message;
      if (error.status === 409) onConflict();
    } finally {
      save.disabled = false;
    }
  }

  function hide() {
    element.hidden = true;
    opening?.abort();
  }

  function close() {
    hide();
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
      picking.open = false;
      picker.set(null);
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
    mark: markSelection,
    close,
    isOpen: () => !element.hidden,
    hasChanges: () => !element.hidden && state() !== before,
  };
}
