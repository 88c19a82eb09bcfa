// Both settings on all questions of the evaluation set: whose windows hold the answer, at what cost.

import { post } from "./api.js";
import { el, fill } from "./dom.js";
import { complain } from "./messages.js";

const NAMES = ["A", "B"];

/**
 * Make the box; it is hidden as long as there are no questions.
 *
 * @param {Object} options
 * @param {() => Object[]} options.settings Returns the settings of both sides.
 * @param {(question: string) => void} options.onChoose Called when the user chooses a question.
 */
export function createAll({ settings, onChoose }) {
  const start = el("button", { type: "button", on: { click: () => (aborting ? aborting.abort() : run()) } }, "Try all");
  const status = el("p", { class: "grow", role: "status" });
  const bar = el("progress", { hidden: true, aria: { label: "Questions tried" } });
  const results = el("div", { class: "table-scroll", role: "region", tabIndex: 0, hidden: true, aria: { label: "Questions of the set" } });
  const title = el("summary", {});
  const element = el("details", { class: "card tune-all", hidden: true }, title, el("div", { class: "row" }, start, status), bar, results);
  let questions = [], aborting = null;

  function setQuestions(given) {
    questions = given;
    element.hidden = !given.length;
    fill(title, `All ${given.length} questions of the set`);
  }

  async function run() {
    const mine = aborting = new AbortController();
    const [chosen, tried] = [settings(), []];
    fill(start, "Stop");
    Object.assign(bar, { hidden: false, max: questions.length, value: 0 });
    try {
      for (const question of questions) {
        const sides = [];
        for (const each of chosen) {
          const found = await post("/api/try", { query: question.question, settings: each }, { signal: mine.signal });
          sides.push({ ...found, holds: holds(found.windows, question) });
        }
        tried.push({ question, sides });
        bar.value = tried.length;
      }
    } catch (error) { complain(error); }
    aborting = null;
    fill(start, "Try all");
    bar.hidden = true;
    show(tried, tried.length < questions.length);
  }

  function show(tried, isPart) {
    results.hidden = !tried.length;
    if (!tried.length) return void fill(status);
    const told = NAMES.map((name, i) => {
      const of = tried.map((each) => each.sides[i]);
      const [tokens, seconds] = [mean(of, "tokens"), mean(of, "seconds")];
      const cost = `${tokens.toFixed(0)} tokens in ${(1000 * seconds).toFixed(0)} ms on average`;
      return `${name} holds the answer of ${of.filter((each) => each.holds).length}, with ${cost}`;
    });
    fill(status, `Of ${isPart ? "the first " : ""}${tried.length} questions ${told.join("; ")}.`);
    const differs = ({ sides: [a, b] }) => a.holds !== b.holds;
    const order = [...tried].sort((one, other) => differs(other) - differs(one));
    fill(results, el("table", {}, el("thead", {}, el("tr", {}, ["Question", "A", "B"].map((each) => el("th", { scope: "col" }, each)))),
      el("tbody", {}, order.map((each) => el("tr", { class: differs(each) ? "differs" : "" },
        el("td", {}, el("button", { type: "button", class: "quiet", on: { click: () => onChoose(each.question.question) } }, each.question.question)),
        each.sides.map((side) => el("td", { class: "number" }, side.holds ? "✓ holds it" : "✕ doesn't",
          el("span", { class: "muted" }, ` ${side.tokens} tokens`))))))));
  }

  return { element, setQuestions };
}

/** Return whether windows hold all characters of a question's gold. */
function holds(windows, { doc_id: docId, spans }) {
  const covered = windows.filter((each) => each.doc_id === docId).map((each) => [each.start_index, each.end_index])
    .sort((one, other) => one[0] - other[0]);
  return spans.every(([from, to]) => {
    let at = from;
    for (const [start, end] of covered) if (start <= at && end > at) at = end;
    return at >= to;
  });
}

function mean(items, name) {
  return items.reduce((sum, each) => sum + each[name], 0) / items.length;
}
