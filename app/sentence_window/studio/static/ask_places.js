// The document next to the list: at the window that is chosen, at the next hit, at the place of a citation.

import { ApiError } from "./api.js";
import { el } from "./dom.js";
import { createReader } from "./reader.js";
import { button, complain, isNarrow } from "./widgets.js";

/**
 * Make the right side of the view.
 *
 * @param {Object} options
 * @param {Object} options.app What views share.
 * @param {() => void} options.onGold See reader.js.
 * @param {(card: Object, how: {isChosen: boolean, focus: boolean, scroll: ?boolean}) => void} options.onCard Called when a window's
 *   document is shown at it.
 * @param {(place: {docId: string, start: number|null}) => void} options.onPlace Called when another place is shown.
 * @param {(card: Object|null) => void} options.onClose Called when the user goes back to the list, with the window that
 *   was chosen.
 * @param {(sentence: Object) => void} options.onSentence See reader.js.
 * @param {(docId: string) => Map|null} options.fates What happened to each sentence of a document, for the reader to color.
 */
export function createPlaces({ app, onGold, onCard, onPlace, onClose, onSentence, fates }) {
  const reader = createReader({ app, onSentence, onGold });
  const back = button("← Back to the list", close, "back");
  const element = el("section", { class: "right", aria: { label: "Document" } }, back, reader.element);
  let split = null;
  let windows = [];
  let shown = { windows: [], gold: [], current: null };
  let current = null;
  let isOpen = null;
  let opening = null;

  /** Take the windows of a new result. */
  function setWindows(found) {
    windows = found;
    current = null;
    if (isOpen !== null && !found.some((each) => each.doc_id === isOpen)) {
      reader.close();
      isOpen = null;
    }
  }

  /** Show a place of a document, with what is marked in it. */
  async function go(docId, start, marks) {
    shown = { windows, gold: [], current, ...marks };
    try {
      if (isOpen !== docId) {
        isOpen = docId;
        opening = reader.open(docId, { ...shown, fates: fates(docId), scrollTo: start });
        await opening;
        return;
      }
      await opening;
      if (isOpen !== docId) return;
      highlight();
      if (start !== null) reader.scrollTo(start);
    } catch (error) {
      // The reader shows an error of a document in its place.
      if (isOpen === docId) isOpen = null;
      if (error.name !== "AbortError" && !(error instanceof ApiError)) complain(error);
    }
  }

  function highlight() {
    if (isOpen !== null) reader.highlight({ ...shown, fates: fates(isOpen) });
  }

  function openCard(card, { isChosen, focus = false }) {
    if (!isChosen && isCovering()) return; // it would cover the list
    current = card;
    onCard(card, { isChosen, focus, scroll: isChosen });
    if (isChosen) reads();
    go(card.doc_id, card.start_index);
  }

  /**
   * Show a place.
   *
   * @param {{docId: string, start: ?number, end: ?number}} place With an end, its text is marked.
   * @param {Object} [options]
   * @param {Object[]} [options.cards] The windows to mark; those of the result if they are left out.
   * @param {boolean} [options.isGiven] Whether the address bar said so.
   */
  function openPlace({ docId, start = null, end = null }, { cards = windows, isGiven = false } = {}) {
    if (docId === null) return;
    const inside = cards.find((each) => each.doc_id === docId && start !== null && each.start_index <= start && start < each.end_index);
    current = inside ?? null;
    if (inside && cards === windows) onCard(inside, { isChosen: false, focus: false });
    if (!isGiven) onPlace({ docId, start });
    reads();
    go(docId, start, { windows: cards, gold: end === null ? [] : [[start, end]] });
  }

  /** Mark a window as chosen whose document is in view. */
  function select(card) {
    current = card;
    onCard(card, { isChosen: true, focus: false });
    shown = { ...shown, current };
    highlight();
  }

  function stepCard(step) {
    const at = windows.findIndex((each) => each.rank === current?.rank);
    const next = windows[at < 0 ? 0 : Math.min(Math.max(at + step, 0), windows.length - 1)];
    openCard(next, { isChosen: true, focus: !isCovering() });
  }

  /** Go to the next or the previous hit in the document, and to its window. */
  function stepHit(step) {
    const hit = step > 0 ? reader.nextHit() : reader.previousHit();
    if (hit) select(hit.window);
  }

  function reads() {
    const wasReading = split.classList.contains("reads");
    split.classList.add("reads");
    if (isCovering() && !wasReading) back.focus();
  }

  function showList() {
    split.classList.remove("reads");
  }

  /** Return whether a document takes the place of the list, as there is no room for both. */
  function isCovering() {
    return isNarrow() || (split.classList.contains("compares") && matchMedia("(max-width: 1200px)").matches);
  }

  function close() {
    showList();
    onClose(current);
  }

  return {
    element, reader, openCard, openPlace, select, stepCard, stepHit, highlight, showList, close, setWindows,
    /** Return whether the document covers the list. */
    covers: () => isCovering() && split.classList.contains("reads"),
    /** Return whether the list covers the document. */
    isCovered: () => isCovering() && !split.classList.contains("reads"),
    attach(given) { split = given; },
  };
}
