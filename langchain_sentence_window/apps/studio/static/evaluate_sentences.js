// Gold chosen from a list of sentences: for the keyboard, for screen readers, and where nothing can be selected.

import { el, fill } from "./dom.js";

const SHOWN = 40;

/**
 * Make the list of a document's sentences, of which each can be made gold.
 *
 * @param {{onToggle: (span: [number, number], isGold: boolean) => void, onFocus: (start: number) => void}} handlers
 */
export function createSentencePicker({ onToggle, onFocus }) {
  const search = el("input", { type: "search", class: "grow", placeholder: "Find a sentence", aria: { label: "Find a sentence" }, on: { input: () => { from = 0; show(); } } });
  const first = numberField("From sentence");
  const last = numberField("to sentence");
  const problem = el("p", { class: "error small", role: "alert" });
  const add = el("button", { type: "button", on: { click: addRange } }, "Add as gold");
  const list = el("ul", { class: "plain sentence-choice", role: "listbox", aria: { label: "Sentences of the document", multiselectable: "true" }, on: { keydown: onKey } });
  const before = el("button", { type: "button", class: "small", on: { click: () => move(-SHOWN) } }, "Earlier");
  const after = el("button", { type: "button", class: "small", on: { click: () => move(SHOWN) } }, "Later");
  const place = el("span", { class: "muted small", role: "status" });
  const element = el("div", { class: "sentence-picker" }, search,
    el("p", { class: "muted small" }, "Arrow keys go through the sentences, the space bar makes one gold or takes it out."),
    list, el("div", { class: "row" }, before, place, after),
    el("div", { class: "row" }, first.label, last.label, add), problem);
  let text = null;
  let gold = [];
  let from = 0;
  let found = [];
  let focused = 0;

  function numberField(label) {
    const input = el("input", { type: "number", min: "1", step: "1", class: "number" });
    return { input, label: el("label", {}, label, input) };
  }

  function isGold({ start, end }) {
    return gold.some(([a, b]) => a <= start && end <= b);
  }

  function show() {
    const wanted = search.value.trim().toLowerCase();
    found = text ? [...text.sentences.keys()].filter((i) => !wanted || text.sentences[i].text.toLowerCase().includes(wanted)) : [];
    from = Math.max(0, Math.min(from, found.length - 1));
    focused = Math.min(Math.max(focused, from), Math.min(from + SHOWN, found.length) - 1);
    fill(list, found.slice(from, from + SHOWN).map((index, i) => {
      const sentence = text.sentences[index];
      return el("li", { role: "option", tabIndex: from + i === focused ? 0 : -1, aria: { selected: String(isGold(sentence)) },
        on: { click: () => { focused = from + i; toggle(index); } } },
      el("span", { class: "muted number" }, index + 1), el("span", { class: "check", aria: { hidden: "true" } }, isGold(sentence) ? "✓" : ""),
      el("span", { class: "reading" }, sentence.text));
    }));
    before.disabled = from === 0;
    after.disabled = from + SHOWN >= found.length;
    place.textContent = found.length ? `${(from + 1).toLocaleString()} to ${Math.min(from + SHOWN, found.length).toLocaleString()} of ${found.length.toLocaleString()}` : "no sentence";
  }

  function toggle(index) {
    const sentence = text.sentences[index];
    onToggle([sentence.start, sentence.end], !isGold(sentence));
  }

  function move(step) {
    from = Math.max(0, from + step);
    focused = from;
    show();
  }

  function onKey(event) {
    const next = { ArrowDown: focused + 1, ArrowUp: focused - 1, Home: 0, End: found.length - 1 }[event.key];
    if (event.key === " " || event.key === "Enter") toggle(found[focused]);
    else if (next === undefined) return;
    else {
      focused = Math.min(Math.max(next, 0), found.length - 1);
      if (focused < from || focused >= from + SHOWN) from = Math.floor(focused / SHOWN) * SHOWN;
      show();
      onFocus(text.sentences[found[focused]].start);
    }
    event.preventDefault();
    event.stopPropagation();
    list.querySelector('[tabindex="0"]')?.focus();
  }

  function addRange() {
    const [a, b] = [Number(first.input.value), Number(last.input.value || first.input.value)];
    const count = text?.sentences.length ?? 0;
    const isRight = Number.isInteger(a) && Number.isInteger(b) && a >= 1 && a <= b && b <= count;
    problem.textContent = isRight ? "" : `Give whole numbers from 1 to ${count.toLocaleString()}, the smaller one first.`;
    if (isRight) onToggle([text.sentences[a - 1].start, text.sentences[b - 1].end], true);
  }

  return {
    element,
    /** Show the sentences of a document; null for none. */
    set(given) {
      [text, from, focused, search.value] = [given, 0, 0, ""];
      show();
    },
    /** Show which sentences are gold. */
    mark(spans) {
      gold = spans;
      show();
    },
  };
}
