// A document as text: its blocks as elements, with marked sentences, and text that is selected.

import { el } from "./dom.js";
import { MARK, label, labels, lastAtMost, unlabel } from "./reader_model.js";
import { rove } from "./reader_roving.js";

const TOP = 0.28; // of the height, above what is scrolled to
const PROBES = [4, 16, 36, 64, 100];
const WAIT_MS = 120;
const CHUNK_BLOCKS = 40;
const CHARS_PER_LINE = 80;
const LINE_PX = 26;
const WRAPPERS = [["b", "strong"], ["i", "em"], ["c", "code"]];
const CLASSES = { l: "link", g: "image", n: "break", k: "number" };

/**
 * Show a document as text.
 *
 * @param {Object} options
 * @param {Object} options.model See reader_model.js.
 * @param {Element} options.scroller What scrolls.
 * @param {(position: number) => void} options.onSentence
 * @param {(selection: {start: number, end: number}|null) => void} options.onSelect
 */
export function createTextView({ model, scroller, onSentence, onSelect }) {
  const laid = layBlocks(model);
  const element = el("article", { class: "reader-text laid", on: { click } }, laid.chunks);
  const paintGold = painter("reader-gold");
  const selection = watchSelection(element, model, laid.blocks, onSelect);
  const roving = rove(element, {
    count: model.count,
    elementOf: (position) => laid.sentences[position]?.[0] ?? null,
    show: (position) => bring(laid.sentences[position]?.[0], { isGentle: true }),
    onEnter: onSentence,
    onExtend: (from, to) => selection.select(model.span(from)[0], model.span(to)[1]),
    onClear: () => selection.clear(),
  });
  let marked = [];
  roving.set(0);

  function click(event) {
    const found = event.target.closest("[data-p]");
    if (!found || !document.getSelection().isCollapsed) return;
    roving.set(Number(found.dataset.p), { focus: true });
    onSentence(Number(found.dataset.p));
  }

  /** Scroll an element into view; gently, only if it isn't there. */
  function bring(target, { isGentle = false } = {}) {
    if (!target) return;
    const box = () => target.getClientRects()[0] ?? target.getBoundingClientRect();
    const frame = scroller.getBoundingClientRect();
    if (isGentle && box().top >= frame.top + 8 && target.getBoundingClientRect().bottom <= frame.bottom - 8) return;
    const move = () => { scroller.scrollTop += box().top - scroller.getBoundingClientRect().top - scroller.clientHeight * TOP; };
    move();
    // What comes near is laid out only now, and may be higher than it was taken for.
    requestAnimationFrame(() => { move(); requestAnimationFrame(move); });
  }

  function mark(marks) {
    for (const each of marked) unlabel(each, each.classList.contains("between") ? "between" : "s");
    marked = [];
    const show = (each, base, how, place) => { label(each, base, how, place); marked.push(each); };
    for (const [position, how] of labels(marks, model)) {
      const own = laid.sentences[position];
      own.forEach((each, i) => show(each, "s", how, { isFirst: i === 0, isLast: i === own.length - 1 }));
    }
    const none = { rank: null, fate: null, said: [] };
    for (const { first, last, isCurrent } of marks.windows) {
      const classes = new Set(isCurrent ? ["in-window", "in-current"] : ["in-window"]);
      for (let at = first; at < last; at += 1) for (const gap of laid.gaps[at] ?? []) show(gap, "between", { classes, ...none });
    }
    const isPainted = paintGold(marks.gold.map(({ start, end }) => selection.rangeOf(start, end)));
    element.classList.toggle("paints-gold", isPainted !== false);
  }

  return {
    element,
    mark,
    clearSelection: () => selection.clear(),
    /** Scroll to a code point. */
    show(start) {
      const position = model.at(start);
      const own = laid.sentences[position];
      const node = selection.rangeOf(start, start + 1).startContainer.parentElement?.closest(".s");
      bring(own.includes(node) ? node : own[0]);
      roving.set(position);
    },
    /** Return the code point of what is read: where `show` puts it, or above that at the beginning; or null. */
    top() {
      const frame = scroller.getBoundingClientRect();
      const top = frame.top + Math.min(scroller.scrollTop, frame.height * TOP);
      for (const y of PROBES) {
        const found = document.elementFromPoint(frame.left + frame.width / 2, top + y)?.closest(".chunk > *, .list > *");
        const sentence = found && element.contains(found) ? found.querySelector(".s") : null;
        if (sentence) return model.span(Number(sentence.dataset.p))[0];
      }
      return null;
    },
    end() { selection.end(); paintGold([]); },
  };
}

// The blocks: each character is in a text node of its own run, once and in order.

/**
 * Make the elements of a document's blocks, or of a window's.
 *
 * @param {Object} model See reader_model.js.
 * @param {(position: number) => string} [tagOf] The tag of a sentence's elements.
 * @returns {{chunks: Element[], blocks: Element[], sentences: Element[][], gaps: Element[][]}} The elements to show; that
 *   of each block; by the position of each sentence its elements, and those of the white space after it.
 */
export function layBlocks(model, tagOf = () => "span") {
  const made = { chunks: [], sentences: Array.from({ length: model.count }, () => []), gaps: [], blocks: [] };
  const { blocks, kind } = model.data;
  let before = -1;
  let page = null;
  for (let first = 0; first < blocks.length; first += CHUNK_BLOCKS) {
    const chunk = el("div", { class: `chunk ${kind}` });
    let lines = 0;
    let list = null;
    for (const block of blocks.slice(first, first + CHUNK_BLOCKS)) {
      const element = layBlock(block);
      element.dataset.start = block.start;
      made.blocks.push(element);
      const shown = firstSentence(element);
      if (shown !== null && model.pageOf(shown) !== page && kind !== "markdown") {
        page = model.pageOf(shown);
        if (page !== null) chunk.append(el("div", { class: "page-break", data: { label: `Page ${page + 1}` } }));
        list = null;
      }
      if (block.kind === "item") list ??= chunk.appendChild(el("div", { class: "list", role: "list" }));
      else list = null;
      (list ?? chunk).append(element);
      lines += 1 + Math.ceil(element.textContent.length / CHARS_PER_LINE);
    }
    chunk.style.setProperty("contain-intrinsic-block-size", `auto ${lines * LINE_PX}px`);
    made.chunks.push(chunk);
  }
  return made;

  function firstSentence(element) {
    const found = element.matches?.(".s") ? element : element.querySelector(".s");
    return found ? Number(found.dataset.p) : null;
  }

  function layBlock(block) {
    const style = indent(block);
    if (block.kind === "table") {
      const rows = block.rows.map((row) => el("tr", {}, row.cells.map((cell) =>
        fillRuns(el(row.header ? "th" : "td", row.header ? { scope: "col", dir: "auto" } : { dir: "auto" }), cell))));
      return el("div", { class: "table", style, tabIndex: -1 }, el("table", {}, el("tbody", {}, rows)));
    }
    const isHidden = block.runs[2].every((each) => each.includes(MARK)) && block.kind !== "rule";
    const classes = [block.kind, block.quotes ? "quoted" : "", block.numbered ? "numbered" : "", isHidden ? "hidden-block" : ""];
    const properties = { class: classes.filter(Boolean).join(" "), dir: "auto", style };
    if (block.kind === "heading") Object.assign(properties, { role: "heading", aria: { level: Math.min(6, model.path(block.start).length + 2) }, data: { level: block.level } });
    if (block.kind === "item") properties.role = "listitem";
    if (block.kind === "rule") properties.role = "separator";
    return fillRuns(el(block.kind === "code" ? "pre" : "div", properties), block.runs);
  }

  function fillRuns(parent, [texts, indexes, styles]) {
    let sentence = null;
    for (let i = 0; i < texts.length; i += 1) {
      const position = indexes[i];
      if (position < 0) {
        const gap = el("span", { class: "between" }, laid(texts[i], styles[i]));
        (made.gaps[before] ??= []).push(gap);
        parent.append(gap);
        sentence = null;
        continue;
      }
      if (sentence?.position !== position) {
        const element = el(tagOf(position), { class: "s", data: { p: position } });
        made.sentences[position].push(element);
        parent.append(element);
        sentence = { position, element };
        before = position;
      }
      sentence.element.append(laid(texts[i], styles[i]));
    }
    return parent;
  }

  function laid(text, style) {
    const node = document.createTextNode(text);
    if (!style) return node;
    if (style.includes(MARK)) return el("span", { class: "mark-up" }, node);
    let element = node;
    for (const [letter, tag] of WRAPPERS) if (style.includes(letter)) element = el(tag, {}, element);
    for (const [letter, name] of Object.entries(CLASSES)) if (style.includes(letter)) element = el("span", { class: name }, element);
    return element;
  }
}

function indent(block) {
  const lists = block.kind === "heading" ? 0 : block.level ?? 0;
  return { "--lists": lists, "--quotes": block.quotes ?? 0 };
}

// Text that is selected, in code points. It stays marked when the focus goes elsewhere, such as to the field of the
// question that it answers.

/** Paint ranges by a name that CSS knows; return a function that paints others instead. */
function painter(name) {
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
 * Tell of what is selected in a document.
 *
 * @param {Element} root What holds them.
 * @param {Object} model See reader_model.js.
 * @param {Element[]} blocks That of each block of the model.
 * @param {(selection: {start: number, end: number}|null) => void} onChange
 */
function watchSelection(root, model, blocks, onChange) {
  const paint = painter("reader-selection");
  const ending = new AbortController();
  let timer = 0;
  let last = null;

  const isBefore = (one, other) => one.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING;

  /** Return the code point of a place in the page: that of its block, and the text from there. */
  function offsetOf(node, offset) {
    const block = (node.closest ? node : node.parentElement).closest("[data-start]");
    if (!block) {
      const child = node.childNodes[offset];
      const next = child && blocks.find((each) => child.contains(each) || isBefore(child, each));
      return next ? Number(next.dataset.start) : model.end;
    }
    const range = document.createRange();
    range.setStart(block, 0);
    range.setEnd(node, offset);
    return Number(block.dataset.start) + Array.from(range.toString()).length;
  }

  /** Return a range over a stretch of the text. */
  function rangeOf(start, end) {
    const range = document.createRange();
    range.setStart(...placeOf(start));
    range.setEnd(...placeOf(end, true));
    return range;
  }

  function placeOf(point, isEnd = false) {
    const number = Math.max(0, lastAtMost(model.blockStarts, isEnd ? point - 1 : point));
    const walker = document.createTreeWalker(blocks[number], NodeFilter.SHOW_TEXT);
    let left = point - model.blockStarts[number];
    while (walker.nextNode()) {
      const points = Array.from(walker.currentNode.data);
      if (left < points.length + Number(isEnd)) return [walker.currentNode, points.slice(0, left).join("").length];
      left -= points.length;
    }
    return [blocks[number], 0];
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
    const text = model.slice(start, end); // white space is of one unit each
    if (!text.trim()) return null;
    return { start: start + text.length - text.trimStart().length, end: end - text.length + text.trimEnd().length };
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
