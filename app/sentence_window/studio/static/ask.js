// Ask: a question, its windows, its answer, and why they were found; next to them the document, or other settings to compare.

import { createAnswer } from "./answer.js";
import { mark } from "./answers.js";
import { createPlaces } from "./ask_places.js";
import { createSide } from "./ask_side.js";
import { compare, comparison } from "./cards.js";
import { el, fill } from "./dom.js";
import { addKey, button, complain, createTabs, isNarrow } from "./widgets.js";
import { createWhy } from "./why.js";
import { isEqual, objectFrom } from "./words.js";

export const title = "Ask";

const TABS = ["windows", "answer", "why"];
const DOUBLE_MS = 500;

export function mount(container, app) {
  /** What the address bar says; see `readAddress`. */
  let state = readAddress({});
  let wantsAnswer = false;
  let explained = null;

  const question = createQuestion({ onAsk: submit });
  const linkTo = (docId, start) => `#/ask?${new URLSearchParams(addressOf({ ...state, doc: docId, start, tab: "windows", sentence: null }))}`;
  const answers = { onAnswer: (docId, spans) => mark(state.q, docId, spans).catch(complain), goldOf: (docId) => places.reader.goldOf(docId) };
  const compareButton = button("Compare with other settings", () => go({ other: { ...state.settings } }), "small");
  const first = createSide({
    app, ...answers, name: "A", onSettings: (settings) => go({ settings }), onOpen: (card) => places.openCard(card, { isChosen: true }),
    onRetry: () => run(), onWhy: () => choose("why"), addressOf: linkTo,
    buttons: [compareButton],
  });
  const second = createSide({
    app, ...answers, name: "B", settingsBefore: () => state.settings, onSettings: (other) => go({ other }), onRetry: () => run({ onlyOther: true }), addressOf: linkTo,
    onOpen: (card) => places.openPlace({ docId: card.doc_id, start: card.start_index }, { cards: second.result().windows }),
  });
  second.settingsElement.open = true;
  const answer = createAnswer({ app, onPlace: (place, cards) => places.openPlace(place, { cards }) });
  const why = createWhy({ app, onAnswer: answers.onAnswer, onSentence: ({ docId, start }) => places.openPlace({ docId, start }) });
  const tabs = createTabs("What the question found", [
    { id: "windows", title: "Windows", panel: first.element },
    { id: "answer", title: "Answer", panel: answer.element },
    { id: "why", title: "Why", panel: why.element },
  ], choose);
  const flip = (label) => button(label, () => split.classList.toggle("shows-other"), "flip");
  const left = el("section", { class: "left", aria: { label: "Question" } }, question.element, first.settingsElement, flip("Show the other settings"), tabs.element);
  const compared = el("p", { class: "compared", role: "status" });
  const other = el("section", { class: "other", aria: { label: "Other settings" }, hidden: true },
    el("div", { class: "row" }, el("h2", { class: "grow" }, "Other settings"), flip("Show the first ones"),
      button("⇄ Swap", swap, "small", { title: "A becomes B, and B becomes A (x)" }), button("Close", () => go({ other: null }), "small")),
    second.settingsElement, compared, second.element);
  const places = createPlaces({
    app,
    onGold() { for (const each of [first, second]) each.showGold(); },
    onCard(card, { isChosen, focus, scroll = true }) {
      first.setCurrent(card, { scroll, focus });
      if (isChosen) remember({ doc: card.doc_id, start: card.start_index, sentence: null });
    },
    onPlace: ({ docId, start }) => remember({ doc: docId, start }),
    onClose(card) {
      if (history.state?.isOpened) history.back();
      else remember({ doc: null, start: null });
      first.setCurrent(card, { scroll: true, focus: true });
    },
    onSentence: explain,
    fates: (docId) => (tabs.selected() === "why" ? why.fates(docId) : null),
  });
  const split = el("div", { class: "split ask" }, left, other, places.element);
  places.attach(split);
  container.classList.add("flush");
  container.append(split);
  first.showStart(app.about);
  app.listeners.push((about) => { if (!state.q) first.showStart(about); });
  window.addEventListener("default-settings", () => { if (state.q) run(); });
  addKeys();

  function go(changes) {
    const next = { ...state, ...changes };
    // The same address wouldn't make the page ask again.
    if (isEqual(addressOf(next), addressOf(state))) run({ again: true });
    else app.go("ask", addressOf(next));
  }

  function submit(text) {
    wantsAnswer = tabs.selected() === "answer" && app.about?.can_answer;
    go({ q: text, doc: null, start: null, sentence: null });
  }

  function swap() {
    if (state.other) go({ settings: state.other, other: state.settings });
  }

  /** Show what the address bar says. */
  function show(parameters) {
    const before = state;
    state = readAddress(parameters);
    tabs.select(state.tab);
    if (state.doc === null) places.showList();
    const asksAnew = state.q !== before.q || !isEqual(state.settings, before.settings);
    first.setSettings(state.settings);
    second.setSettings(state.other ?? {});
    showOther();
    question.set(state.q);
    if (asksAnew || !isEqual(state.other, before.other)) run({ onlyOther: !asksAnew });
    else settle();
    if (!state.q && !isNarrow()) question.focus();
  }

  function showOther() {
    const isOn = state.other !== null;
    other.hidden = !isOn;
    compareButton.hidden = isOn;
    split.classList.toggle("compares", isOn);
    if (!isOn) split.classList.remove("shows-other");
    first.entitle(isOn);
    second.entitle(true);
  }

  /** Ask both sides what has changed, one after the other, so that neither slows the other down. */
  async function run({ onlyOther = false, again = !onlyOther } = {}) {
    if (!onlyOther) {
      explained = null;
      app.question = state.q;
      places.reader.ask(state.q);
      answer.prepare(state.q, state.settings);
    }
    if (!state.q) {
      for (const each of [first, second]) each.showStart(app.about);
      fill(compared, state.other ? "Write a question, and change settings on one of the sides." : null);
      places.setWindows([]);
      tabs.retitle("windows", "Windows");
      return settle();
    }
    if (wantsAnswer) answer.ask();
    wantsAnswer = false;
    if (!onlyOther || !first.result()) {
      if (!(await first.ask(state.q, { again }))) return;
      const windows = first.result()?.windows;
      tabs.retitle("windows", windows ? `Windows (${windows.length})` : "Windows");
      places.setWindows(windows ?? []);
      settle();
    }
    if (state.other && !(await second.ask(state.q, { again }))) return;
    showCompared();
  }

  function showCompared() {
    const results = [first, second].map((each) => (state.other && each.result()) || null);
    if (!results.every(Boolean)) {
      first.show();
      return void fill(compared);
    }
    const [ofA, ofB] = results.map((each) => each.windows);
    fill(compared, comparison(compare(ofA, ofB), compare(ofB, ofA)));
    first.show(results[1]);
    second.show(results[0]);
  }

  /** Bring the tab and the document in line with the state, once the windows are there. */
  function settle() {
    if (state.tab === "why") showWhy();
    const best = first.result()?.windows[0];
    if (state.doc !== null) places.openPlace({ docId: state.doc, start: state.start }, { isGiven: true });
    else if (best) places.openCard(best, { isChosen: false });
    if (state.sentence !== null) places.showList(); // which says why it isn't there
  }

  function choose(tab) {
    tabs.select(tab);
    remember({ tab, sentence: tab === "why" ? state.sentence : null });
    if (tab === "why") showWhy();
    else places.highlight();
  }

  async function showWhy() {
    if (!state.q) {
      explained = null;
      return why.showStart(() => { places.showList(); question.focus(); });
    }
    const wanted = JSON.stringify([state.q, state.settings, state.sentence === null ? null : state.doc, state.sentence]);
    if (wanted === explained) return places.highlight();
    explained = wanted;
    try {
      await why.show(state.q, state.settings, state.doc, state.doc === null ? null : state.sentence);
      places.highlight();
    } catch (error) { complain(error); }
  }

  /** A sentence was clicked: choose its window, or ask why it is in none. */
  function explain({ docId, index, start }) {
    const card = first.result()?.windows.find((each) => each.doc_id === docId && each.sentences[0] <= index && index <= each.sentences[1]);
    if (card) {
      if (tabs.selected() !== "windows") choose("windows");
      places.select(card);
    } else if (state.q) {
      remember({ doc: docId, start, sentence: index, tab: "why" });
      places.showList();
      tabs.select("why");
      showWhy();
    }
  }

  /** Write changes into the address bar; opening a document where none is open is a step to go back from. */
  function remember(changes) {
    const isOpened = state.doc === null && Boolean(changes.doc);
    state = { ...state, ...changes };
    app.remember("ask", addressOf(state), { isOpened });
  }

  /** Keep what is selected in a window; else what is chosen in the document, or the hits of the window if the list covers that. */
  function keepAnswer() {
    const chosen = [first, second].map((each) => each.selected()).find(Boolean) ?? (places.isCovered() ? first.selected({ orCurrent: true }) : null);
    if (chosen) answers.onAnswer(chosen.card.doc_id, chosen.chosen());
    else places.reader.answer();
  }

  function addKeys() {
    const isShown = () => !container.hidden;
    const hasWindows = () => isShown() && Boolean(first.result()?.windows.length);
    addKey("/", "Go to the question", () => { places.showList(); question.focus(); }, isShown);
    addKey("j", "Next window", () => places.stepCard(1), hasWindows);
    addKey("k", "Previous window", () => places.stepCard(-1), hasWindows);
    addKey("n", "Next hit in the document", () => places.stepHit(1), hasWindows);
    addKey("p", "Previous hit in the document", () => places.stepHit(-1), hasWindows);
    addKey("a", "Save the answer: what is selected, else the sentence or the hit", keepAnswer, () => isShown() && Boolean(state.q));
    addKey("x", "Swap the settings that are compared", swap, () => isShown() && state.other !== null);
    addKey("Escape", "Back to the list", () => places.close(), () => isShown() && places.covers());
  }

  return { show };
}

// The address: what the address bar holds of the view, so that a reload or a shared link shows the same.

/**
 * Read what an address says.
 *
 * @param {Object<string, string>} parameters
 * @returns {{q: string, settings: Object, other: Object|null, doc: string|null, start: number|null,
 *   sentence: number|null, tab: string}} The question, its settings, those that it is compared with, the document and
 *   the place that is read, and the sentence to explain.
 */
function readAddress({ q = "", settings = "", other = null, doc = null, start = null, sentence = null, tab = "" }) {
  const number = (text) => (text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null);
  return {
    q, settings: objectFrom(settings), other: other === null ? null : objectFrom(other), doc: doc || null, start: number(start),
    sentence: number(sentence), tab: TABS.includes(tab) ? tab : number(sentence) !== null ? "why" : TABS[0],
  };
}

/** Return the parameters of an address; what is as always is left out. */
function addressOf({ q, settings, other, doc, start, sentence, tab }) {
  const found = {};
  if (q) found.q = q;
  if (Object.keys(settings).length) found.settings = JSON.stringify(settings);
  if (other !== null) found.other = JSON.stringify(other);
  if (doc !== null) found.doc = doc;
  if (start !== null && doc !== null) found.start = start;
  if (sentence !== null && doc !== null) found.sentence = sentence;
  if (tab !== TABS[0]) found.tab = tab;
  return found;
}

// The question box.

/**
 * Make the question box. Enter asks, Shift+Enter begins a new line; the browser's Back brings earlier questions.
 *
 * @param {{onAsk: (question: string) => void}} options
 * @returns {{element: HTMLElement, set: (question: string) => void, focus: () => void}}
 */
function createQuestion({ onAsk }) {
  let last = { text: "", at: 0 };
  const box = el("textarea", {
    id: "question", rows: 1, placeholder: "Ask the documents a question", spellcheck: true, autocomplete: "off", dir: "auto",
    aria: { describedby: "question-hint" }, on: { keydown: onKey, input: grow },
  });
  const element = el("form", { class: "question", on: { submit: (event) => { event.preventDefault(); submit(); } } },
    el("label", { class: "visually-hidden", htmlFor: "question" }, "Question"),
    el("div", { class: "question-row" }, box, el("button", { class: "main", type: "submit" }, "Ask")),
    el("p", { id: "question-hint", class: "visually-hidden" }, "Enter asks. Shift and Enter begin a new line."));

  function submit() {
    const text = box.value.trim();
    const isDouble = text === last.text && performance.now() - last.at < DOUBLE_MS;
    last = { text, at: performance.now() };
    if (!text) box.focus();
    else if (!isDouble) onAsk(text);
  }

  function onKey(event) {
    if (event.isComposing) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      submit();
    } else if (event.key === "Escape") box.blur();
  }

  function grow() {
    box.style.height = "auto";
    if (box.scrollHeight) box.style.height = `${box.scrollHeight + 2}px`;
  }

  return { element, set(question) { box.value = question; grow(); }, focus() { box.focus(); box.select(); } };
}
