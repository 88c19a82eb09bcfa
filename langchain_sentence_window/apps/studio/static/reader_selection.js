// Text that is selected in a document, in code points. It stays marked when the focus goes elsewhere, such as to the
// field of the question that it answers.

import { lastAtMost, pointsOf, unitsOf } from "./reader_offsets.js";

const WAIT_MS = 120;

/** Paint ranges by a name that CSS knows; return a function that paints others instead. */
export function painter(name) {
  let own = [];
  return (ranges) => {
    const registry = globalThis.CSS?.highlights;
    if (!registry) return false;
    if (!registry.has(name)) registry.set(name, new Highlight());
    const shared = registry.get(name);
    for (const range of own) shared.delete(range);
    for (const range of ranges) shared.add(range);
    own = ranges;
    return true;
  };
}

/**
 * Tell of what is selected among the text nodes of a document.
 *
 * @param {Element} root What holds them.
 * @param {Object} model See reader_model.js.
 * @param {Text[]} nodes One for each piece of the model.
 * @param {(selection: {start: number, end: number}|null) => void} onChange
 */
export function watchSelection(root, model, nodes, onChange) {
  const numbers = new Map(nodes.map((node, number) => [node, number]));
  const paint = painter("reader-selection");
  const ending = new AbortController();
  let timer = 0;
  let last = null;

  /** Return the code point of a place in the page. */
  function offsetOf(node, offset) {
    if (numbers.has(node)) return model.pieceStarts[numbers.get(node)] + pointsOf(node.data, offset);
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    const child = node.childNodes[offset];
    let next = child;
    if (child) {
      walker.currentNode = child;
    } else {
      let inner = node;
      while (inner.lastChild) inner = inner.lastChild;
      walker.currentNode = inner;
      next = null;
    }
    if (!numbers.has(next)) do next = walker.nextNode(); while (next && !numbers.has(next));
    return next ? model.pieceStarts[numbers.get(next)] : model.end;
  }

  /** Return a range over a stretch of the text. */
  function rangeOf(start, end) {
    const range = document.createRange();
    range.setStart(...placeOf(start));
    range.setEnd(...placeOf(end, true));
    return range;
  }

  function placeOf(point, isEnd = false) {
    const number = Math.max(0, lastAtMost(model.pieceStarts, isEnd ? point - 1 : point));
    return [nodes[number], unitsOf(nodes[number].data, point - model.pieceStarts[number])];
  }

  function read() {
    const selection = document.getSelection();
    const anchor = selection.anchorNode;
    if (!anchor || selection.rangeCount === 0) return undefined;
    const range = selection.getRangeAt(0);
    if (selection.isCollapsed) return root.contains(anchor) ? null : undefined;
    if (!range.intersectsNode(root)) return undefined;
    const start = root.contains(range.startContainer) ? offsetOf(range.startContainer, range.startOffset) : model.start;
    const end = root.contains(range.endContainer) ? offsetOf(range.endContainer, range.endOffset) : model.end;
    return trimmed(start, end);
  }

  function trimmed(start, end) {
    const points = Array.from(model.slice(start, end));
    let low = 0;
    let high = points.length;
    while (low < high && /\s/.test(points[low])) low += 1;
    while (high > low && /\s/.test(points[high - 1])) high -= 1;
    return low < high ? { start: start + low, end: start + high } : null;
  }

  function change() {
    const found = read();
    if (found === undefined || (found?.start === last?.start && found?.end === last?.end)) return;
    last = found;
    paint(found ? [rangeOf(found.start, found.end)] : []);
    onChange(found);
  }

  document.addEventListener("selectionchange", () => {
    clearTimeout(timer);
    timer = setTimeout(change, WAIT_MS);
  }, { signal: ending.signal });

  // What a key or a click does is about what is selected now, not about what was when the wait began.
  for (const type of ["keydown", "pointerdown"]) {
    document.addEventListener(type, change, { capture: true, signal: ending.signal });
  }

  return {
    rangeOf,
    select(start, end) {
      const [from, to] = [placeOf(start), placeOf(end, true)];
      document.getSelection().setBaseAndExtent(...from, ...to);
    },
    clear() {
      document.getSelection().removeAllRanges();
      if (last !== null) onChange(null);
      last = null;
      paint([]);
    },
    end() { ending.abort(); clearTimeout(timer); paint([]); },
  };
}
