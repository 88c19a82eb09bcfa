// One document: what is known of it, its text, its sentences.

import { get } from "./api.js";
import { counted, dayOf } from "./documents_list.js";
import { el, fill } from "./dom.js";
import { complain } from "./messages.js";
import { createReader } from "./reader.js";
import { createTabs } from "./tabs.js";

/**
 * Make the right side of the view.
 *
 * @param {Object} options
 * @param {() => void} options.onClose Called when the user goes back to the list.
 * @param {(row: Object) => void} options.onDelete Called to delete the document that is shown.
 */
export function createDetail({ onClose, onDelete }) {
  let shown = null;
  let canChange = false;
  let aborting = null;

  const reader = createReader();
  const sentences = el("div");
  const metadata = el("div");
  const head = el("header", { class: "document-head" });
  const tabs = createTabs("The document", [
    { id: "document-text", title: "Text", panel: reader.element },
    { id: "document-sentences", title: "Sentences", panel: sentences },
    { id: "document-metadata", title: "Metadata", panel: metadata },
  ], () => {});
  const hint = el("p", { class: "muted hint" }, "Choose a document to read it.");
  const back = el("button", { type: "button", class: "back", on: { click: onClose } }, "← Back to the list");
  const element = el("section", { class: "right", aria: { label: "Document" } }, back, hint, head, tabs.element);
  clear();

  function clear() {
    shown = null;
    fill(head);
    fill(sentences);
    fill(metadata);
    reader.close?.();
    tabs.element.hidden = true;
    hint.hidden = false;
  }

  async function show(docId) {
    aborting?.abort();
    const mine = aborting = new AbortController();
    const found = await get("/api/documents/details", { doc_id: docId }, { signal: mine.signal });
    shown = found;
    hint.hidden = true;
    tabs.element.hidden = false;
    showHead();
    showSentences();
    showMetadata();
    if (matchMedia("(max-width: 800px)").matches) back.focus();
    await reader.open(docId);
  }

  function showHead() {
    const facts = [counted(shown.sentences, "sentence"), shown.pages ? counted(shown.pages, "page") : null,
      shown.added ? `added ${dayOf(shown.added)}` : null].filter(Boolean).join(", ");
    const remove = el("button", { type: "button", class: "danger", on: { click: () => onDelete(shown) } }, "Delete…");
    fill(head, el("div", { class: "row" }, el("h2", { class: "grow" }, el("bdi", {}, shown.title ?? shown.name)), canChange ? remove : null),
      el("p", { class: "muted small path" }, el("bdi", {}, shown.source ?? shown.doc_id)), el("p", { class: "muted small" }, facts));
  }

  function showSentences() {
    if (shown.texts === null) {
      fill(sentences, el("p", { class: "muted" }, "This store can't fetch sentences one by one."));
      return;
    }
    const list = el("ol", { class: "document-sentences plain" }, shown.texts.map(sentenceOf));
    const more = el("button", { type: "button", on: { click: () => showMore(list, more) } }, "Show more");
    more.hidden = shown.next === null;
    fill(sentences, list, more);
  }

  async function showMore(list, more) {
    const of = shown;
    more.disabled = true;
    try {
      const found = await get("/api/documents/details", { doc_id: of.doc_id, first: of.next });
      if (of !== shown) return;
      of.next = found.next;
      const added = found.texts.map(sentenceOf);
      list.append(...added);
      added[0]?.querySelector("button").focus();
      more.hidden = found.next === null;
    } catch (error) { complain(error); }
    more.disabled = false;
  }

  function sentenceOf({ index, start, text }) {
    return el("li", {}, el("button", { type: "button", class: "quiet document-sentence", on: { click: () => read(start) } },
      el("span", { class: "muted number" }, String(index + 1)), el("span", { class: "document-sentence-text" }, text)));
  }

  function read(start) {
    tabs.select("document-text");
    reader.scrollTo(start);
  }

  function showMetadata() {
    const rows = Object.entries(shown.metadata)
      .map(([key, value]) => el("tr", {}, el("th", { scope: "row" }, el("bdi", {}, key)),
        el("td", {}, el("bdi", {}, typeof value === "string" ? value : JSON.stringify(value)))));
    const name = el("tr", {}, el("th", { scope: "row" }, "Id"), el("td", {}, el("bdi", {}, shown.doc_id)));
    fill(metadata, el("table", { class: "document-metadata" }, el("caption", { class: "visually-hidden" }, "Metadata"), el("tbody", {}, name, rows)));
  }

  return {
    element,
    show,
    clear,
    /** Take what the server says may be changed. */
    allow(reply) {
      if (reply.can_change === canChange) return;
      canChange = reply.can_change;
      if (shown) showHead();
    },
  };
}
