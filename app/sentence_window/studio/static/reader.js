// The document itself, with windows, hits and marked gold: as text, or as the pages of its PDF.

import { createAnswerBar } from "./answers.js";
import { get } from "./api.js";
import { el, fill } from "./dom.js";
import { createModel, findMarks, hitAt, isStale } from "./reader_model.js";
import { createPagesView } from "./reader_pages.js";
import { createTextView } from "./reader_text.js";
import { baseName, inFolder } from "./words.js";

const SETTLE_MS = 150;
const ZOOMS = [0.5, 0.75, 1, 1.5, 2, 3];

/**
 * Make a reader. Offsets are code points of the document's text.
 *
 * @param {Object} options
 * @param {Object} options.app What views share.
 * @param {(sentence: {docId, index, start, end, text}) => void} [options.onSentence] A sentence was clicked, or Enter
 *   was pressed on it.
 * @param {() => void} [options.onGold] Called when other text is the answer of the question.
 * @param {boolean} [options.hasInput] Whether the question that text answers is written below the document.
 */
export function createReader({ app, onSentence = () => {}, onGold = () => {}, hasInput = false }) {
  const nothing = el("p", { class: "reader-nothing muted" }, "Open a document to read it here.");
  const scroller = el("div", { class: "reader-scroll", on: { scroll: onScroll, focusin: ({ target }) => { if (target.dataset.p && !selected) choose(model.sentence(Number(target.dataset.p))); } } }, nothing);
  const head = createHead({
    onHit: (step) => (step > 0 ? api.nextHit() : api.previousHit()),
    onView: (kind) => switchTo(kind),
    onZoom: (step) => zoomBy(step),
    onHeading: (start) => view?.show(start),
  });
  const bar = createAnswerBar({ app, hasInput, onGold() { mark(); onGold(); } });
  const element = el("div", { class: "reader", aria: { busy: "false" } }, head.element, el("div", { class: "reader-body" }, scroller), bar.element);
  let model = null;
  let views = new Map();
  let view = null;
  let marks = null;
  let wanted = { windows: [], gold: [], fates: null, current: null };
  let selected = null;
  let loading = null;
  let failure = null; // why its pages can't be marked
  let later = null; // where to scroll to when it is loaded
  let zoom = 1;
  let timer = 0;
  let frame = 0;

  async function load(docId) {
    loading?.abort();
    const mine = loading = new AbortController();
    element.setAttribute("aria-busy", "true");
    try {
      const data = await get("/api/document", { doc_id: docId }, { signal: mine.signal });
      if (mine.signal.aborted) throw new DOMException("another document was opened", "AbortError");
      drop();
      model = createModel(data);
      head.name(data);
      switchTo(data.page_sizes ? "pages" : "text", { isFirst: true });
    } catch (error) {
      if (loading === mine && error.name !== "AbortError") { drop(); fill(scroller, el("p", { class: "reader-nothing error" }, error.message)); }
      throw error;
    } finally {
      if (loading === mine) { loading = null; element.setAttribute("aria-busy", "false"); }
    }
  }

  function drop() {
    for (const each of views.values()) each.end();
    views = new Map();
    view = model = marks = failure = selected = null;
    zoom = 1;
    choose(null);
    head.name(null);
    fill(scroller, nothing);
  }

  function switchTo(kind, { isFirst = false } = {}) {
    const at = isFirst ? null : marks?.hit?.start ?? view?.top();
    view?.clearSelection();
    if (!views.has(kind)) views.set(kind, createView(kind));
    view = views.get(kind);
    fill(scroller, view.element);
    scroller.scrollTop = 0;
    head.zoom(kind === "pages" ? zoom : null);
    head.view(kind, Boolean(model.data.page_sizes), failure ?? model.data.no_pages);
    mark();
    if (at !== null && at !== undefined) view.show(at);
    onScroll();
  }

  function zoomBy(step) {
    const at = marks?.hit?.start ?? view.top();
    zoom = ZOOMS[Math.min(Math.max(ZOOMS.indexOf(zoom) + step, 0), ZOOMS.length - 1)];
    views.get("pages").zoom(zoom);
    head.zoom(zoom);
    if (at !== null) view.show(at);
  }

  function createView(kind) {
    const options = {
      model, scroller,
      onSentence: (position) => onSentence(model.sentence(position)),
      onSelect(found) {
        selected = found && { docId: model.data.doc_id, ...found, text: model.slice(found.start, found.end) };
        if (selected) choose(selected);
      },
      onFailure,
    };
    return kind === "pages" ? createPagesView(options) : createTextView(options);
  }

  /** Show the text instead of the pages; who goes back to the pages sees them without boxes. */
  function onFailure(reason) {
    if (failure !== null || view !== views.get("pages")) return;
    failure = reason;
    switchTo("text");
  }

  function choose(target) {
    bar.choose(target);
  }

  function mark() {
    if (!model) return;
    const before = marks?.hit;
    marks = findMarks(model, { ...wanted, gold: [...wanted.gold, ...bar.spans(model.data.doc_id)] });
    marks.hit = marks.hits.find((hit) => hit.start === before?.start) ?? null;
    remark();
  }

  function remark() {
    view.mark(marks);
    head.hits(marks.hits.length, marks.hit ? marks.hits.indexOf(marks.hit) : -1);
    onScroll();
  }

  function place() {
    const top = view?.top() ?? null;
    if (top !== null) head.place(model.path(top), model.pageOf(model.at(top)), model.data.pages);
  }

  function onScroll() {
    cancelAnimationFrame(frame);
    clearTimeout(timer);
    frame = requestAnimationFrame(place);
    timer = setTimeout(place, SETTLE_MS); // what came near is laid out only then
  }

  function toHit(step) {
    if (!marks?.hits.length) return null;
    const at = marks.hit ? marks.hits.indexOf(marks.hit) + step : step > 0 ? 0 : -1;
    const hit = marks.hits.at(at % marks.hits.length);
    go(hit.start);
    return hit;
  }

  function go(start) {
    const hit = hitAt(marks.hits, start);
    if (hit !== marks.hit) { marks.hit = hit; remark(); }
    const first = hit?.first ?? model.at(start);
    // Of a window that begins with a heading, the text below it answers.
    const below = hit && model.isHeading(first) ? marks.hits.find((each) => each.window === hit.window && !model.isHeading(each.first)) : null;
    if (selected) view.clearSelection();
    choose(model.sentence(below?.first ?? first));
    view.show(start);
  }

  const api = {
    element,
    /**
     * Open a document. One that is open already isn't loaded again, unless its text has changed.
     *
     * @param {string} docId
     * @param {Object} [how] What `highlight` takes; and `scrollTo`, a code point.
     */
    async open(docId, { windows = [], gold = [], fates = null, current = null, scrollTo = null } = {}) {
      wanted = { windows, gold, fates, current };
      later = null;
      if (loading || model?.data.doc_id !== docId || isStale(model, windows)) await load(docId);
      else mark();
      const start = later ?? scrollTo ?? startOf(marks);
      if (start !== null) go(start);
    },
    /**
     * Mark other places of the same document. What is left out stays as it is.
     *
     * @param {Object} how
     * @param {Object[]} [how.windows] Cards, as `/api/ask` returns them; those of other documents are ignored.
     * @param {number[][]} [how.gold] `[[start, end], ...]`
     * @param {Map<number, {kind, text}>|null} [how.fates] By the index of a sentence.
     * @param {Object|null} [how.current] A card.
     */
    highlight(how) {
      wanted = { ...wanted, ...Object.fromEntries(Object.entries(how).filter(([, value]) => value !== undefined)) };
      if (!model || loading) return;
      if (isStale(model, wanted.windows)) api.open(model.data.doc_id, wanted).catch(() => {}); // the reader shows the error
      else mark();
    },
    /** Scroll to a code point, or do so when the document is there. A hit at the place is the current one then. */
    scrollTo(start) {
      if (view && !loading) go(start);
      else later = start;
    },
    /** Go to the next hit, and from the last one to the first; return it with its `window`, or null. */
    nextHit: () => toHit(1),
    previousHit: () => toHit(-1),
    /** Return the document that is open, see reader_model.js; null for none. */
    model: () => (loading ? null : model),
    /** Return the text that is selected: `{docId, start, end, text}`; null for none. */
    selected: () => selected,
    /** Return what is the answer of the question in a document. */
    goldOf: bar.spans,
    /** Say which question the document is read for. */
    ask: bar.ask,
    /** Make what is chosen the answer of the question, or take it out; `chosen` is something else. */
    answer(chosen) { return bar.toggle(chosen); },
    close() {
      loading?.abort();
      loading = null;
      element.setAttribute("aria-busy", "false");
      drop();
    },
  };
  return api;
}

/** Return where to begin: in the current window or the best one, at the first gold; or null. */
function startOf({ windows, gold }) {
  const [best] = [...windows].sort((one, other) => other.isCurrent - one.isCurrent || one.rank - other.rank);
  return best?.start ?? gold[0]?.start ?? null;
}

/**
 * Make the head: what is open, where it is scrolled to, its hits, and how it is shown.
 *
 * @param {Object} options
 * @param {(step: number) => void} options.onHit
 * @param {(kind: string) => void} options.onView
 * @param {(step: number) => void} options.onZoom
 * @param {(start: number) => void} options.onHeading
 */
function createHead({ onHit, onView, onZoom, onHeading }) {
  const title = el("h2", { class: "reader-title", dir: "auto" });
  const path = el("nav", { class: "reader-path muted small", aria: { label: "Place in the document" } });
  const number = el("span", { class: "number", aria: { live: "polite" } });
  const step = (text, name, action) => el("button", { type: "button", class: "quiet", title: name, aria: { label: name }, on: { click: action } }, text);
  const hits = el("div", { class: "reader-hits", hidden: true }, step("↑", "Previous hit", () => onHit(-1)), number, step("↓", "Next hit", () => onHit(1)));
  const zoomed = el("span", { class: "number", aria: { live: "polite" } });
  const zooms = [step("−", "Smaller", () => onZoom(-1)), step("+", "Larger", () => onZoom(1))];
  const zoom = el("div", { class: "reader-zoom", hidden: true }, zooms[0], zoomed, zooms[1]);
  const buttons = Object.fromEntries([["pages", "Page"], ["text", "Text"]].map(([kind, text]) =>
    [kind, el("button", { type: "button", on: { click: () => onView(kind) } }, text)]));
  const choice = el("div", { class: "reader-view", role: "group", aria: { label: "Show as" }, hidden: true }, Object.values(buttons));
  const reason = el("p", { class: "reader-note small", role: "status", hidden: true });
  const element = el("header", { class: "reader-head", hidden: true }, el("div", { class: "reader-line" }, title, hits, zoom, choice), path, reason);
  let shown = "";

  return {
    element,
    /** Show what is open; `null` for nothing. */
    name(data) {
      element.hidden = data === null;
      fill(title, data ? data.title ?? baseName(data.name) : "", data?.title ? el("bdi", { class: "muted small" }, ` ${inFolder(data.source ?? data.name)}`) : null);
      title.title = data?.source ?? data?.name ?? "";
      fill(path);
      shown = "";
    },
    /** Show how large the pages are; null where there are none. */
    zoom(factor) {
      zoom.hidden = factor === null;
      fill(zoomed, `${100 * factor} %`);
      zooms[0].disabled = factor === ZOOMS[0];
      zooms[1].disabled = factor === ZOOMS.at(-1);
    },
    /** Show which view is on, and why there are no pages. */
    view(kind, hasPages, why) {
      choice.hidden = !hasPages;
      for (const [each, button] of Object.entries(buttons)) button.setAttribute("aria-pressed", String(each === kind));
      reason.hidden = kind === "pages" || !why;
      fill(reason, why ? `This is the document's text: ${why}.` : "");
    },
    /** Show the number of hits, and which is the current one, from 0; -1 for none. */
    hits(count, current) {
      hits.hidden = count === 0;
      fill(number, current < 0 ? `${count} ${count === 1 ? "hit" : "hits"}` : `Hit ${current + 1} of ${count}`);
    },
    /** Show the place at the upper edge. */
    place(headings, page, pages) {
      const key = JSON.stringify([headings.map(({ start }) => start), page]);
      if (key === shown) return;
      shown = key;
      const links = headings.map((each) => el("button", { type: "button", class: "quiet", dir: "auto", on: { click: () => onHeading(each.start) } }, each.title));
      const where = page === null ? null : el("span", { class: "number" }, `Page ${page + 1}${pages ? ` of ${pages}` : ""}`);
      fill(path, where, links.map((link, i) => [i || where ? el("span", { aria: { hidden: "true" } }, i ? "›" : "·") : null, link]));
    },
  };
}
