// Offsets of the server count code points, JavaScript's count UTF-16 units. They differ where a text has characters
// beyond the first 65,536.

const ASTRAL = /[\ud800-\udbff][\udc00-\udfff]/;

/** Return the number of code points of a text. */
export function codePoints(text) {
  if (!ASTRAL.test(text)) return text.length;
  let count = 0;
  for (const _ of text) count += 1; // eslint-disable-line no-unused-vars
  return count;
}

/** Return the number of UTF-16 units of the first code points of a text. */
export function unitsOf(text, points) {
  if (!ASTRAL.test(text)) return Math.min(points, text.length);
  let units = 0;
  for (const each of text) {
    if (points <= 0) break;
    units += each.length;
    points -= 1;
  }
  return units;
}

/** Return the number of code points that begin in the first UTF-16 units of a text. */
export function pointsOf(text, units) {
  return codePoints(text.slice(0, units));
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
