// "This is the answer": text of a document becomes the gold of a question with one click, and is taken out with another.

import { get, post } from "./api.js";
import { el, fill } from "./dom.js";
import { button, complain, say } from "./widgets.js";
import { brief } from "./words.js";

const TYPING_MS = 250;
const SHOWN_CHARS = 160;

/** Make text of a document the gold of a question, or take it out if it is that. `questions` is an event of the window then. */
export async function mark(question, docId, spans) {
  const found = await post("/api/questions/mark", { question, doc_id: docId, spans });
  say(found.is_gold ? "Saved as the answer." : "It isn't the answer any more.");
  window.dispatchEvent(new Event("questions"));
  return found;
}

/**
 * Make the bar below a document that keeps what is chosen there as the answer of a question.
 *
 * @param {Object} options
 * @param {Object} options.app What views share.
 * @param {boolean} options.hasInput Whether the question is written in the bar.
 * @param {() => void} options.onGold Called when other text is gold.
 */
export function createAnswerBar({ app, hasInput, onGold }) {
  const save = button("This is the answer", () => toggle(), "main small", { title: "Keep it with the question (a)" });
  const about = el("span", { class: "muted small answer-target", dir: "auto" });
  const input = el("input", { class: "grow", placeholder: "The question that it answers", hidden: !hasInput, autocomplete: "off",
    aria: { label: "Question that it answers" }, on: { input: () => { clearTimeout(timer); timer = setTimeout(() => ask(input.value), TYPING_MS); } } });
  const element = el("div", { class: "answer-bar row", role: "group", aria: { label: "The answer" } }, save, input, about);
  let question = "", golds = new Map(), target = null, timer = 0, turn = 0;
  window.addEventListener("questions", load);
  app.listeners.push(show);
  show();

  function ask(text) {
    clearTimeout(timer);
    if (hasInput && input.value !== text) input.value = text;
    if (text.trim() === question) return;
    question = text.trim();
    load();
  }

  async function load() {
    const mine = turn += 1;
    let found = [];
    if (question) {
      try { found = (await get("/api/questions/gold", { question })).golds; } catch { /* Evaluate says what is wrong with the file */ }
    }
    if (mine !== turn) return;
    golds = new Map(found.map((each) => [each.doc_id, each.spans]));
    onGold();
    show();
  }

  function isGold({ docId, start, end }) {
    return (golds.get(docId) ?? []).some(([first, last]) => first <= start && end <= last);
  }

  function show() {
    element.hidden = (!question && !hasInput) || target === null || app.about?.is_read_only !== false;
    if (target === null) return;
    fill(save, isGold(target) ? "This isn't the answer" : "This is the answer");
    fill(about, brief(target.text, SHOWN_CHARS));
  }

  async function toggle(given = target) {
    if (given === null || element.hidden) return;
    if (hasInput) ask(input.value);
    if (!question) return input.focus();
    try { await mark(question, given.docId, [[given.start, given.end]]); } catch (error) { complain(error); }
  }

  return {
    element, ask, toggle,
    /** Take what is chosen in the document: `{docId, start, end, text}`; null for nothing. */
    choose(given) { target = given; show(); },
    /** Return the gold in a document. */
    spans: (docId) => golds.get(docId) ?? [],
  };
}
