// The document beside the list: at the window that is chosen, at the next hit, at the place of a citation.

import { el } from "./dom.js";
import { complain } from "./messages.js";
import { createReader } from "./reader.js";

/**
 * Make the right side of the view.
 *
 * @param {Object} options
 * @param {(card: Object, how: {isChosen: boolean, focus: boolean}) => void} options.onCard Called when a window's
 *   document is shown at it.
 * @param {(place: {docId: string, start: number|null}) => void} options.onPlace Called when another place is shown.
 * @param {() => void} options.onClose Called when the user goes back to the list.
 * @param {(sentence: Object) => void} options.onSentence See reader.js.
 * @param {(docId: string) => Map|null} options.fates What became of each sentence of a document, for the reader to color.
 */
export function createPlaces({ onCard, onPlace, onClose, onSentence, fates }) {
  const reader = createReader({ onSentence });
  const back = el("button", { type: "button", class: "back", on: { click: close } }, "← Back to the list");
  const element = el("section", { class: "right", aria: { label: "Document" } }, back, reader.element);
  let split = null;
  let windows = [];
  let hits = [];
  let shown = [];
  let current = null;
  let marked = null;
  let hit = null;
  let isOpen = null;
  let opening = null;

  /** Take the windows of a new result. */
  function setWindows(found) {
    windows = found;
    hits = hitsOf(found);
    current = marked = hit = null;
    if (isOpen !== null && !found.some((each) => each.doc_id === isOpen)) { reader.close?.(); isOpen = null; }
  }

  /** Show a place of a document; `current` is what stands out there: a window, or the start of a hit. */
  async function go(docId, start, cards, standsOut = current) {
    shown = cards;
    marked = standsOut;
    try {
      if (isOpen !== docId) {
        isOpen = docId;
        opening = reader.open(docId, { windows: cards, current: marked, fates: fates(docId), scrollTo: start });
        await opening;
        return;
      }
      await opening;
      if (isOpen !== docId) return;
      highlight();
      if (start !== null) reader.scrollTo(start);
    } catch (error) {
      if (isOpen === docId) isOpen = null;
      complain(error);
    }
  }

  function highlight() {
    if (isOpen !== null) reader.highlight({ windows: shown, current: marked, fates: fates(isOpen) });
  }

  function openCard(card, { isChosen, focus = false }) {
    current = card;
    hit = null;
    onCard(card, { isChosen, focus });
    if (isChosen) reads();
    else if (isNarrow()) return;
    return go(card.doc_id, card.start_index, windows);
  }

  /** Show a place; `isGiven` if the address bar said so. */
  function openPlace({ docId, start = null }, cards = windows, { isGiven = false } = {}) {
    const inside = cards.find((each) => each.doc_id === docId && start !== null && each.start_index <= start && start < each.end_index);
    current = inside ?? null;
    if (inside && cards === windows) onCard(inside, { isChosen: false, focus: false });
    if (!isGiven) onPlace({ docId, start });
    reads();
    return go(docId, start, cards, start);
  }

  /** Mark a window as chosen whose document is in view. */
  function select(card) {
    current = marked = card;
    onCard(card, { isChosen: true, focus: false });
    highlight();
  }

  function stepCard(step) {
    const at = windows.findIndex((each) => each.rank === current?.rank);
    const next = windows[at < 0 ? 0 : Math.min(Math.max(at + step, 0), windows.length - 1)];
    openCard(next, { isChosen: true, focus: !isNarrow() });
  }

  /** Go to the next or the previous hit: in the document, then in the next one of the list. */
  function stepHit(step) {
    if (!hits.length) return;
    const first = hits.findIndex((each) => each.card === current);
    // Without a hit before, the window that is chosen begins.
    const next = hit !== null ? hits.indexOf(hit) + step : first < 0 ? 0 : step > 0 ? first : first - 1;
    hit = hits.at(next % hits.length);
    current = hit.card;
    onCard(current, { isChosen: true, focus: false });
    reads();
    go(current.doc_id, hit.start, windows, hit.start);
  }

  function reads() {
    const wasReading = split.classList.contains("reads");
    split.classList.add("reads");
    if (isNarrow() && !wasReading) back.focus();
  }

  function showList() {
    split.classList.remove("reads");
  }

  function close() {
    showList();
    onClose();
  }

  return {
    element, openCard, openPlace, select, stepCard, stepHit, highlight, showList, setWindows,
    attach(given) { split = given; },
  };
}

/** Return all hits: document by document in the order of the list, and in each by place. */
function hitsOf(windows) {
  const documents = [...new Set(windows.map((each) => each.doc_id))];
  return documents.flatMap((docId) => windows.filter((each) => each.doc_id === docId)
    .flatMap((card) => (card.hits ?? []).map((each) => ({ card, start: each.start_index })))
    .sort((one, other) => one.start - other.start));
}

function isNarrow() {
  return matchMedia("(max-width: 800px)").matches;
}
