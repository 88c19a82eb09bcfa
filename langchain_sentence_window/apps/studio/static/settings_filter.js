// The control of `filter`: JSON, with the keys and values that the documents have to choose from.

import { get } from "./api.js";
import { el } from "./dom.js";
import { complain } from "./messages.js";
import { choiceInput, marking, parsed, setChoices } from "./settings_inputs.js";

const FIRST = ["", "Add a key…"];
const SHOWN_CHARS = 40;

/** Make the control; see settings_fields.js. */
export function filterControl(field, { id, describedBy, onSet }) {
  const text = el("textarea", { id, rows: 2, spellcheck: false, placeholder: "none", aria: { label: "Filter as JSON", describedby: describedBy } });
  const keys = choiceInput({ id: `${id}-keys`, describedBy, label: "Add a key of the documents to the filter", choices: [FIRST] });
  let pairs = null;
  for (const event of ["focus", "pointerdown"]) keys.addEventListener(event, load);
  keys.addEventListener("change", (event) => {
    event.stopPropagation();
    add(pairs?.[Number(keys.value)]);
    keys.value = "";
  });

  async function load() {
    if (pairs) return;
    pairs = [];
    try {
      const { keys: found } = await get("/api/filter-keys");
      pairs = found.flatMap((key) => key.values.map((value) => [key.name, value]));
      setChoices(keys, [FIRST, ...pairs.map(([name, value], i) => [String(i), `${name} = ${short(JSON.stringify(value))}`])]);
    } catch (error) {
      pairs = null;
      complain(error);
    }
  }

  function add(pair) {
    if (!pair) return;
    let found = {};
    try { found = read() ?? {}; } catch { /* what was there can't be read, so it goes */ }
    // Not `found[name] = value`: a key may be called `__proto__`.
    text.value = JSON.stringify(Object.fromEntries([...Object.entries(found), pair]), null, 1);
    onSet();
  }

  function read() {
    if (!text.value.trim()) return null;
    const found = parsed(text.value);
    return Object.keys(found).length ? found : null;
  }

  return {
    elements: [text, keys], isGroup: true, read, mark: marking(text),
    write(value) { text.value = value === null ? "" : JSON.stringify(value); },
  };
}

function short(text) {
  const points = Array.from(text);
  return points.length <= SHOWN_CHARS ? text : `${points.slice(0, SHOWN_CHARS / 2).join("")}…${points.slice(-SHOWN_CHARS / 2).join("")}`;
}
