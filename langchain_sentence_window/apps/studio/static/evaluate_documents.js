// Choose the document of a question, by a part of its name.

import { get } from "./api.js";
import { el, fill } from "./dom.js";
import { complain } from "./messages.js";

const SHOWN_ROWS = 6;
const WAIT_MS = 150;

/**
 * Make the choice of a document.
 *
 * @param {(docId: string) => void} onChoose
 */
export function createDocumentChoice(onChoose) {
  const search = el("input", { type: "search", placeholder: "A part of its name", autocomplete: "off", on: { input: later, keydown: onKey } });
  const found = el("select", { size: SHOWN_ROWS, class: "grow", aria: { label: "Documents found" }, on: { dblclick: choose, keydown: (event) => { if (event.key === "Enter") { event.preventDefault(); choose(); } } } });
  const count = el("p", { class: "muted small", role: "status" });
  const open = el("button", { type: "button", on: { click: choose } }, "Open this document");
  const element = el("div", { class: "document-choice" }, el("label", {}, "Document", search), found, count, open);
  let call = null;
  let timer = 0;

  function later() {
    clearTimeout(timer);
    timer = setTimeout(find, WAIT_MS);
  }

  async function find() {
    call?.abort();
    call = new AbortController();
    try {
      const { documents, total } = await get("/api/questions/documents", { name: search.value }, call);
      fill(found, documents.map(({ doc_id: id, title }, i) => el("option", { value: id, selected: i === 0 },
        title && title !== id ? `${id} – ${title}` : id)));
      count.textContent = total > documents.length ? `The first ${documents.length} of ${total.toLocaleString()} documents; write more of the name.`
        : `${total.toLocaleString()} document${total === 1 ? "" : "s"}`;
      open.disabled = !documents.length;
    } catch (error) {
      complain(error);
    }
  }

  function onKey(event) {
    if (event.key === "ArrowDown") found.focus();
    else if (event.key === "Enter") choose();
    else return;
    event.preventDefault();
  }

  function choose() {
    if (found.value) onChoose(found.value);
  }

  return {
    element,
    /** Show the documents, and put the focus into the search. */
    start() {
      find();
      search.focus();
    },
  };
}
