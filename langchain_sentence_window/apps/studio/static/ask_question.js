// The question box, with the questions of the session.

import { el } from "./dom.js";

const KEPT = 50;
const STORED = "sentence-window.questions";

/**
 * Make the question box. Enter asks, Shift+Enter begins a new line, arrow up and down go through earlier questions.
 *
 * @param {{onAsk: (question: string) => void}} options
 * @returns {{element: HTMLElement, set: (question: string) => void, focus: () => void, add: (question: string) => void}}
 */
export function createQuestion({ onAsk }) {
  const earlier = stored();
  let at = earlier.length;
  const box = el("textarea", {
    id: "question", rows: 1, placeholder: "Ask the documents a question", spellcheck: true, autocomplete: "off",
    aria: { describedby: "question-hint" }, on: { keydown: onKey, input: () => { at = earlier.length; grow(); } },
  });
  const element = el("form", { class: "question", on: { submit: (event) => { event.preventDefault(); submit(); } } },
    el("label", { class: "visually-hidden", htmlFor: "question" }, "Question"),
    el("div", { class: "question-row" }, box, el("button", { class: "main", type: "submit" }, "Ask")),
    el("p", { id: "question-hint", class: "visually-hidden" },
      "Enter asks. Shift and Enter begin a new line. Arrow up brings back earlier questions."));

  function submit() {
    const question = box.value.trim();
    if (question) onAsk(question);
    else box.focus();
  }

  function onKey(event) {
    if (event.isComposing) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      submit();
    } else if (event.key === "ArrowUp" && isAtEdge(0) && at > 0) recall(event, at - 1);
    else if (event.key === "ArrowDown" && isAtEdge(box.value.length) && at < earlier.length) recall(event, at + 1);
    else if (event.key === "Escape") box.blur();
  }

  /** Return whether an arrow key has nowhere to go in the text, or the text is an earlier question as it was. */
  function isAtEdge(edge) {
    return box.value === (earlier[at] ?? "") || (box.selectionStart === edge && box.selectionEnd === edge);
  }

  function recall(event, index) {
    event.preventDefault();
    at = index;
    box.value = earlier[at] ?? "";
    box.setSelectionRange(box.value.length, box.value.length);
    grow();
  }

  function grow() {
    box.style.height = "auto";
    if (box.scrollHeight) box.style.height = `${box.scrollHeight + 2}px`;
  }

  function add(question) {
    if (earlier.at(-1) !== question) earlier.push(question);
    earlier.splice(0, earlier.length - KEPT);
    at = earlier.length - 1;
    try { sessionStorage.setItem(STORED, JSON.stringify(earlier)); } catch { /* it lasts as long as the page */ }
  }

  return { element, add, set(question) { box.value = question; grow(); }, focus() { box.focus(); box.select(); } };
}

function stored() {
  try {
    const found = JSON.parse(sessionStorage.getItem(STORED) ?? "[]");
    return Array.isArray(found) ? found.filter((each) => typeof each === "string").slice(-KEPT) : [];
  } catch {
    return [];
  }
}
