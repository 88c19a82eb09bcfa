// The windows of a question as a list, and what stands in its place when there are none.

import { get } from "./api.js";
import { windowCard } from "./cards.js";
import { el, fill } from "./dom.js";

/**
 * Make the list.
 *
 * @param {Object} options
 * @param {(card: Object) => void} options.onOpen Called when the user chooses a window.
 * @param {(question: string) => void} options.onAsk Called when the user chooses an example.
 * @param {() => void} options.onRetry Called when the user wants to ask again after an error.
 * @param {() => void} options.onWhy Called when the user wants to know why nothing was found.
 * @param {(docId: string, start: number) => string} options.addressOf
 */
export function createResults({ onOpen, onAsk, onRetry, onWhy, addressOf }) {
  const status = el("p", { class: "result-status muted small", role: "status" });
  const body = el("div", { class: "result" });
  const element = el("div", {}, status, body);
  let shown = [];

  /** Show that an answer is on its way; what was there stays until then, so nothing jumps. */
  function showBusy() {
    body.classList.add("stale");
    body.setAttribute("aria-busy", "true");
    fill(status, "Asking…");
  }

  function settle(text, ...children) {
    body.classList.remove("stale");
    body.removeAttribute("aria-busy");
    shown = [];
    fill(body, ...children);
    fill(status, text);
  }

  /** Show the windows that were found; `took` is the milliseconds from the question to the answer. */
  function showResult({ windows, seconds, limits }, took) {
    if (!windows.length) return settle(`Nothing was found · ${times(seconds, took)}`, nothing(limits));
    const scores = windows.map((each) => each.score).filter((each) => typeof each === "number");
    const scale = [Math.min(...scores), Math.max(...scores)];
    const documents = new Set(windows.map((each) => each.doc_id)).size;
    settle(`${count(windows.length, "window")} of ${count(documents, "document")} · ${times(seconds, took)}`);
    shown = windows.map((card) => ({ card, element: windowCard(card, { onOpen, scale, addressOf }) }));
    body.append(el("ol", { class: "plain cards" }, shown.map((each) => el("li", {}, each.element))));
  }

  function nothing(limits = []) {
    return el("div", { class: "empty" }, el("h2", {}, "Nothing was found"),
      limits.length ? el("ul", {}, limits.map((each) => el("li", {}, each)))
        : el("p", {}, "Try other words, or ask about something that the documents tell."),
      el("button", { type: "button", on: { click: onWhy } }, "See why"));
  }

  function showError(error) {
    settle("", el("div", { class: "empty", role: "alert" }, el("p", { class: "error" }, error.message),
      el("button", { type: "button", on: { click: onRetry } }, "Ask again")));
  }

  /** Show how to begin; `about` is what `/api/about` says, or null. */
  function showStart(about) {
    if (about?.documents === 0) return settle("", emptyIndex(about));
    const examples = el("div", { class: "examples" });
    settle("", el("div", { class: "empty" },
      about ? el("p", {}, `Ask ${count(about.documents, "document")} with ${count(about.sentences, "sentence")}. `,
        "A whole question finds more than a few words. Name a document to ask it first.") : null, examples));
    if (about) suggest(examples);
  }

  async function suggest(place) {
    try {
      const { examples } = await get("/api/examples");
      if (!examples.length) return;
      fill(place, el("p", { class: "muted small" }, "For example"), el("ul", { class: "plain" }, examples.map((each) =>
        el("li", {}, el("button", { type: "button", class: "example", on: { click: () => onAsk(each) } }, each)))));
    } catch { /* it works without examples */ }
  }

  /** Mark the card whose document is shown. */
  function setCurrent(card, { scroll = false, focus = false } = {}) {
    for (const each of shown) {
      if (each.card.rank !== card?.rank) { each.element.removeAttribute("aria-current"); continue; }
      each.element.setAttribute("aria-current", "true");
      if (focus) each.element.querySelector(".window-open").focus({ preventScroll: true });
      if (scroll) each.element.scrollIntoView({ block: "nearest" });
    }
  }

  return { element, showBusy, showResult, showError, showStart, setCurrent };
}

function emptyIndex(about) {
  return el("div", { class: "empty" }, el("h2", {}, "The index is empty"),
    about.is_read_only ? el("p", {}, "This page is read-only. Add documents with the command line or in Python.")
      : el("p", {}, "Add documents first: ", el("a", { href: "#/documents" }, "go to Documents"), "."));
}

function times(seconds, took) {
  const [own, whole] = [1000 * seconds, took].map((each) => Math.max(1, Math.round(each)).toLocaleString());
  return `${own} ms in the retriever, ${whole} ms in all`;
}

function count(number, what) {
  return `${number.toLocaleString()} ${what}${number === 1 ? "" : "s"}`;
}
