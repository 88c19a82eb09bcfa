// Numbers, names and texts as the page writes them.

/** Return a number with what it counts. */
export function count(number, what) {
  return `${number.toLocaleString()} ${what}${number === 1 ? "" : "s"}`;
}

/** Return a score with three decimals; a dash for none. */
export function decimal(number) {
  return typeof number === "number" ? number.toFixed(3) : "–";
}

/** Return a share in percent, without the sign. */
export function percent(share) {
  return (100 * share).toFixed(1);
}

/** Return a share and the ends of its interval in percent. */
export function interval({ mean, low, high }) {
  return `${percent(mean)} % [${percent(low)}, ${percent(high)}]`;
}

/** Return a difference of shares in points, with the ends of its interval. */
export function points({ mean, low, high }) {
  const signed = (share) => `${share >= 0 ? "+" : "−"}${Math.abs(100 * share).toFixed(1)}`;
  return `${signed(mean)} [${signed(low)}, ${signed(high)}]`;
}

/** Return seconds as milliseconds; null for none. */
export function ms(seconds) {
  if (seconds === undefined) return null;
  return seconds < 0.00095 ? "< 1 ms" : `${Math.round(1000 * seconds).toLocaleString()} ms`;
}

/** Return the last part of a path or an address; any other name as it is. */
export function baseName(name) {
  return name.split(/[\\/]/).filter(Boolean).pop() ?? name;
}

/** Return what a document is called in few words: its title, or the last part of its path. */
function nameOf({ name, title }) {
  return title && title !== name ? title : baseName(name);
}

/** Return the last part of a path or an address with the folder that it is in. */
export function inFolder(path) {
  return path.split(/[\\/]/).filter(Boolean).slice(-2).join("/") || path;
}

/** Return what documents are called by their ids, with their folders where several are called alike. */
export function namesOf(documents) {
  const paths = new Map(documents.map((each) => [each.doc_id, [nameOf(each), each.source ?? each.doc_id]]));
  const alike = (name) => [...paths.values()].filter(([other]) => other === name).length > 1;
  return new Map([...paths].map(([id, [name, path]]) => {
    return [id, alike(name) ? `${name} – ${inFolder(path)}` : name];
  }));
}

/** Return the beginning of a text on one line. */
export function brief(text, chars = 110) {
  const all = Array.from(text.replace(/\s+/g, " ").trim());
  return all.length <= chars ? all.join("") : `${all.slice(0, chars - 1).join("")}…`;
}

/** Return a path of headings as a line. */
export function headingPath(heading) {
  return heading.replaceAll(" > ", " › ");
}

/** Return an object from JSON; an empty one for anything else. */
export function objectFrom(text) {
  try {
    const found = JSON.parse(text || "{}");
    return found !== null && typeof found === "object" && !Array.isArray(found) ? found : {};
  } catch {
    return {};
  }
}

/** Return whether two values are the same as JSON. */
export function isEqual(one, other) {
  return JSON.stringify(one ?? null) === JSON.stringify(other ?? null);
}
