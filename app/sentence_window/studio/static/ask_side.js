// One side of Ask: settings, and the windows that a question finds with them; or a message in place of the windows.

import { post } from "./api.js";
import { compare, differences, doubtful, meter, windowCard } from "./cards.js";
import { el, fill } from "./dom.js";
import { createSettingsForm, inWords, readDescription } from "./settings_form.js";
import { createTrial, keep } from "./trial.js";
import { button } from "./widgets.js";
import { count, isEqual, ms, namesOf } from "./words.js";

const TYPING_MS = 250;

/**
 * Make a side.
 *
 * @param {Object} options
 * @param {Object} options.app What views share.
 * @param {string} options.name `A` or `B`.
 * @param {() => Object} [options.settingsBefore] The settings that a trial compares these with; the default if it is left out.
 * @param {(settings: Object) => void} options.onSettings Called when the user has changed the settings.
 * @param {(card: Object) => void} options.onOpen Called when the user chooses a window.
 * @param {(docId: string, spans: number[][]) => void} options.onAnswer Called when text of a window answers the question, or no more.
 * @param {(docId: string) => number[][]} options.goldOf Returns what is the answer of the question in a document.
 * @param {() => void} options.onRetry Called when the user wants to ask again after an error.
 * @param {(docId: string, start: number) => string} options.addressOf The address of a place.
 * @param {() => void} [options.onWhy] Called when the user wants to know why nothing was found.
 * @param {Node[]} [options.buttons] More buttons below the settings.
 */
export function createSide({ app, name, settingsBefore = () => ({}), onSettings, onOpen, onAnswer, goldOf, onRetry, addressOf, onWhy, buttons = [] }) {
  const title = el("span", {}, "Settings");
  const changed = el("span", { class: "muted small" });
  const onKept = () => onSettings({});
  const trial = createTrial({ app, onKept });
  const forChanged = el("span", { class: "row", hidden: true },
    button("Would this help?", () => trial.start(settingsBefore(), settings), "small", { title: "Asks all questions with these settings" }),
    button("Use as default…", () => keep(settings, onKept), "small"));
  const settingsElement = el("details", { class: "ask-settings" }, el("summary", {}, title, changed),
    el("div", { class: "row" }, buttons, forChanged), trial.element);
  const status = el("p", { class: "result-status muted small", role: "status" });
  const body = el("div", { class: "result" });
  const element = el("div", {}, status, body);
  let settings = {}, query = "", asked = null, result = null, aborting = null, shown = [], typing = 0;
  let form = null, description = null, current = null;
  load();
  window.addEventListener("default-settings", () => load({ again: true }));

  // The settings

  async function load({ again = false } = {}) {
    if (again) asked = null;
    try {
      description = await readDescription();
    } catch (error) {
      return settingsElement.append(el("p", { class: "error small" }, `The settings can't be shown: ${error.message}`));
    }
    const before = form?.element;
    form = createSettingsForm({ description, label: `Settings ${name}`, onChange: () => {
      clearTimeout(typing);
      typing = setTimeout(() => onSettings(form.value()), TYPING_MS);
    } });
    form.set(settings);
    before?.remove();
    settingsElement.firstChild.after(form.element);
    describe();
  }

  function setSettings(given) {
    if (isEqual(given, settings)) return;
    settings = given;
    if (form && !isEqual(form.value(), given)) form.set(given);
    describe();
  }

  function describe() {
    const words = inWords(settings, description);
    fill(changed, words.length ? ` ${words.join(", ")}` : name === "B" ? " the default" : null);
    forChanged.hidden = !words.length;
    forChanged.lastChild.hidden = !description?.can_keep;
  }

  // The windows

  /** Ask, unless the same was asked last and not `again`; return whether no newer question came between. */
  async function ask(question, { again = false } = {}) {
    const wanted = JSON.stringify([question, settings]);
    if (wanted === asked && result && !again) return true;
    aborting?.abort();
    const mine = aborting = new AbortController();
    [query, asked] = [question, wanted];
    body.classList.add("stale"); // what was there stays until then, so nothing jumps
    body.setAttribute("aria-busy", "true");
    fill(status, "Asking…");
        try {
      result = await post("/api/ask", { query: question, settings }, { signal: mine.signal });
      show();
    } catch (error) {
      if (error.name === "AbortError") return false;
      [result, asked] = [null, null];
      settle("", el("div", { class: "empty", role: "alert" }, el("p", { class: "error" }, error.message), button("Ask again", onRetry)));
    }
    return aborting === mine;
  }

  function settle(text, ...children) {
    body.classList.remove("stale");
    body.removeAttribute("aria-busy");
    shown = [];
    fill(body, ...children);
    fill(status, text);
  }

  /** Show the windows, with what differs from those of another side if its result is given. */
  function show(other = null) {
    if (!result) return;
    const { windows, seconds } = result;
    if (!windows.length) return settle(`Nothing was found · ${ms(seconds)}`, nothing());
    const documents = new Set(windows.map((each) => each.doc_id)).size;
    const compared = other && compare(windows, other.windows);
    const parts = [`${count(windows.length, "window")} of ${count(documents, "document")}`, tokens(windows, other?.windows), ms(seconds)];
    settle(parts.join(" · "), support(windows));
    const names = namesOf(windows);
    shown = windows.map((card, i) => windowCard(card, {
      name: names.get(card.doc_id), onOpen, onAnswer, addressOf, changes: compared ? differences(compared[i], name, name === "A" ? "B" : "A") : [], own: compared?.[i].own,
    }));
    showGold();
    body.append(el("ol", { class: "plain cards" }, shown.map((each) => el("li", {}, each.element))));
    setCurrent(current);
  }

  function nothing() {
    return el("div", { class: "empty" }, el("h2", {}, "Nothing was found"), el("p", {}, "Try other words or settings."),
      onWhy ? button("See why", onWhy) : null);
  }

  /** Show how to begin; `about` is what `/api/about` says, or null. */
  function showStart(about) {
    aborting?.abort();
    [result, asked, current] = [null, null, null];
    if (about?.documents === 0) return settle("", emptyIndex(about));
    settle("", el("div", { class: "empty" },
      about ? el("p", {}, `Ask ${count(about.documents, "document")} with ${count(about.sentences, "sentence")}. `,
        "A whole question finds more than a few words. Mention a document's name to search it first.") : null));
  }

  /** Mark in the cards what is the answer of the question. */
  function showGold() {
    for (const each of shown) each.showGold(app.about?.is_read_only === false ? goldOf(each.card.doc_id) : null);
  }

  /** Return the card in which text is selected, or else the current one. */
  function selected({ orCurrent = false } = {}) {
    const selection = getSelection();
    const isSelected = (each) => !selection.isCollapsed && selection.containsNode(each.element, true);
    return shown.find(isSelected) ?? (orCurrent ? shown.find(({ card }) => card.rank === current?.rank) : null) ?? null;
  }

  /** Mark the card whose document is shown. */
  function setCurrent(card, { scroll = false, focus = false } = {}) {
    current = card;
    for (const each of shown) {
      if (each.card.rank !== card?.rank) { each.element.removeAttribute("aria-current"); continue; }
      each.element.setAttribute("aria-current", "true");
      if (focus) each.element.querySelector(".window-open").focus({ preventScroll: true });
      if (scroll) each.element.scrollIntoView({ block: "nearest" });
    }
  }

  return {
    element, settingsElement, setSettings, ask, show, showStart, showGold, selected, setCurrent, result: () => result,
    /** Say which side it is, or that there is only one. */
    entitle(isOneOfTwo) { fill(title, isOneOfTwo ? `Settings ${name}` : "Settings"); },
  };
}

/** Say how likely the windows answer the question, if that is known: on a scale from 0 to 1, and in words if they may not. */
function support(windows) {
  const [{ relevance }] = windows;
  const doubt = doubtful(windows);
  if (typeof relevance !== "number" && !doubt) return null;
  return el("p", { class: doubt ? "support doubt" : "support muted small" }, doubt ? `${doubt} ` : null,
    typeof relevance === "number" ? el("span", { class: "small row", title: "How likely the question is answered" }, "Likelihood of an answer ", meter(relevance), el("span", { class: "number" }, relevance.toFixed(2))) : null);
}

function emptyIndex(about) {
  return el("div", { class: "empty" }, el("h2", {}, "The index is empty"),
    about.is_read_only ? el("p", {}, "This page is read-only. Add documents with the command line or in Python.")
      : el("a", { class: "button main", href: "#/documents" }, "Add documents"));
}

function tokens(windows, others) {
  const sum = (cards) => cards.reduce((all, each) => all + each.tokens, 0);
  const own = sum(windows);
  const theirs = others ? sum(others) : own;
  const share = theirs ? Math.round((100 * (own - theirs)) / theirs) : 100;
  return `${own.toLocaleString()} tokens${own === theirs ? "" : ` (${share > 0 ? "+" : "−"}${Math.abs(share)} %)`}`;
}
