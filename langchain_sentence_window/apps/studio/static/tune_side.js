// One side of a comparison: its settings, what they cost, and the windows that they lead to.

import { get, post } from "./api.js";
import { addressOf } from "./ask_address.js";
import { copyButton } from "./copying.js";
import { el, fill } from "./dom.js";
import { complain, say } from "./messages.js";
import { createSettingsForm } from "./settings_form.js";
import { comparedCard } from "./tune_card.js";

/**
 * Make a side.
 *
 * @param {Object} options
 * @param {string} options.name `A` or `B`.
 * @param {string} options.another The name of the other side.
 * @param {Object} options.description What `GET /api/settings` returns.
 * @param {() => void} options.onChange Called when the user changes a setting.
 * @param {() => void} options.onKept Called when the settings have become the index's default.
 * @returns {Object} `element`, `settings()`, `setSettings(settings)`, `ask(query)`, `result()` (cards, tokens and
 *   seconds, or null), `measureAgain()`, `show(compared, other, gold)`.
 */
export function createSide({ name, another, description, onChange, onKept }) {
  const form = createSettingsForm({ onChange, description, label: `Form of ${name}` });
  const changes = el("p", { class: "tune-changes small" });
  const cost = el("p", { class: "tune-cost number" });
  const list = el("ol", { class: "plain tune-cards" });
  const details = el("details", { open: true }, el("summary", {}, "Settings"), form.element);
  const program = el("button", { type: "button", class: "small", on: { click: copyProgram } }, "Copy as Python");
  const whether = description.can_keep ? "The index remembers these settings" : "This needs an index on disk, and a page that isn't read-only";
  const keep = el("button", {
    type: "button", class: "small", disabled: !description.can_keep, title: whether, on: { click: makeDefault },
  }, "Use as default");
  const code = el("div", { class: "tune-program" });
  const element = el("section", { class: `tune-side side-${name.toLowerCase()}`, id: `tune-${name}`, aria: { label: `Settings ${name}` } },
    el("div", { class: "row" }, el("h2", {}, name), changes), details,
    el("div", { class: "row" }, program, keep), code, cost, list);
  let query = "", asked = null, found = null, aborting = null;

  function settings() {
    return form.value();
  }

  function setSettings(value) {
    form.set(value);
    describe();
  }

  function describe() {
    const given = Object.entries(settings());
    fill(changes, given.length ? given.map(([key, value]) => el("code", { class: "tune-change" }, `${key}=${short(value)}`))
      : el("span", { class: "muted" }, "the default"));
    fill(code);
  }

  /** Ask, unless the same was asked last; return whether there is something new to show. */
  async function ask(question) {
    describe();
    if (!form.isValid()) return false;
    const wanted = JSON.stringify([question, settings()]);
    if (wanted === asked) return false;
    aborting?.abort();
    const mine = aborting = new AbortController();
    query = question;
    asked = wanted;
    if (!question) {
      found = null;
      return true;
    }
    list.setAttribute("aria-busy", "true");
    try {
      found = await post("/api/try", { query: question, settings: settings() }, { signal: mine.signal });
    } catch (error) {
      if (error.name === "AbortError") return false;
      found = { error };
      asked = null;
    } finally {
      if (aborting === mine) list.removeAttribute("aria-busy");
    }
    return true;
  }

  /** Ask once more, as the first call of a program takes longer; return whether the time is new. */
  async function measureAgain() {
    const [wanted, before] = [asked, found];
    if (!before || before.error) return false;
    try {
      const { seconds } = await post("/api/try", { query, settings: settings() });
      if (asked !== wanted || found !== before) return false;
      found = { ...before, seconds };
      return true;
    } catch { return false; }
  }

  /** Show the windows with what differs; `gold` holds the spans that answer the question. */
  function show(compared, other, gold) {
    if (!found) return void (fill(cost), fill(list));
    if (found.error) {
      fill(cost, el("span", { class: "error", role: "alert" }, found.error.message));
      return void fill(list);
    }
    fill(cost, `${found.windows.length} windows · ${found.tokens.toLocaleString()} tokens`, change(found.tokens, other?.tokens),
      ` · ${Math.max(1, Math.round(1000 * found.seconds))} ms`);
    fill(list, compared.map((each) => el("li", {}, comparedCard(each, {
      side: name, another, isGold: holds(each.card, gold), address: `#/ask?${new URLSearchParams(addressOf({
        q: query, settings: settings(), doc: each.card.doc_id, start: each.card.start_index, sentence: null, tab: "windows" }))}`,
    }))), compared.length ? null : el("li", { class: "muted" }, "Nothing was found."));
  }

  async function copyProgram() {
    try {
      const { program: text } = await post("/api/program", { query: query || "…", settings: settings() });
      const copy = copyButton("Copy", () => text);
      fill(code, el("pre", { tabIndex: 0, role: "region", aria: { label: `The program of ${name}` } }, text), copy);
      copy.click();
      copy.focus();
    } catch (error) { complain(error); }
  }

  async function makeDefault() {
    try {
      const { left_out: leftOut } = await post("/api/settings/default", { settings: settings() });
      const without = leftOut.length ? `, without ${leftOut.join(" and ")}` : "";
      say(`The index remembers these settings from now on${without}.`);
      window.dispatchEvent(new Event("default-settings"));  // other views have forms, too
      onKept();
    } catch (error) { complain(error); }
  }

  return { element, settings, setSettings, ask, measureAgain, result: () => (found && !found.error ? found : null), show };
}

function change(tokens, others) {
  if (others === undefined || others === tokens) return null;
  const share = others ? Math.round(100 * (tokens - others) / others) : 100;
  return el("span", { class: "muted" }, ` (${share > 0 ? "+" : "−"}${Math.abs(share)} %)`);
}

function holds(card, gold) {
  return gold.some(({ doc_id: docId, spans }) => docId === card.doc_id && spans.some(([from, to]) => from < card.end_index && to > card.start_index));
}

function short(value) {
  const text = JSON.stringify(value);
  return text.length > 40 ? `${text.slice(0, 39)}…` : text;
}

/** Return the description of the settings from the server. */
export function readDescription() {
  return get("/api/settings");
}
