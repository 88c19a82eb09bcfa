// Documents: all that are in the index; one of them beside the list; adding, following and deleting them.

import { createAdding } from "../documents_add.js";
import { createDeleting } from "../documents_delete.js";
import { createDetail } from "../documents_detail.js";
import { createList } from "../documents_list.js";
import { el } from "../dom.js";
import { addKey } from "../keys.js";
import { complain } from "../messages.js";

export const title = "Documents";

export function mount(container, app) {
  /** What the address bar says. */
  let state = { search: "", doc: null };

  const list = createList({
    onOpen: (docId) => { remember({ doc: docId }); open(docId); },
    onSearch: (search) => remember({ search }),
    onDelete: (chosen) => deleting.ask(chosen),
    onLoad: (reply) => { adding.allow(reply); detail.allow(reply); },
  });
  const detail = createDetail({
    onClose: () => { split.classList.remove("reads"); remember({ doc: null }); list.setCurrent(null); list.focus(); },
    onDelete: (row) => deleting.ask(new Map([[row.doc_id, row]])),
  });
  const adding = createAdding({ onChange: changed });
  const deleting = createDeleting({
    onDeleted(docIds) {
      list.forget(docIds);
      if (docIds.includes(state.doc)) { split.classList.remove("reads"); remember({ doc: null }); detail.clear(); }
      changed();
    },
  });
  const left = el("section", { class: "left", aria: { label: "List of documents" } },
    el("div", { class: "row documents-head" }, el("h2", { class: "grow" }, title), adding.buttons),
    adding.element, list.element);
  const split = el("div", { class: "split documents" }, left, detail.element);
  container.classList.add("flush");
  container.append(split, deleting.element, adding.dialog);
  adding.takeDropsOn(container);
  addKey("/", "Search the documents", list.focus, () => !container.hidden);
  adding.resume();

  function changed() {
    list.load();
    app.refresh().catch(complain);
  }

  function open(docId) {
    list.setCurrent(docId);
    split.classList.add("reads");
    detail.show(docId).catch(complain);
  }

  function remember(change) {
    state = { ...state, ...change };
    app.remember("documents", Object.fromEntries(Object.entries(state).filter(([, value]) => value)));
  }

  return {
    show({ search, doc }) {
      if (search === undefined && doc === undefined && (state.search || state.doc)) remember({});
      else {
        const opens = doc !== undefined && doc !== state.doc;
        state = { search: search ?? "", doc: doc ?? null };
        list.search(state.search);
        if (opens) open(doc);
        else if (doc === undefined) split.classList.remove("reads");
      }
      list.load();
    },
  };
}
