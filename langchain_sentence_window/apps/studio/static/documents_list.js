// The table of documents: searched and sorted by the server, shown page by page, chosen by checkbox.

import { get } from "./api.js";
import { el, fill } from "./dom.js";
import { complain, say } from "./messages.js";

const ROWS = 100;
const TYPING_MS = 150;
const COLUMNS = [
  { sort: "name", title: "Name" },
  { sort: "sentences", title: "Sentences" },
  { sort: "pages", title: "Pages" },
  { sort: "added", title: "Added" },
];

/**
 * Make the list.
 *
 * @param {Object} options
 * @param {(docId: string) => void} options.onOpen Called when a document is chosen to be read.
 * @param {(search: string) => void} options.onSearch Called when the user has typed something else.
 * @param {(chosen: Map<string, {sentences: number}>) => void} options.onDelete Called to delete what is checked.
 * @param {(reply: Object) => void} options.onLoad Called with each reply of the server.
 */
export function createList({ onOpen, onSearch, onDelete, onLoad }) {
  let wanted = { search: "", sort: "name", order: "up", first: 0 };
  let reply = null;
  let current = null;
  let aborting = null;
  let typing = null;
  /** What is checked, on all pages of the list: the documents' rows, as far as they were seen, by their ids. */
  const chosen = new Map();

  const input = el("input", { type: "search", placeholder: "Search by name, path or title", aria: { label: "Search the documents" },
    autocomplete: "off", spellcheck: false, on: { input: onInput } });
  const status = el("p", { class: "muted small", role: "status" });
  const all = el("input", { type: "checkbox", aria: { label: "Choose all documents on this page" }, on: { change: chooseShown } });
  const heads = new Map(COLUMNS.map(({ sort, title }) => [sort, el("th", { scope: "col", class: `column-${sort}` },
    el("button", { type: "button", class: "quiet sort", on: { click: () => sortBy(sort) } }, title))]));
  const body = el("tbody");
  const table = el("table", { class: "documents-table" },
    el("caption", { class: "visually-hidden" }, "Documents"),
    el("thead", {}, el("tr", {}, el("th", { scope: "col", class: "check" }, all), [...heads.values()])), body);
  const empty = el("p", { class: "empty", hidden: true });
  const previous = el("button", { type: "button", on: { click: () => page(-ROWS) } }, "Previous");
  const next = el("button", { type: "button", on: { click: () => page(ROWS) } }, "Next");
  const range = el("span", { class: "muted number" });
  const pager = el("nav", { class: "row pager", aria: { label: "Pages of the list" }, hidden: true }, previous, range, next);
  const bar = el("div", { class: "row chosen-bar", hidden: true });
  const element = el("div", { class: "documents-list" }, input, status, bar, table, empty, pager);

  function onInput() {
    clearTimeout(typing);
    typing = setTimeout(() => { wanted = { ...wanted, search: input.value.trim(), first: 0 }; onSearch(wanted.search); load(); }, TYPING_MS);
  }

  function sortBy(sort) {
    const order = wanted.sort === sort ? (wanted.order === "up" ? "down" : "up") : sort === "name" ? "up" : "down";
    wanted = { ...wanted, sort, order, first: 0 };
    load();
  }

  function page(step) {
    wanted = { ...wanted, first: Math.max(0, wanted.first + step) };
    load().then(() => table.scrollIntoView({ block: "nearest" }));
  }

  /** Ask the server for what is wanted now; the newest call wins. */
  async function load() {
    aborting?.abort();
    const mine = aborting = new AbortController();
    try {
      const found = await get("/api/documents", { ...wanted, limit: ROWS }, { signal: mine.signal });
      if (!found.documents.length && wanted.first) {
        wanted = { ...wanted, first: 0 };
        return load();
      }
      reply = found;
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
    empty.textContent = total ? "No document has these words in its name, path or title."
      : reply.adding ? "There are no documents yet. Drop files here, or choose them with “Add files”." : "There are no documents.";
    status.textContent = `${found === total ? "" : `${found.toLocaleString()} of `}${counted(total, "document")}, ${counted(sentences, "sentence")}`;
    pager.hidden = found <= ROWS;
    range.textContent = `${(wanted.first + 1).toLocaleString()}–${(wanted.first + documents.length).toLocaleString()} of ${found.toLocaleString()}`;
    previous.disabled = wanted.first === 0;
    next.disabled = wanted.first + ROWS >= found;
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
        el("button", { type: "button", class: "quiet document-open", on: { click: () => onOpen(document.doc_id) } }, document.name),
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

  async function chooseFound() {
    try {
      const found = await get("/api/documents/ids", { search: wanted.search });
      found.doc_ids.forEach((id, i) => chosen.set(id, chosen.get(id) ?? { doc_id: id, sentences: found.sentences[i] }));
      show();
      say(`${counted(chosen.size, "document")} chosen`);
    } catch (error) { complain(error); }
  }

  function showChosen() {
    const shown = reply?.documents ?? [];
    const count = shown.filter((each) => chosen.has(each.doc_id)).length;
    all.checked = count > 0 && count === shown.length;
    all.indeterminate = count > 0 && count < shown.length;
    bar.hidden = chosen.size === 0;
    if (bar.hidden) return;
    const wasInside = bar.contains(document.activeElement);
    fill(bar, el("strong", {}, `${chosen.size.toLocaleString()} chosen`),
      el("button", { type: "button", class: "danger", on: { click: () => onDelete(new Map(chosen)) } }, "Delete…"),
      all.checked && reply.found > chosen.size
        ? el("button", { type: "button", class: "quiet", on: { click: chooseFound } }, `Choose all ${reply.found.toLocaleString()} found`) : null,
      el("button", { type: "button", class: "quiet", on: { click: () => { chosen.clear(); show(); all.focus(); } } }, "Choose none"));
    if (wasInside) bar.querySelector("button").focus();
  }

  return {
    element,
    load,
    /** Search for something, without a call. */
    search(text) {
      if (text === wanted.search) return;
      input.value = text;
      wanted = { ...wanted, search: text, first: 0 };
    },
    /** Mark the document that is shown beside the list. */
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

/** Return a number with what it counts. */
export function counted(number, what) {
  return `${number.toLocaleString()} ${what}${number === 1 ? "" : "s"}`;
}

/** Return a day as people write it; nothing if it isn't known. */
export function dayOf(time) {
  return time ? new Date(time).toLocaleDateString(undefined, { dateStyle: "medium" }) : "";
}
