// What is marked in a document: windows, hits, gold, fates.

/**
 * Find what is to be marked.
 *
 * @param {Object} model See reader_model.js.
 * @param {Object} wanted `windows`, `gold`, `fates` and `current` as `createReader().highlight` takes them.
 * @returns {Object} `windows` and `hits`, in order of position; `gold`; `fates`; `hit`, the current one, or null.
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
  return { windows: own, hits, gold: places, fates: fates ?? new Map(), hit: currentHit(hits, current) };
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
export function covered(model, start, end) {
  let first = model.at(start);
  if (model.span(first)[1] <= start && first + 1 < model.count) first += 1;
  return { first, last: Math.max(first, model.at(Math.max(start, end - 1))) };
}

function isCard(current, card) {
  return Boolean(current) && typeof current === "object" &&
    (current === card || (current.window_id !== undefined && current.window_id === card.window_id));
}

function currentHit(hits, current) {
  if (current === null || current === undefined) return null;
  if (typeof current === "number") return hitAt(hits, current);
  const inside = hits.filter((hit) => isCard(current, hit.window));
  return inside.length ? null : hitAt(hits, current.start ?? current.start_index ?? -1);
}
