// The address of a question: what the address bar holds of the view, so that a reload or a shared link shows the same.

const TABS = ["windows", "answer", "why"];

/**
 * Read what an address says.
 *
 * @param {Object<string, string>} parameters
 * @returns {{q: string, settings: Object, doc: string|null, start: number|null, sentence: number|null, tab: string}}
 */
export function readAddress({ q = "", settings = "", doc = null, start = null, sentence = null, tab = "" }) {
  return {
    q, settings: readSettings(settings), doc: doc || null, start: wholeNumber(start), sentence: wholeNumber(sentence),
    tab: TABS.includes(tab) ? tab : sentence !== null && wholeNumber(sentence) !== null ? "why" : TABS[0],
  };
}

/** Return the parameters of an address; what is as always is left out. */
export function addressOf({ q, settings, doc, start, sentence, tab }) {
  const found = {};
  if (q) found.q = q;
  if (Object.keys(settings).length) found.settings = JSON.stringify(settings);
  if (doc !== null) found.doc = doc;
  if (start !== null && doc !== null) found.start = start;
  if (sentence !== null && doc !== null) found.sentence = sentence;
  if (tab !== TABS[0]) found.tab = tab;
  return found;
}

/** Return whether two states have the same address. */
export function isSame(one, other) {
  return String(new URLSearchParams(addressOf(one))) === String(new URLSearchParams(addressOf(other)));
}

function readSettings(text) {
  try {
    const found = JSON.parse(text || "{}");
    return found !== null && typeof found === "object" && !Array.isArray(found) ? found : {};
  } catch {
    return {};
  }
}

function wholeNumber(text) {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null;
}
