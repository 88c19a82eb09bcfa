// Documents: all that are in the index; one of them next to the list; adding, following and deleting them.

import { get, post } from "./api.js";
import { createAdding } from "./documents_add.js";
import { el, fill } from "./dom.js";
import { createReader } from "./reader.js";
import { addKey, button, complain, confirm, createTabs, isNarrow, say } from "./widgets.js";
import { count } from "./words.js";

export const title = "Documents";

const TYPING_MS = 150;
const NAMED = 5;
const COLUMNS = [["name", "Name"], ["sentences", "Sentences"], ["pages", "Pages"], ["added", "Added"]];

export function mount(container, app) {
  /** What the address bar says. */
  let state = { search: "", doc: null };

  const list = createList({
    onOpen: (docId) => { remember({ doc: docId }); open(docId); },
    onSearch: (search) => remember({ search }),
    onDelete: (chosen) => remove(chosen),
    onAdd: () => adding.choose(),
    onLoad: (reply) => adding.allow(reply),
  });
  const detail = createDetail({
    app,
    onClose: close,
    onDelete: (row) => remove(new Map([[row.doc_id, row]])),
  });
  const adding = createAdding({ onChange: changed });
  const remove = (chosen) => askToDelete(chosen, (docIds) => {
    list.forget(docIds);
    if (docIds.includes(state.doc)) { split.classList.remove("reads"); remember({ doc: null }); detail.clear(); }
    changed();
  });
  const left = el("section", { class: "left", aria: { label: "List of documents" } },
    el("div", { class: "row documents-head" }, el("h2", { class: "grow" }, title), adding.buttons),
    adding.element, list.element);
  const split = el("div", { class: "split documents" }, left, detail.element);
  container.classList.add("flush");
  container.append(split);
  adding.takeDropsOn(container);
  addKey("/", "Search the documents", list.focus, () => !container.hidden);
  addKey("a", "Save the answer: what is selected, else the sentence", detail.answer, () => !container.hidden && state.doc !== null);

  function changed() {
    list.load();
    app.refresh().catch(complain);
  }

  function open(docId) {
    list.setCurrent(docId);
    split.classList.add("reads");
    detail.show(docId).catch(complain);
  }

  /** Write changes into the address bar; opening a document where none is open is a step to go back from. */
  function remember(change) {
    const isOpened = state.doc === null && Boolean(change.doc);
    state = { ...state, ...change };
    app.remember("documents", Object.fromEntries(Object.entries(state).filter(([, value]) => value)), { isOpened });
  }

  function close() {
    split.classList.remove("reads");
    if (history.state?.isOpened) history.back();
    else remember({ doc: null });
    list.setCurrent(null);
    list.focus();
  }

  return {
    show({ search = "", doc = null }) {
      const opens = doc !== null && doc !== state.doc;
      if (doc === null && state.doc !== null) {
        detail.clear();
        list.setCurrent(null);
      }
      state = { search, doc };
      list.search(search);
      if (opens) open(doc);
      else if (doc === null) split.classList.remove("reads");
      list.load();
    },
  };
}

/**
 * Make the list.
 *
 * @param {Object} options
 * @param {(docId: string) => void} options.onOpen Called when a document is chosen to be read.
 * @param {(search: string) => void} options.onSearch Called when the user has typed something else.
 * @param {(chosen: Map<string, {sentences: number}>) => void} options.onDelete Called to delete what is checked.
 * @param {() => void} options.onAdd Called to add files.
 * @param {(reply: Object) => void} options.onLoad Called with each reply of the server.
 */
function createList({ onOpen, onSearch, onDelete, onAdd, onLoad }) {
  let wanted = { search: "", sort: "name", order: "up" };
  let reply = null;
  let current = null;
  let aborting = null;
  let typing = null;
  /** The checked documents, also those that the search doesn't show: their rows by id. */
  const chosen = new Map();

  const input = el("input", { type: "search", placeholder: "Search by name, path or title", aria: { label: "Search the documents" },
    autocomplete: "off", spellcheck: false, on: { input: onInput } });
  const status = el("p", { class: "muted small", role: "status" });
  const all = el("input", { type: "checkbox", aria: { label: "Choose all documents on this page" }, on: { change: chooseShown } });
  const heads = new Map(COLUMNS.map(([sort, title]) => [sort, el("th", { scope: "col", class: `column-${sort}` },
    button(title, () => sortBy(sort), "quiet sort", { repeats: true }))]));
  const body = el("tbody");
  const table = el("table", { class: "documents-table" },
    el("caption", { class: "visually-hidden" }, "Documents"),
    el("thead", {}, el("tr", {}, el("th", { scope: "col", class: "check" }, all), [...heads.values()])), body);
  const empty = el("div", { class: "empty", hidden: true });
  const bar = el("div", { class: "row chosen-bar", hidden: true });
  const element = el("div", { class: "documents-list" }, input, status, bar, table, empty);

  function onInput() {
    clearTimeout(typing);
    typing = setTimeout(() => { wanted = { ...wanted, search: input.value.trim() }; onSearch(wanted.search); load(); }, TYPING_MS);
  }

  function sortBy(sort) {
    const order = wanted.sort === sort ? (wanted.order === "up" ? "down" : "up") : sort === "name" ? "up" : "down";
    wanted = { ...wanted, sort, order };
    load();
  }

  /** Ask the server for what is wanted now; the newest call wins. */
  async function load() {
    aborting?.abort();
    const mine = aborting = new AbortController();
    try {
      reply = await get("/api/documents", wanted, { signal: mine.signal });
      onLoad(reply);
      show();
    } catch (error) { complain(error); }
  }

  function show() {
    const { documents, found, total, sentences, can_change: canChange } = reply;
    for (const [sort, head] of heads) head.setAttribute("aria-sort", wanted.sort !== sort ? "none" : wanted.order === "up" ? "ascending" : "descending");
    fill(body, documents.map((each) => rowOf(each)));
    table.classList.toggle("fixed", !canChange);
    table.hidden = !documents.length;
    empty.hidden = documents.length > 0;
    fill(empty, el("p", {}, total ? "No document has these words in its name, path or title."
      : reply.adding ? "There are no documents yet. Drop files here, or choose them." : "There are no documents."),
    total ? button("Show all", () => { input.value = ""; onInput(); }) : reply.adding ? button("Add files…", onAdd, "main") : null);
    const part = found === total ? "" : `${found.toLocaleString()} of `;
    const shown = found > documents.length ? `. The first ${documents.length} are shown; search, or sort, for others` : "";
    status.textContent = `${part}${count(total, "document")}, ${count(sentences, "sentence")}${shown}`;
    showChosen();
  }

  function rowOf(document) {
    const isCurrent = document.doc_id === current;
    const place = document.source ?? document.doc_id;
    const check = el("input", { type: "checkbox", checked: chosen.has(document.doc_id), aria: { label: `Choose ${document.name}` },
      on: { change: () => { mark(document, check.checked); showChosen(); } } });
    return el("tr", { data: { doc: document.doc_id }, aria: isCurrent ? { current: "true" } : {} },
      el("td", { class: "check" }, check),
      el("td", { class: "column-name" },
        button(document.name, () => onOpen(document.doc_id), "quiet document-open"),
        document.title ? el("div", { class: "small" }, el("bdi", {}, document.title)) : null,
        place === document.name ? null : el("div", { class: "muted small path", title: place }, el("bdi", {}, place))),
      el("td", { class: "number column-sentences" }, document.sentences.toLocaleString()),
      el("td", { class: "number column-pages" }, document.pages?.toLocaleString() ?? ""),
      el("td", { class: "column-added small", title: document.added ? new Date(document.added).toLocaleString() : "" }, dayOf(document.added)));
  }

  // Choosing

  function mark(document, isChosen) {
    if (isChosen) chosen.set(document.doc_id, document);
    else chosen.delete(document.doc_id);
  }

  function chooseShown() {
    for (const each of reply?.documents ?? []) mark(each, all.checked);
    for (const check of body.querySelectorAll("input")) check.checked = all.checked;
    showChosen();
  }

  function showChosen() {
    const shown = reply?.documents ?? [];
    const checked = shown.filter((each) => chosen.has(each.doc_id)).length;
    all.checked = checked > 0 && checked === shown.length;
    all.indeterminate = checked > 0 && checked < shown.length;
    bar.hidden = chosen.size === 0;
    if (bar.hidden) return;
    const wasInside = bar.contains(document.activeElement);
    fill(bar, el("strong", {}, `${chosen.size.toLocaleString()} chosen`),
      button("Delete…", () => onDelete(new Map(chosen)), "danger"),
      button("Choose none", () => { chosen.clear(); show(); all.focus(); }, "quiet"));
    if (wasInside) bar.querySelector("button").focus();
  }

  return {
    element,
    load,
    /** Search for something, without a call. */
    search(text) {
      if (text === wanted.search) return;
      input.value = text;
      wanted = { ...wanted, search: text };
    },
    /** Mark the document that is shown next to the list. */
    setCurrent(docId) {
      current = docId;
      for (const each of body.children) {
        if (each.dataset.doc === docId) each.setAttribute("aria-current", "true");
        else each.removeAttribute("aria-current");
      }
    },
    /** Uncheck documents that are gone. */
    forget(docIds) { for (const each of docIds) chosen.delete(each); },
    focus() { input.focus(); },
  };
}

/** Return a day as people write it; nothing if it isn't known. */
function dayOf(time) {
  return time ? new Date(time).toLocaleDateString(undefined, { dateStyle: "medium" }) : "";
}

/**
 * Make the right side of the view.
 *
 * @param {Object} options
 * @param {Object} options.app What views share.
 * @param {() => void} options.onClose Called when the user goes back to the list.
 * @param {(row: Object) => void} options.onDelete Called to delete the document that is shown.
 */
function createDetail({ app, onClose, onDelete }) {
  let shown = null;
  let aborting = null;

  const reader = createReader({ app, hasInput: true });
  const metadata = el("div");
  const head = el("header", { class: "document-head" });
  const tabs = createTabs("The document", [
    { id: "document-text", title: "Text", panel: reader.element },
    { id: "document-metadata", title: "Metadata", panel: metadata },
  ]);
  const hint = el("p", { class: "muted hint" }, "Choose a document to read it.");
  const back = button("← Back to the list", onClose, "back");
  const element = el("section", { class: "right", aria: { label: "Document" } }, back, hint, head, tabs.element);
  clear();

  function clear() {
    aborting?.abort();
    shown = null;
    fill(head);
    fill(metadata);
    reader.close();
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
    showMetadata();
    if (isNarrow()) back.focus();
    reader.ask(app.question ?? "");
    await reader.open(docId);
  }

  function showHead() {
    const facts = [count(shown.sentences, "sentence"), shown.pages ? count(shown.pages, "page") : null,
      shown.added ? `added ${dayOf(shown.added)}` : null].filter(Boolean).join(", ");
    const remove = button("Delete…", () => onDelete(shown), "danger");
    fill(head, el("div", { class: "row" }, el("h2", { class: "grow" }, el("bdi", {}, shown.title ?? shown.name)), app.about?.is_read_only === false ? remove : null),
      el("p", { class: "muted small path" }, el("bdi", {}, shown.source ?? shown.doc_id)), el("p", { class: "muted small" }, facts));
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
    answer: () => reader.answer(),
  };
}

/** Ask whether to delete documents, by their ids with what is known of them, and do it. */
function askToDelete(documents, onDeleted) {
  const rows = [...documents.values()];
  const sentences = rows.reduce((sum, each) => sum + each.sentences, 0);
  const names = rows.slice(0, NAMED).map((each) => el("li", {}, el("bdi", {}, each.name ?? each.doc_id)));
  confirm({
    title: `Delete ${count(rows.length, "document")} with ${count(sentences, "sentence")}?`, agree: `Delete ${count(rows.length, "document")}`, kind: "danger",
    content: [
      el("ul", { class: "deleted-names" }, names, rows.length > NAMED ? el("li", {}, `and ${(rows.length - NAMED).toLocaleString()} more`) : null),
      el("p", { class: "muted" }, "They leave the index. Files that were added on this page are deleted too; other files stay where they are."),
    ],
    async action() {
      const { deleted } = await post("/api/documents/delete", { doc_ids: [...documents.keys()] });
      say(`${count(deleted, "document")} deleted`);
      onDeleted([...documents.keys()]);
    },
  });
}
