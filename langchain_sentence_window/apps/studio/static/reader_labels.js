// How a sentence is marked, the same on text and on pages.

/**
 * Say for each marked sentence how.
 *
 * @param {Object} marks See reader_marks.js.
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
    const position = model.positionOf(Number(index));
    if (position < 0) continue;
    of(position).fate = typeof fate === "string" ? fate : fate?.text ?? null;
    if (typeof fate === "object" && fate?.kind) of(position).classes.add(`fate-${fate.kind}`);
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
