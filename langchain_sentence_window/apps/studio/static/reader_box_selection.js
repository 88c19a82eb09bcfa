// Sentences on the picture of a page are selected by dragging over their boxes, from the first to the last one.

/**
 * Let sentences be selected.
 *
 * @param {Element} root What holds the pages.
 * @param {Object} options
 * @param {Object} options.model See reader_model.js.
 * @param {(position: number) => Element[]} options.boxesOf The boxes of a sentence that are there.
 * @param {(position: number) => void} options.onSentence A sentence was clicked.
 * @param {(selection: {start: number, end: number}|null) => void} options.onSelect
 */
export function createBoxSelection(root, { model, boxesOf, onSentence, onSelect }) {
  let pressed = null; // {position, x, y}
  let chosen = null; // [first, last]
  let shown = [];

  function show() {
    for (const box of shown) box.classList.remove("selected");
    shown = [];
    for (let at = chosen?.[0] ?? 0; chosen && at <= chosen[1]; at += 1) shown.push(...boxesOf(at));
    for (const box of shown) box.classList.add("selected");
  }

  function select(from, to) {
    chosen = [Math.min(from, to), Math.max(from, to)];
    show();
    onSelect({ start: model.span(chosen[0])[0], end: model.span(chosen[1])[1] });
  }

  function clear() {
    if (!chosen) return;
    chosen = null;
    show();
    onSelect(null);
  }

  const at = (event) => document.elementFromPoint(event.clientX, event.clientY)?.closest?.(".box");
  const isDragged = (event) => Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) > 6;

  root.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.pointerType === "touch") return;
    const box = at(event);
    pressed = box && root.contains(box) ? { position: Number(box.dataset.p), x: event.clientX, y: event.clientY } : null;
    if (!pressed) clear();
    event.preventDefault(); // no drag of the picture
  });
  root.addEventListener("pointermove", (event) => {
    if (!pressed || !(event.buttons & 1) || !isDragged(event)) return;
    const box = at(event);
    const to = box && root.contains(box) ? Number(box.dataset.p) : chosen ? null : pressed.position;
    if (to === null) return;
    chosen = [Math.min(pressed.position, to), Math.max(pressed.position, to)];
    show();
  });
  root.addEventListener("pointerup", (event) => {
    if (!pressed) return;
    const from = pressed;
    pressed = null;
    const box = at(event);
    if (Math.hypot(event.clientX - from.x, event.clientY - from.y) > 6) {
      select(...(chosen ?? [from.position, from.position]));
    } else if (box) {
      clear();
      onSentence(Number(box.dataset.p));
    }
  });
  root.addEventListener("click", (event) => {
    if (event.pointerType === "touch" && at(event)) onSentence(Number(at(event).dataset.p));
    else if (event.detail === 0 && event.target.closest?.(".box")) onSentence(Number(event.target.closest(".box").dataset.p)); // by a screen reader
  });

  return { select, clear, show };
}
