// Ask: the question, its windows, its answer and its road; beside them the document.

import { get, post } from "../api.js";
import { createAnswer } from "../answer.js";
import { createQuestion } from "../ask_question.js";
import { createResults } from "../ask_results.js";
import { addressOf, isSame, readAddress } from "../ask_address.js";
import { el, fill } from "../dom.js";
import { addKey } from "../keys.js";
import { complain } from "../messages.js";
import { createPlaces } from "../ask_places.js";
import { createSettingsForm } from "../settings_form.js";
import { createTabs } from "../tabs.js";
import { createWhy } from "../why.js";

export const title = "Ask";

const TYPING_MS = 250;

export function mount(container, app) {
  /** What the address bar says: question, settings, tab; document and start of what is read; a sentence to explain. */
  let state = readAddress({});
  let result = null;
  let aborting = null;
  let wantsAnswer = false;
  let explained = null;

  const question = createQuestion({ onAsk: submit });
  const results = createResults({
    onOpen: (card) => places.openCard(card, { isChosen: true }),
    onAsk: (text) => { question.set(text); submit(text); },
    onRetry: () => run(),
    onWhy: () => choose("why"),
    addressOf: (docId, start) => `#/ask?${new URLSearchParams(addressOf({ ...state, doc: docId, start, tab: "windows", sentence: null }))}`,
  });
  const answer = createAnswer({ app, onPlace: (place, cards) => places.openPlace(place, { cards }) });
  const why = createWhy({ app, onSentence: ({ docId, start }) => places.openPlace({ docId, start }) });
  const tabs = createTabs("What the question found", [
    { id: "windows", title: "Windows", panel: results.element },
    { id: "answer", title: "Answer", panel: answer.element },
    { id: "why", title: "Why", panel: why.element },
  ], choose);
  const settings = el("details", { class: "ask-settings" }, el("summary", {}, "Settings"));
  const left = el("section", { class: "left", aria: { label: "Question" } }, question.element, settings, tabs.element);
  const places = createPlaces({
    onCard(card, { isChosen, focus }) {
      results.setCurrent(card, { scroll: true, focus });
      if (isChosen) remember({ doc: card.doc_id, start: card.start_index, sentence: null });
    },
    onPlace: ({ docId, start }) => remember({ doc: docId, start }),
    onClose(card) {
      remember({ doc: null, start: null });
      results.setCurrent(card, { scroll: true, focus: true });
    },
    onSentence: explain,
    fates: (docId) => (tabs.selected() === "why" ? why.fates(docId) : null),
  });
  const split = el("div", { class: "split ask" }, left, places.element);
  places.attach(split);
  container.classList.add("flush");
  container.append(split);
  results.showStart(app.about);
  app.listeners.push((about) => { if (!state.q) results.showStart(about); });
  let form = null;
  loadForm();
  window.addEventListener("default-settings", () => { loadForm(); if (state.q) run(); });
  addKeys();

  function submit(text) {
    question.add(text);
    wantsAnswer = tabs.selected() === "answer" && app.about?.can_answer;
    const next = { ...state, q: text, doc: null, start: null, sentence: null };
    // The same address doesn't tell the page that it was asked again.
    if (isSame(next, state)) run();
    else app.go("ask", addressOf(next));
  }

  /** Show what the address bar says. */
  function show(parameters) {
    if (!Object.keys(parameters).length && state.q) return app.remember("ask", addressOf(state));
    const next = readAddress(parameters);
    const asksAnew = next.q !== state.q || JSON.stringify(next.settings) !== JSON.stringify(state.settings);
    state = next;
    tabs.select(state.tab);
    if (!asksAnew) return settle();
    question.set(state.q);
    form?.set(state.settings);
    describeSettings();
    run();
  }

  async function run() {
    aborting?.abort();
    const mine = aborting = new AbortController();
    explained = null;
    answer.prepare(state.q, state.settings);
    if (!state.q) {
      result = null;
      places.setWindows([]);
      results.showStart(app.about);
      return settle();
    }
    results.showBusy();
    if (wantsAnswer) answer.ask();
    wantsAnswer = false;
    const began = performance.now();
    try {
      const reply = await post("/api/ask", { query: state.q, settings: state.settings }, { signal: mine.signal });
      result = reply;
      results.showResult(reply, performance.now() - began);
    } catch (error) {
      if (error.name === "AbortError") return;
      result = null;
      results.showError(error);
    }
    tabs.retitle("windows", result ? `Windows (${result.windows.length})` : "Windows");
    places.setWindows(result?.windows ?? []);
    settle();
  }

  /** Bring the tab and the document in line with the state, once the windows are there. */
  function settle() {
    if (state.tab === "why") showWhy();
    if (state.doc !== null) places.openPlace({ docId: state.doc, start: state.start }, { isGiven: true });
    else if (result?.windows.length) places.openCard(result.windows[0], { isChosen: false });
  }

  function choose(tab) {
    tabs.select(tab);
    remember({ tab, sentence: tab === "why" ? state.sentence : null });
    if (tab === "why") showWhy();
    else places.highlight();
  }

  async function showWhy() {
    if (!state.q) return;
    const wanted = JSON.stringify([state.q, state.settings, state.sentence === null ? null : state.doc, state.sentence]);
    if (wanted === explained) return places.highlight();
    explained = wanted;
    try {
      if (state.sentence !== null && state.doc !== null) await why.showSentence(state.q, state.settings, state.doc, state.sentence);
      else await why.show(state.q, state.settings);
      places.highlight();
    } catch (error) { complain(error); }
  }

  /** A sentence was clicked: choose its window, or ask why it is in none. */
  function explain({ docId, index, start }) {
    const card = result?.windows.find((each) => each.doc_id === docId && each.sentences[0] <= index && index <= each.sentences[1]);
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

  function remember(changes) {
    state = { ...state, ...changes };
    app.remember("ask", addressOf(state));
  }

  async function loadForm() {
    try {
      const description = await get("/api/settings");
      form?.element.remove();
      form = createSettingsForm({ onChange: onSettings, description });
      form.set(state.settings);
      settings.append(form.element);
    } catch (error) {
      settings.append(el("p", { class: "error small" }, `The settings can't be shown: ${error.message}`));
    }
  }

  let typing = 0;
  function onSettings() {
    clearTimeout(typing);
    typing = setTimeout(() => {
      const next = { ...state, settings: form.value() };
      if (state.q) return app.go("ask", addressOf(next));
      remember(next);
      describeSettings();
    }, TYPING_MS);
  }

  function describeSettings() {
    const given = Object.entries(state.settings).map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
    fill(settings.querySelector("summary"), "Settings", given.length ? el("span", { class: "muted small" }, ` ${given.join(", ")}`) : null);
  }

  function addKeys() {
    const isShown = () => !container.hidden;
    const hasWindows = () => isShown() && Boolean(result?.windows.length);
    addKey("/", "Go to the question", () => { places.showList(); question.focus(); }, isShown);
    addKey("j", "Next window", () => places.stepCard(1), hasWindows);
    addKey("k", "Previous window", () => places.stepCard(-1), hasWindows);
    addKey("n", "Next hit", () => places.stepHit(1), hasWindows);
    addKey("p", "Previous hit", () => places.stepHit(-1), hasWindows);
    addKey("Escape", "Back to the list", () => places.close(), () => isShown() && places.covers());
  }

  return { show };
}
