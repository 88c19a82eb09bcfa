// A PDF as pictures of its pages, with boxes around its sentences. Pages are loaded when they come near. Sentences are
// selected by dragging over their boxes, from the first to the last one.

import { address, get } from "./api.js";
import { el, fill } from "./dom.js";
import { label, labels, unlabel } from "./reader_model.js";
import { rove } from "./reader_roving.js";

const NEAR = "120% 0px";
const DWELL_MS = 70;
const WIDTH_STEP = 200;
const MAX_WIDTH = 2400;
const TOP = 0.28;
const DRAGGED_PX = 6;
const GONE = new Set([403, 404, 409]);

/**
 * Show a document as pages.
 *
 * @param {Object} options
 * @param {Object} options.model See reader_model.js.
 * @param {Element} options.scroller What scrolls.
 * @param {(position: number) => void} options.onSentence
 * @param {(selection: {start: number, end: number}|null) => void} options.onSelect
 * @param {(reason: string) => void} options.onFailure The file can't be shown, or has changed.
 */
export function createPagesView({ model, scroller, onSentence, onSelect, onFailure }) {
  const { doc_id, page_sizes: sizes, version, name } = model.data;
  const pages = sizes.map(([width, height], number) => createPage(number, width, height));
  const element = el("div", { class: "reader-pages" }, pages.map((page) => page.element));
  const pageOf = Array.from({ length: model.count }, (_, position) => model.pageOf(position));
  const firstOn = new Map(pageOf.map((page, position) => [page, position]).reverse());
  let marks = { windows: [], hits: [], gold: [], fates: new Map(), hit: null };
  let how = new Map();
  let target = null;
  let isEnded = false;

  const selection = createBoxSelection(element, { model, onSentence: chosen, onSelect, boxesOf });
  const roving = rove(element, {
    count: model.count,
    elementOf: (position) => boxesOf(position)[0] ?? null,
    standIn: () => pages.find((page) => page.boxes.size)?.boxes.values().next().value[0] ?? null,
    show: reach,
    onEnter: onSentence,
    onExtend: selection.select,
    onClear: selection.clear,
  });

  const observer = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const page = pages[Number(entry.target.dataset.page)];
      if (entry.isIntersecting) page.come(); else page.go();
    }
  }, { root: scroller, rootMargin: NEAR });
  pages.forEach((page) => observer.observe(page.element));
  keepReachable();
  // Who scrolls by hand isn't taken back to a sentence whose boxes come late.
  for (const each of ["wheel", "pointerdown", "keydown"]) element.addEventListener(each, () => { target = null; }, { passive: true });

  function createPage(number, width, height) {
    const boxes = el("div", { class: "page-boxes" });
    const note = el("p", { class: "note", hidden: true }, "This page can't be shown.");
    const holder = el("div", {
      class: "page", data: { page: number, label: `${number + 1}` }, role: "group", aria: { label: `Page ${number + 1}` },
      style: { "aspect-ratio": `${Math.max(1, width)} / ${Math.max(1, height)}` },
    }, boxes, note);
    const page = { element: holder, boxes: new Map(), isThere: false, come, go, relabel, draw };
    let timer = 0;
    let calls = null;
    let picture = null;

    function come() {
      if (!picture) timer ||= setTimeout(load, DWELL_MS);
    }

    /** Give up what isn't there yet, and the picture, which the browser keeps. */
    function go() {
      clearTimeout(timer);
      calls?.abort();
      picture?.remove();
      [timer, picture, calls, page.isThere] = [0, null, null, false];
      delete holder.dataset.waiting;
      page.boxes.clear();
      fill(boxes);
      keepReachable();
    }

    function load() {
      calls = new AbortController();
      const failedToDraw = () => { note.hidden = !picture?.isConnected; };
      picture = el("img", { alt: `Picture of page ${number + 1} of ${name}`, on: { error: failedToDraw } });
      draw();
      note.hidden = true;
      holder.prepend(picture);
      holder.dataset.waiting = "";
      const { signal } = calls;
      get("/api/boxes", { doc_id, page: number }, { signal }).then(place).catch(failed)
        .finally(() => { if (!signal.aborted) delete holder.dataset.waiting; });
    }

    /** Show the picture as sharp as it is large. */
    function draw() {
      if (!picture) return;
      const pixels = holder.clientWidth * (globalThis.devicePixelRatio || 1);
      const width = Math.min(MAX_WIDTH, Math.max(WIDTH_STEP, Math.ceil(pixels / WIDTH_STEP) * WIDTH_STEP));
      picture.src = address("/api/page", { doc_id, page: number, width, version });
    }

    function place({ sentences }) {
      for (const [index, places] of sentences) {
        const own = places.map(([x0, y0, x1, y1], i) => box(index, i, x0, y0, x1, y1));
        if (own.length) page.boxes.set(index, own);
      }
      fill(boxes, [...page.boxes.values()]);
      page.isThere = true;
      relabel();
      selection.show();
      if (target !== null && page.boxes.has(target)) bring(page.boxes.get(target)[0]);
      keepReachable();
    }

    function relabel() {
      for (const [position, own] of page.boxes) {
        for (const each of own) unlabel(each, "box");
        const found = how.get(position);
        if (found) own.forEach((each, i) => label(each, "box", found, { isFirst: i === 0, isLast: i === own.length - 1 }));
      }
    }
    return page;
  }

  function box(position, i, x0, y0, x1, y1) {
    const percent = (value) => `${100 * value}%`;
    const style = { left: percent(x0), top: percent(y0), width: percent(x1 - x0), height: percent(y1 - y0) };
    const first = i === 0 ? { role: "button", aria: { label: model.sentence(position).text } } : { aria: { hidden: "true" } };
    return el("div", { class: "box", data: { p: position }, style, ...first });
  }

  /** Let Tab reach a sentence, or the pages themselves while none has boxes, so that keys can scroll them. */
  function keepReachable() {
    if (roving.set(roving.current)) element.removeAttribute("tabindex");
    else element.tabIndex = 0;
  }

  /** Give up if the file isn't the one any more; a page that is damaged has no boxes, and says so in its picture's place. */
  function failed(error) {
    if (GONE.has(error.status) && !isEnded) onFailure(error.message);
  }

  function boxesOf(position) {
    const number = pageOf[position];
    return pages[number]?.boxes.get(position) ?? pages[number + 1]?.boxes.get(position) ?? [];
  }

  function chosen(position) {
    roving.set(position, { focus: true });
    onSentence(position);
  }

  /** Scroll to a sentence that isn't in view. */
  function reach(position) {
    const at = boxesOf(position)[0];
    const frame = scroller.getBoundingClientRect();
    const rect = at?.getBoundingClientRect();
    if (rect && rect.top >= frame.top && rect.bottom <= frame.bottom) return;
    show(model.span(position)[0]);
  }

  function bring(box) {
    const top = box.getBoundingClientRect().top - scroller.getBoundingClientRect().top;
    scroller.scrollTop += top - scroller.clientHeight * TOP;
    if (scroller.scrollWidth > scroller.clientWidth) box.scrollIntoView({ block: "nearest", inline: "nearest" });
    target = null;
  }

  /** Scroll to about where a sentence is on a page whose boxes aren't there yet. */
  function bringNear(page, position) {
    const own = pageOf.filter((each) => each === pageOf[position]).length;
    const down = page.element.clientHeight * (position - firstOn.get(pageOf[position])) / own;
    const top = page.element.getBoundingClientRect().top - scroller.getBoundingClientRect().top;
    scroller.scrollTop += top + Math.max(-12, down - scroller.clientHeight * TOP);
    target = position;
  }

  function show(start) {
    const position = model.at(start);
    const own = boxesOf(position)[0];
    const page = pages[pageOf[position]];
    if (own) bring(own);
    else if (page) bringNear(page, position);
    roving.set(position);
  }

  return {
    element,
    show,
    mark(given) {
      marks = given;
      how = labels(marks, model);
      for (const page of pages) if (page.isThere) page.relabel();
    },
    clearSelection: selection.clear,
    /** Show the pages in another size; 1 fills the width. */
    zoom(factor) {
      element.style.setProperty("--zoom", factor);
      for (const page of pages) page.draw();
    },
    /** Return the code point of what is read: the last sentence that begins above the place where `show` puts one. */
    top() {
      const frame = scroller.getBoundingClientRect();
      const y = frame.top + Math.max(20, Math.min(scroller.scrollTop, frame.height * TOP)) + 4;
      const found = document.elementFromPoint(frame.left + frame.width / 2, y)?.closest(".page");
      if (!found || !element.contains(found)) return null;
      const number = Number(found.dataset.page);
      let position = firstOn.get(number);
      for (const [each, own] of pages[number].boxes) if (own[0].getBoundingClientRect().top <= y) position = each;
      return position === undefined ? null : model.span(position)[0];
    },
    end() {
      isEnded = true;
      observer.disconnect();
      pages.forEach((page) => page.go());
    },
  };
}

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
function createBoxSelection(root, { model, boxesOf, onSentence, onSelect }) {
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

  /** Return the sentence below the pointer; null for none. */
  function at(event) {
    const box = document.elementFromPoint(event.clientX, event.clientY)?.closest?.(".box");
    return box && root.contains(box) ? Number(box.dataset.p) : null;
  }

  const isDragged = (event) => Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) > DRAGGED_PX;

  root.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.pointerType === "touch") return;
    const position = at(event);
    pressed = position === null ? null : { position, x: event.clientX, y: event.clientY };
    if (!pressed) clear();
    event.preventDefault(); // no drag of the picture
  });
  root.addEventListener("pointermove", (event) => {
    if (!pressed || !(event.buttons & 1) || !isDragged(event)) return;
    const to = at(event) ?? (chosen ? null : pressed.position);
    if (to === null) return;
    chosen = [Math.min(pressed.position, to), Math.max(pressed.position, to)];
    show();
  });
  root.addEventListener("pointerup", (event) => {
    if (!pressed) return;
    const { position } = pressed;
    const wasDragged = isDragged(event);
    pressed = null;
    if (wasDragged) return select(...(chosen ?? [position, position]));
    clear();
    onSentence(position);
  });
  root.addEventListener("click", (event) => {
    const box = event.target.closest?.(".box");
    if (event.pointerType === "touch" && at(event) !== null) onSentence(at(event));
    else if (event.detail === 0 && box) onSentence(Number(box.dataset.p)); // by a screen reader
  });

  return { select, clear, show };
}
