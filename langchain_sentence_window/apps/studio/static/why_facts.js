// What a trace says, collected step by step: the same facts are drawn, listed and read out.

const KINDS = [["both", "by meaning and words"], ["dense", "by meaning"], ["lexical", "by words"], ["other", "in a named document"]];

/** Return how a candidate was found: `both`, `dense`, `lexical` or `other`. */
export function foundBy(candidate) {
  const [dense, lexical] = [candidate.dense_rank !== null, candidate.lexical_rank !== null];
  return dense && lexical ? "both" : dense ? "dense" : lexical ? "lexical" : "other";
}

/** Return how a candidate was found, in words. */
export function foundByText(candidate) {
  return KINDS.find(([kind]) => kind === foundBy(candidate))[1];
}

/** Return the number of ranks by which reordering raised a candidate; below 0 if it fell. */
export function moved(candidate) {
  return candidate.searched_rank - candidate.rank;
}

/**
 * Return the signals that decided about the hits, strongest first.
 *
 * @param {Object} trace
 * @returns {Array<{name: string, meaning: string, share: number}>} The share of each in all that signals added or took.
 */
export function strongestSignals(trace) {
  const sums = new Map();
  for (const hit of trace.hits) for (const [name, value] of Object.entries(hit.signals)) sums.set(name, (sums.get(name) ?? 0) + Math.abs(value));
  const all = [...sums.values()].reduce((one, other) => one + other, 0) || 1;
  return [...sums].sort((one, other) => other[1] - one[1])
    .map(([name, sum]) => ({ name, meaning: trace.meanings?.[name] ?? "", share: sum / all }));
}

/** Return items in groups by what `key` returns, largest group first. */
export function grouped(items, key) {
  const groups = new Map();
  for (const each of items) groups.set(key(each), [...(groups.get(key(each)) ?? []), each]);
  return [...groups].sort((one, other) => other[1].length - one[1].length);
}

/** Why an item was left out, in a few words, by the codes of a trace. `trace.reasons` says it in more words. */
export const SHORT_REASONS = {
  near: "near a better window",
  label: "only a heading",
  equal: "equal text",
  budget: "over max_tokens",
  k: "beyond k",
  relevance: "not supported",
  fetch_k: "beyond fetch_k",
  score: "below min_score",
  reranker: "by the reranker",
};

/** Return the windows that were returned, without those that became part of a better one. */
export function returnedWindows(trace) {
  const first = new Map();
  for (const window of trace.windows) {
    if (window.returned !== null && !first.has(window.returned)) first.set(window.returned, window);
  }
  return [...first.values()].sort((one, other) => one.returned - other.returned);
}

/**
 * Return what became of each sentence of a document.
 *
 * @param {Object} trace
 * @param {string} docId
 * @returns {Map<number, {kind: string, text: string}>} By the index of the sentence: `returned`, `left-out` for a hit that
 *   wasn't returned, or `candidate`. One that isn't there was no candidate.
 */
export function fatesOf(trace, docId) {
  const fates = new Map();
  for (const each of trace.candidates) {
    if (each.doc_id === docId) fates.set(each.index, { kind: "candidate", text: `candidate ${each.rank}` });
  }
  const windows = new Map(trace.windows.map((each) => [each.number, each]));
  const hits = trace.hits.filter((each) => each.doc_id === docId);
  for (const hit of hits) {
    const reason = SHORT_REASONS[(windows.get(hit.window) ?? hit).left_out] ?? "left out";
    fates.set(hit.index, { kind: "left-out", text: `hit ${hit.rank}, ${reason}` });
  }
  const ranks = new Map(hits.map((each) => [each.index, each.rank]));
  for (const window of trace.windows) {
    if (window.doc_id !== docId || window.returned === null) continue;
    const [first, last] = window.kept ?? window.sentences;
    for (let index = first; index <= last; index += 1) {
      const how = ranks.has(index) ? `hit ${ranks.get(index)}` : "beside a hit";
      fates.set(index, { kind: "returned", text: `${how}, window ${window.returned}` });
    }
  }
  return fates;
}

/** Return a number with what it counts. */
export function count(number, what) {
  return `${number.toLocaleString()} ${what}${number === 1 ? "" : "s"}`;
}

/** Return seconds as milliseconds. */
export function ms(seconds) {
  if (seconds === undefined) return null;
  const value = 1000 * seconds;
  return value < 0.95 ? "< 1 ms" : `${Math.round(value).toLocaleString()} ms`;
}

/** Return the beginning of a text on one line. */
export function brief(text, chars = 110) {
  const points = Array.from(text.replace(/\s+/g, " ").trim());
  return points.length <= chars ? points.join("") : `${points.slice(0, chars - 1).join("")}…`;
}

/** Return the last part of a document's name. */
export function shortName(trace, docId) {
  const name = trace.names?.[docId] ?? docId;
  return name.split(/[\\/]/).filter(Boolean).pop() ?? name;
}
