// Lists of values as people write them: `auto, 1, (0, 2)`.

/**
 * Read values that are separated by commas.
 *
 * @param {string} text Numbers, pairs of numbers in brackets, and words.
 * @returns {Array} Numbers, pairs of numbers, `true`, `false`, `null` for none, and other words as text.
 * @throws {Error} Something can't be read. The message says what.
 */
export function readValues(text) {
  const parts = text.split(/,(?![^([]*[)\]])/).map((part) => part.trim()).filter(Boolean);
  return parts.map(readValue);
}

function readValue(part) {
  if (/^-?\d+(\.\d+)?$/.test(part)) return Number(part);
  const pair = /^[([]\s*(\d+)\s*,\s*(\d+)\s*[)\]]$/.exec(part);
  if (pair) return [Number(pair[1]), Number(pair[2])];
  const words = { true: true, false: false, none: null, null: null };
  if (Object.hasOwn(words, part.toLowerCase())) return words[part.toLowerCase()];
  if (/^[A-Za-z_]+$/.test(part)) return part;
  throw new Error(`“${part}” can't be read; write numbers, pairs such as (0, 2), or words, with commas between them`);
}

/**
 * Read budgets: whole numbers from 1.
 *
 * @throws {Error} Something else was written.
 */
export function readBudgets(text) {
  const found = readValues(text);
  if (!found.length || found.some((each) => !Number.isInteger(each) || each < 1)) throw new Error("Write budgets as whole numbers of characters, such as 400, 800, 1600");
  return found;
}
