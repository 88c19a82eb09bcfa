// A document as the server sent it: its sentences, its blocks, any stretch of its text; and what is marked in it.
//
// A sentence is known by its position, its index in the document. Offsets of the server count code points, JavaScript's count UTF-16 units. They differ where a text
// has characters beyond the first 65,536.

/** The style of characters that say how others look; they are in the page, and aren't shown. */
export const MARK = "m";

/**
 * Make a model of a document.
 *
 * @param {Object} data What `/api/document` returns.
 */
export function createModel(data) {
  const starts = data.sentences.map(([start]) => start);
  const blockStarts = data.blocks.map((block) => block.start);
  const paths = headingPaths(data.blocks);
  const texts = data.blocks.map((block) => runsOf(block).map(([parts]) => parts.join("")).join(""));

  /** Return the text between two code points, as far as it is there. */
  function slice(start, end) {
    const parts = [];
    for (let at = Math.max(0, lastAtMost(blockStarts, start)); at < texts.length && blockStarts[at] < end; at += 1) {
      const from = blockStarts[at];
      parts.push(Array.from(texts[at]).slice(Math.max(0, start - from), end - from).join(""));
    }
    return parts.join("");
  }

  return {
    data,
    count: starts.length,
    start: data.start,
    end: data.length,
    blockStarts,
    slice,
    /** Return the code points of a sentence, `[start, end]`. */
    span: (position) => data.sentences[position],
    /** Return the sentence at a code point, or the one before it; the first one if there is none. */
    at: (start) => Math.max(0, lastAtMost(starts, start)),
    isHeading: (position) => data.blocks[lastAtMost(blockStarts, data.sentences[position][0])]?.kind === "heading",
    pageOf: (position) => data.sentence_pages?.[position] ?? null,
    /** Return the headings above a code point: `[{title, start}]`, the outermost first. */
    path: (start) => paths[lastAtMost(blockStarts, start)] ?? [],
    /** Describe a sentence. */
    sentence(position) {
      const [start, end] = data.sentences[position];
      return { docId: data.doc_id, index: position, start, end, text: slice(start, end) };
    },
  };
}

/** Return the runs of a block, those of its cells too: each `[texts, sentences, styles]`. */
function runsOf(block) {
  return block.rows ? block.rows.flatMap((row) => row.cells) : [block.runs];
}

function headingPaths(blocks) {
  const paths = [];
  let open = [];
  for (const block of blocks) {
    if (block.kind === "heading") {
      const level = block.level || 1;
      const title = block.runs[0].filter((_, i) => !block.runs[2][i]?.includes(MARK)).join("").trim();
      open = [...open.filter((each) => each.level < level), { level, title, start: block.start }];
    }
    paths.push(open);
  }
  return paths;
}

/**
 * Find what is to be marked.
 *
 * @param {Object} model
 * @param {Object} wanted `windows`, `gold`, `fates` and `current` as `createReader().highlight` takes them.
 * @returns {Object} `windows` and `hits`, in order of position; `gold`; `fates`; `hit`, the current one: none yet.
 */
export function findMarks(model, { windows, gold, fates, current }) {
  const own = (windows ?? []).filter((card) => card.doc_id === model.data.doc_id)
    .map((card) => ({ card, rank: card.rank ?? null, start: card.start_index, end: card.end_index }))
    .sort((one, other) => one.start - other.start)
    .map((each) => ({ ...each, ...covered(model, each.start, each.end), isCurrent: isCard(current, each.card) }));
  const hits = own.flatMap((window) => (window.card.hits ?? []).map((hit) => ({
    start: hit.start_index, end: hit.end_index, index: hit.sentence_index, window: window.card, rank: window.rank,
    ...covered(model, hit.start_index, hit.end_index),
  }))).sort((one, other) => one.start - other.start);
  const places = (gold ?? []).map(([start, end]) => ({ start, end, ...covered(model, start, end) }));
  return { windows: own, hits, gold: places, fates: fates ?? new Map(), hit: null };
}

/** Return whether a window isn't of this text, as the document was changed after it was asked for. */
export function isStale(model, windows) {
  return (windows ?? []).some((card) => card.doc_id === model.data.doc_id && typeof card.text === "string" &&
    model.slice(card.start_index, card.end_index) !== card.text.replace(/\p{Surrogate}/gu, "\ufffd"));
}

/** Return the hit at a code point, or null. */
export function hitAt(hits, start) {
  return hits.find((hit) => hit.start <= start && start < hit.end) ?? null;
}

/** Return the first and the last sentence that a stretch touches, by position. */
function covered(model, start, end) {
  let first = model.at(start);
  if (model.span(first)[1] <= start && first + 1 < model.count) first += 1;
  return { first, last: Math.max(first, model.at(Math.max(start, end - 1))) };
}

function isCard(current, card) {
  return current === card || (current?.window_id !== undefined && current.window_id === card.window_id);
}

/**
 * Say for each marked sentence how.
 *
 * @param {Object} marks See `findMarks`.
 * @returns {Map<number, {classes: Set<string>, rank: ?number, fate: ?string, said: string[]}>} By position.
 */
export function labels(marks, model) {
  const found = new Map();
  const of = (position) => {
    if (!found.has(position)) found.set(position, { classes: new Set(), rank: null, fate: null, said: [] });
    return found.get(position);
  };
  for (const { first, last, rank, isCurrent } of marks.windows) {
    for (let at = first; at <= last; at += 1) {
      of(at).classes.add("in-window");
      if (isCurrent) of(at).classes.add("in-current");
    }
    of(first).classes.add("window-first").add("badged");
    of(first).rank = rank;
    of(first).said.push(rank === null ? "a window begins" : `window ${rank} begins`);
    of(last).classes.add("window-last");
  }
  for (const hit of marks.hits) {
    for (let at = hit.first; at <= hit.last; at += 1) {
      of(at).classes.add("hit");
      of(at).said.push(hit.rank === null ? "hit" : `hit of window ${hit.rank}`);
      if (hit === marks.hit) of(at).classes.add("current");
    }
  }
  for (const { first, last } of marks.gold) {
    for (let at = first; at <= last; at += 1) {
      of(at).classes.add("gold");
      of(at).said.push("marked as an answer");
    }
  }
  for (const [index, fate] of marks.fates) {
    const position = Number(index);
    if (position >= model.count) continue;
    of(position).fate = fate.text;
    of(position).classes.add(`fate-${fate.kind}`);
    of(position).said.push(of(position).fate);
  }
  return found;
}

/** Show on an element how its sentence is marked; `isFirst` if it is the first of the sentence's elements. */
export function label(element, base, { classes, rank, fate, said }, { isFirst = true, isLast = true } = {}) {
  const own = [...classes].filter((name) => (isFirst || !["window-first", "badged"].includes(name)) && (isLast || name !== "window-last"));
  element.className = [base, ...own].join(" ");
  if (isFirst && rank !== null) element.dataset.rank = rank;
  if (fate) { element.dataset.fate = fate; element.title = fate; }
  if (isFirst && said.length) element.setAttribute("aria-description", [...new Set(said)].join(", "));
}

/** Take back what `label` has shown. */
export function unlabel(element, base) {
  element.className = base;
  delete element.dataset.rank;
  delete element.dataset.fate;
  element.removeAttribute("title");
  element.removeAttribute("aria-description");
}

/** Return the last index whose value isn't greater than a number, in a sorted list; -1 if there is none. */
export function lastAtMost(sorted, value) {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
