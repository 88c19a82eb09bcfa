// An answer as text with chips for its citations, and its quotes with their verdicts.

import { nameOf, sourceLink } from "./cards.js";
import { el } from "./dom.js";

const UNVERIFIED = "[unverified]";
const MARK = /\[(\d{1,3})\]/g;
const VERDICTS = {
  verbatim: { icon: "✓", name: "verbatim", help: "It stands there word for word." },
  normalized: { icon: "≈", name: "normalized", help: "It stands there but for spaces, case or punctuation." },
  stitched: { icon: "+", name: "stitched", help: "It is put together of words that don't stand together." },
  misattributed: { icon: "⇄", name: "misattributed", help: "It stands in another source than the one that is cited." },
  paraphrase: { icon: "~", name: "paraphrase", help: "It is in the answer's own words, which nothing verifies." },
  not_found: { icon: "✕", name: "not found", help: "It doesn't stand in the sources in these words." },
};
const WORST_FIRST = ["not_found", "misattributed", "stitched", "paraphrase", "normalized", "verbatim"];

/**
 * Return an answer as nodes.
 *
 * @param {{answer: string, citations: Object[]|null, windows: Object[]}} state Its citations as the server read them;
 *   null while it is written. Then numbers in brackets lead to their windows.
 * @param {(place: {docId: string, start: number, end: number}) => void} onPlace
 */
export function answerNodes({ answer, citations, windows }, onPlace) {
  const nodes = [];
  let at = 0;
  const points = Array.from(answer);
  for (const { start, end, chips } of citations ? marksOf(citations, windows) : marksIn(answer, windows)) {
    if (start < at) continue;
    nodes.push(...plain(points.slice(at, start).join("")), ...chips.map((chip) => chipButton(chip, onPlace)));
    at = end;
  }
  return [...nodes, ...plain(points.slice(at).join(""))];
}

/** Return the quotes of an answer as a list, with their verdicts and places. */
export function quoteList({ quotes, windows, citations }, onPlace) {
  if (!quotes.length) return [];
  return [el("h2", {}, "Quotes"), el("ol", { class: "plain quotes" }, quotes.map((quote) => {
    const verdict = VERDICTS[quote.verdict] ?? VERDICTS.not_found;
    return el("li", { class: `quote ${quote.verdict}` },
      el("p", { class: "verdict small" }, el("span", { aria: { hidden: "true" } }, verdict.icon), ` ${verdict.name}`,
        el("span", { class: "muted" }, ` · ${quote.kind === "claim" ? "a claim, compared word for word. " : ""}${verdict.help}`)),
      el("blockquote", { dir: "auto" }, quote.text),
      quote.places.map((place) => [el("button", {
        type: "button", class: "quiet small quote-place", title: place.location, on: { click: () => onPlace(placeOf(place)) },
      }, `[${place.number}] ${whereabouts(windows[place.number - 1], place)}`), linkTo(place, citations)]),
      quote.closest ? [closestSentence(quote, onPlace), linkTo(quote.closest, citations)] : null,
      quote.places.length || quote.closest || !quote.cited.length ? null : el("p", { class: "muted small" }, `It cites ${quote.cited.map((each) => `[${each}]`).join("")}.`));
  }))];
}

/** Return a link that opens the source at a place; null while the answer is written, or if it isn't on the web. */
function linkTo({ number, start, end }, citations) {
  const found = citations?.find((each) => each.number === number && each.start === start && each.end === end);
  return found ? sourceLink(found, `[${number}]`) : null;
}

/** Return the sentence that a claim in the answer's own words is like, as a way to it. */
function closestSentence({ closest, similarity }, onPlace) {
  return el("button", {
    type: "button", class: "quiet small quote-place", title: closest.location, on: { click: () => onPlace(placeOf(closest)) },
  }, `[${closest.number}] ${Math.round(similarity * 100)} % of the words: ${closest.text}`);
}

/** Say how many quotes stand in the sources; claims in the answer's own words are none. */
export function verdictSummary(all) {
  const quotes = all.filter((each) => each.verdict !== "paraphrase");
  if (!quotes.length) return "It quotes nothing.";
  const found = quotes.filter((each) => each.verdict === "verbatim" || each.verdict === "normalized").length;
  return `${found} of ${quotes.length} ${quotes.length === 1 ? "quote stands" : "quotes stand"} in the sources that are cited.`;
}

/** Return the marks of an answer that the server has read, each with a chip for each of its sources. */
function marksOf(citations, windows) {
  const marks = new Map();
  for (const each of citations) {
    const [start, end] = each.mark;
    const mark = marks.get(start) ?? { start, end, chips: new Map() };
    marks.set(start, mark);
    const chip = mark.chips.get(each.number) ?? { number: each.number, verdicts: [], place: placeOf(each), card: windows[each.number - 1] };
    if (each.verdict) chip.verdicts.push(each.verdict);
    mark.chips.set(each.number, chip);
  }
  return [...marks.values()].sort((one, other) => one.start - other.start).map((each) => ({ ...each, chips: [...each.chips.values()] }));
}

/** Return the numbers in brackets of an answer that isn't complete. */
function marksIn(answer, windows) {
  const marks = [];
  let units = 0;
  let at = 0;
  for (const found of answer.matchAll(MARK)) {
    const card = windows[Number(found[1]) - 1];
    if (!card) continue;
    at += Array.from(answer.slice(units, found.index)).length;
    units = found.index + found[0].length;
    marks.push({ start: at, end: at + found[0].length, chips: [
      { number: card.rank, verdicts: [], card, place: { docId: card.doc_id, start: card.start_index, end: card.end_index } }] });
    at += found[0].length;
  }
  return marks;
}

function chipButton({ number, verdicts, card, place }, onPlace) {
  const worst = VERDICTS[WORST_FIRST.find((each) => verdicts.includes(each))];
  const name = card ? nameOf(card) : "";
  return el("button", {
    type: "button", class: `chip${worst ? ` ${WORST_FIRST.find((each) => verdicts.includes(each))}` : ""}`,
    title: `${name}${worst ? `: the quote is ${worst.name}` : ""}`,
    aria: { label: `Source ${number}, ${name}${worst ? `, quote ${worst.name}` : ""}` },
    on: { click: () => onPlace(place) },
  }, number, worst ? ` ${worst.icon}` : null);
}

function whereabouts(card, place) {
  if (!card) return place.location;
  return card.heading ? `${nameOf(card)} › ${card.heading.split(" > ").at(-1)}` : nameOf(card);
}

function placeOf({ doc_id: docId, start, end }) {
  return { docId, start, end };
}

/** Return text, with what says that nothing was verified set apart. */
function plain(text) {
  return text.split(UNVERIFIED).flatMap((part, i) => [
    ...(i ? [el("span", { class: "unverified small" }, "✕ unverified")] : []), ...(part ? [document.createTextNode(part)] : [])]);
}
