// The text of a document by its sentences, for offsets in code points, which the server counts in.

/**
 * Make the text of a document.
 *
 * @param {Array<[number, string, string, number]>} sentences Of each its first code point, its text, what follows it
 *   before the next one, and its index in the document.
 */
export function documentText(sentences) {
  const all = sentences.map(([start, text, separator, index]) => ({ start, text, separator, index, end: start + lengthOf(text) }));

  /** The number of the last sentence that begins at or before a code point. */
  function at(offset) {
    let [low, high] = [0, all.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (all[middle].start <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  function slice(start, end) {
    const parts = [];
    for (let i = at(start); i < all.length && all[i].start < end; i += 1) {
      const points = Array.from(all[i].text + all[i].separator);
      parts.push(points.slice(Math.max(0, start - all[i].start), Math.max(0, end - all[i].start)).join(""));
    }
    return parts.join("");
  }

  /** Leave out the space at the ends of a span; null if there is nothing else. */
  function trim([start, end]) {
    const text = slice(start, end);
    const first = start + lengthOf(text) - lengthOf(text.trimStart());
    const last = end - (lengthOf(text) - lengthOf(text.trimEnd()));
    return first < last ? [first, last] : null;
  }

  return {
    sentences: all,
    at,
    slice,
    trim,
    /** Widen a span to whole sentences; null if it holds only space. */
    snap(span) {
      const found = trim(span);
      return found && [Math.min(found[0], all[at(found[0])].start), Math.max(found[1], all[at(found[1] - 1)].end)];
    },
    /** Add a span to others; those that overlap, or have only space between them, become one. */
    joined(spans, span) {
      const merged = [];
      for (const [start, end] of [...spans, span].sort((a, b) => a[0] - b[0] || a[1] - b[1])) {
        const last = merged.at(-1);
        if (last && (start <= last[1] || !slice(last[1], start).trim())) last[1] = Math.max(last[1], end);
        else merged.push([start, end]);
      }
      return merged;
    },
    /** Take a span out of others. */
    without(spans, [first, last]) {
      return spans.flatMap(([start, end]) => (end <= first || start >= last ? [[start, end]]
        : [[start, first], [last, end]].filter(([a, b]) => a < b).map(trim).filter(Boolean)));
    },
    /** Say which sentences a span touches, in words. */
    named([start, end]) {
      const [first, last] = [at(start) + 1, at(end - 1) + 1];
      return first === last ? `sentence ${first}` : `sentences ${first} to ${last}`;
    },
  };
}

function lengthOf(text) {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}
