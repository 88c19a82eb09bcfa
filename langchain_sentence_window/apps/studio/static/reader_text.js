// A document as text: its blocks, with marked sentences.

import { el } from "./dom.js";
import { layBlocks } from "./reader_blocks.js";
import { label, labels, unlabel } from "./reader_labels.js";
import { rove } from "./reader_roving.js";
import { painter, watchSelection } from "./reader_selection.js";

const TOP = 0.28; // of the height, above what is scrolled to
const PROBES = [4, 16, 36, 64, 100];

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
  const element = el("article", { class: "reader-text", on: { click } }, laid.chunks);
  const paintGold = painter("reader-gold");
  const selection = watchSelection(element, model, laid.nodes, onSelect);
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
    select: (position, options) => roving.set(position, options),
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
    /** Return where a sentence stands, from 0 to 1 of all that scrolls. */
    placeOf(position) {
      const box = laid.sentences[position]?.[0]?.getBoundingClientRect();
      return box ? (box.top - scroller.getBoundingClientRect().top + scroller.scrollTop) / Math.max(1, scroller.scrollHeight) : null;
    },
    end() { selection.end(); paintGold([]); },
  };
}
