// What differs between the windows of two settings.

/**
 * Compare the windows of one side with those of the other.
 *
 * @param {Object[]} cards The windows of this side, as `/api/try` returns them.
 * @param {Object[]} others Those of the other side.
 * @returns {Array<{card: Object, other: Object|null, moved: number, longer: number, own: Set<number>}>} For each window:
 *   the one of the other side that shares the most sentences with it; by how many ranks this one stands higher; how
 *   many more sentences it has; and the indexes of its sentences that no window of the other side has.
 */
export function compare(cards, others) {
  const held = new Map();
  for (const other of others) {
    const known = held.get(other.doc_id) ?? new Set();
    for (const index of indexes(other)) known.add(index);
    held.set(other.doc_id, known);
  }
  return cards.map((card) => {
    const other = mostShared(card, others);
    return {
      card, other,
      moved: other ? other.rank - card.rank : 0,
      longer: other ? length(card) - length(other) : 0,
      own: new Set(indexes(card).filter((index) => !held.get(card.doc_id)?.has(index))),
    };
  });
}

/** Return in words how a window differs from its counterpart; `side` and `another` name the two sides. */
export function differences({ other, moved, longer }, side, another) {
  if (!other) return [{ kind: "only", text: `only in ${side}` }];
  const found = [];
  if (moved) {
    const [kind, arrow, how] = moved > 0 ? ["up", "▲", "higher"] : ["down", "▼", "lower"];
    const ranks = Math.abs(moved);
    found.push({ kind, text: `${arrow} ${ranks}`, long: `${how} by ${ranks}: ${another} has it as ${other.rank}` });
  }
  if (longer) {
    const [kind, sign] = longer > 0 ? ["longer", "+"] : ["shorter", "−"];
    const sentences = `${Math.abs(longer)} sentence${Math.abs(longer) === 1 ? "" : "s"}`;
    found.push({ kind, text: `${sign}${sentences}`, long: `${kind} than in ${another} by ${sentences}` });
  }
  return found;
}

/** Return a line that says how two results differ. */
export function summary(ofA, ofB) {
  const only = (found) => found.filter((each) => !each.other).length;
  const both = ofA.filter((each) => each.other);
  const moved = both.filter((each) => each.moved).length;
  const resized = both.filter((each) => each.longer).length;
  if (!only(ofA) && !only(ofB) && !moved && !resized) return "Both return the same windows.";
  const same = `${both.length} in both: ${moved} at another rank, ${resized} longer or shorter`;
  return `${only(ofA)} only in A, ${only(ofB)} only in B, ${same}.`;
}

function mostShared(card, others) {
  let best = null, most = 0;
  for (const other of others) {
    if (other.doc_id !== card.doc_id) continue;
    const shared = Math.min(card.sentences[1], other.sentences[1]) - Math.max(card.sentences[0], other.sentences[0]) + 1;
    if (shared > most) [best, most] = [other, shared];
  }
  return best;
}

function indexes({ sentences: [first, last] }) {
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
}

function length({ sentences: [first, last] }) {
  return last - first + 1;
}
