// Tune: one question, two settings side by side, and what differs.

import { get } from "../api.js";
import { el, fill } from "../dom.js";
import { addKey } from "../keys.js";
import { complain } from "../messages.js";
import { createAll } from "../tune_all.js";
import { compare, summary } from "../tune_compare.js";
import { createSide, readDescription } from "../tune_side.js";

export const title = "Tune";

const TYPING_MS = 300;
const NAMES = ["A", "B"];

export function mount(container, app) {
  const question = el("input", {
    id: "tune-question", type: "search", class: "grow", placeholder: "A question to try both on", autocomplete: "off",
    on: { input: later, change: run },
  });
  const known = el("select", { id: "tune-known", hidden: true, aria: { label: "A question of the evaluation set" }, on: { change: choose } });
  const status = el("p", { class: "tune-summary", role: "status" });
  const all = createAll({ settings: () => sides.map((each) => each.settings()), onChoose: ask });
  const tabs = el("div", { class: "tabs tune-tabs", role: "tablist", aria: { label: "Settings" } });
  const columns = el("div", { class: "tune-sides" });
  const view = el("div", { class: "tune" },
    el("h2", { class: "visually-hidden" }, title),
    el("form", { class: "row tune-question", role: "search", on: { submit: (event) => { event.preventDefault(); run(); } } },
      el("label", { htmlFor: "tune-question" }, "Question"), question, known,
      el("button", { type: "button", on: { click: swap }, title: "A becomes B, and B becomes A" }, "⇄ Swap"),
      el("button", { type: "button", on: { click: copyToB }, title: "B becomes as A is" }, "A → B")),
    status, all.element, tabs, columns);
  container.append(view);
  const narrow = matchMedia("(max-width: 800px)");
  let sides = [], questions = [], waiting = null, timer = 0, current = NAMES[0], isWarm = false;
  const ready = build();
  narrow.addEventListener("change", showTabs);
  addKey("x", "Swap A and B", swap, () => !container.hidden);

  async function build() {
    const given = sides.map((each) => each.settings());
    try {
      const description = await readDescription();
      sides = NAMES.map((name, i) => createSide({ name, another: NAMES[1 - i], description, onChange: later, onKept: rebuild }));
    } catch (error) { return complain(error); }
    given.forEach((each, i) => sides[i].setSettings(each));
    fill(columns, sides.map((each) => each.element));
    fill(tabs, NAMES.map((name) => el("button", { type: "button", role: "tab", id: `tune-tab-${name}`, aria: { controls: `tune-${name}` },
      on: { click: () => select(name), keydown: onTabKey } }, `Settings ${name}`)));
    showTabs();
  }

  /** Begin anew with another default, and without what was tried. */
  async function rebuild() {
    await build();
    sides.forEach((each) => each.setSettings({}));
    run();
  }

  async function show(parameters) {
    await ready;
    loadQuestions();
    if (!Object.keys(parameters).length && (question.value || sides.some((each) => Object.keys(each.settings()).length))) return remember();
    question.value = parameters.q ?? "";
    sides.forEach((each, i) => each.setSettings(read(parameters[NAMES[i].toLowerCase()])));
    if (!parameters.q) question.focus();
    run();
  }

  function later() {
    clearTimeout(timer);
    timer = setTimeout(run, TYPING_MS);
  }

  /** Ask what has changed, one side after the other, so that neither slows the other down. */
  async function run() {
    clearTimeout(timer);
    remember();
    const mine = waiting = {};
    const text = question.value.trim();
    let isNew = false;
    for (const side of sides) {
      isNew = (await side.ask(text)) || isNew;
      if (waiting !== mine && isNew) return compareBoth();
    }
    if (!isNew) return;
    compareBoth();
    if (text && !isWarm) {
      isWarm = true;
      if (await sides[0].measureAgain()) compareBoth();
    }
  }

  function compareBoth() {
    const results = sides.map((each) => each.result());
    const [ofA, ofB] = [0, 1].map((i) => compare(results[i]?.windows ?? [], results[1 - i]?.windows ?? []));
    const gold = questions.filter((each) => each.question === question.value.trim());
    [ofA, ofB].forEach((compared, i) => sides[i].show(compared, results[1 - i], gold));
    if (results.every(Boolean)) fill(status, summary(ofA, ofB));
    else fill(status, question.value.trim() ? "" : "Write a question, and change settings on one of the sides.");
  }

  function remember() {
    const found = question.value ? { q: question.value } : {};
    sides.forEach((each, i) => {
      const settings = each.settings();
      if (Object.keys(settings).length) found[NAMES[i].toLowerCase()] = JSON.stringify(settings);
    });
    if (!container.hidden) app.remember("tune", found);
  }

  function swap() {
    const [a, b] = sides.map((each) => each.settings());
    sides[0].setSettings(b);
    sides[1].setSettings(a);
    run();
  }

  function copyToB() {
    sides[1].setSettings(sides[0].settings());
    run();
  }

  async function loadQuestions() {
    try {
      ({ questions } = await get("/api/questions"));
    } catch { questions = []; }
    known.hidden = !questions.length;
    all.setQuestions(questions);
    fill(known, el("option", { value: "" }, `${questions.length} questions of the set`),
      questions.map((each, i) => el("option", { value: String(i) }, each.question.slice(0, 100))));
  }

  function choose() {
    const chosen = questions[Number(known.value)];
    if (known.value === "" || !chosen) return;
    ask(chosen.question);
  }

  function ask(text) {
    question.value = text;
    run();
  }

  /** On a narrow page the sides are tabs, else both are shown. */
  function showTabs() {
    tabs.hidden = !narrow.matches;
    sides.forEach(({ element }, i) => {
      const name = NAMES[i], isTab = narrow.matches;
      element.hidden = isTab && name !== current;
      if (isTab) element.setAttribute("role", "tabpanel");
      else element.removeAttribute("role");
      const tab = tabs.children[i];
      tab?.setAttribute("aria-selected", String(name === current));
      if (tab) tab.tabIndex = name === current ? 0 : -1;
    });
  }

  function select(name) {
    current = name;
    showTabs();
  }

  function onTabKey(event) {
    if (!["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) return;
    event.preventDefault();
    select(event.key === "Home" ? NAMES[0] : event.key === "End" ? NAMES[1] : NAMES[1 - NAMES.indexOf(current)]);
    tabs.children[NAMES.indexOf(current)].focus();
  }

  return { show };
}

function read(text) {
  try {
    const found = JSON.parse(text || "{}");
    return found !== null && typeof found === "object" && !Array.isArray(found) ? found : {};
  } catch {
    return {};
  }
}
