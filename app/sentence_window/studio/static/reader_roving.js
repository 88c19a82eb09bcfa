// One sentence of a document can be reached by Tab; arrow keys move from there.

/**
 * Let keys move between sentences.
 *
 * @param {Element} root What holds the sentences.
 * @param {Object} options
 * @param {number} options.count The number of sentences.
 * @param {(position: number) => Element|null} options.elementOf The element that takes the focus; null if there is none now.
 * @param {() => Element|null} [options.standIn] The element that takes the focus in the meantime, of another sentence.
 * @param {(position: number) => void} options.show Scrolls to a sentence.
 * @param {(position: number) => void} options.onEnter
 * @param {(from: number, to: number) => void} options.onExtend Sentences were selected by Shift and an arrow key.
 * @param {() => void} options.onClear The selection was taken back.
 */
export function rove(root, { count, elementOf, standIn = () => null, show, onEnter, onExtend, onClear }) {
  let current = 0;
  let anchor = null;
  let element = null;
  let isAwaited = false;

  /**
   * Make a sentence the one that Tab reaches, and perhaps focus it: as soon as it is there, if the focus hasn't been
   * taken elsewhere by then. Return whether Tab reaches any.
   */
  function set(position, { focus = false } = {}) {
    current = Math.min(Math.max(position, 0), count - 1);
    const own = elementOf(current);
    const before = element;
    element = own ?? standIn();
    if (element !== before) before?.removeAttribute("tabindex"); // which takes the focus from it
    if (element) element.tabIndex = 0;
    isAwaited = focus || (isAwaited && isFree());
    if (own && isAwaited) {
      own.focus({ preventScroll: true });
      isAwaited = false;
    }
    return element !== null;
  }

  /** Return whether the focus is on a sentence or nowhere: on the body, where it goes when its element is removed. */
  function isFree() {
    return document.activeElement === document.body || root.contains(document.activeElement);
  }

  function go(position, { extends: isExtending = false } = {}) {
    const to = Math.min(Math.max(position, 0), count - 1);
    if (isExtending) anchor ??= current;
    else anchor = null;
    show(to);
    set(to, { focus: true });
    if (isExtending) onExtend(Math.min(anchor, to), Math.max(anchor, to));
  }

  root.addEventListener("focusin", ({ target }) => { if (target === element) current = Number(target.dataset.p); });
  root.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !event.target.closest?.("[data-p]")) return;
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    const isEdge = !event.shiftKey && { Home: 0, End: count - 1 }[event.key];
    if (step) go(current + step, { extends: event.shiftKey });
    else if (typeof isEdge === "number") go(isEdge);
    else if (event.key === "Enter" || event.key === " ") onEnter(current);
    else if (event.key === "Escape" && anchor !== null) { anchor = null; onClear(); }
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  return { set, get current() { return current; } };
}
