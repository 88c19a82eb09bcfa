// Deleting documents, after a question that says how much goes.

import { post } from "./api.js";
import { counted } from "./documents_list.js";
import { el, fill } from "./dom.js";
import { complain, say } from "./messages.js";

const NAMED = 5;

/**
 * Make the dialog.
 *
 * @param {{onDeleted: (docIds: string[]) => void}} options
 */
export function createDeleting({ onDeleted }) {
  const element = el("dialog", { aria: { labelledby: "delete-title" } });

  /** Ask whether to delete documents, by their ids with what is known of them, and do it. */
  function ask(documents) {
    const rows = [...documents.values()];
    const sentences = rows.reduce((sum, each) => sum + each.sentences, 0);
    const names = rows.slice(0, NAMED).map((each) => el("li", {}, el("bdi", {}, each.name ?? each.doc_id)));
    const cancel = el("button", { type: "button", on: { click: () => element.close() } }, "Cancel");
    const confirm = el("button", { type: "button", class: "danger", on: { click: () => run([...documents.keys()], confirm) } },
      `Delete ${counted(rows.length, "document")}`);
    fill(element,
      el("h2", { id: "delete-title" }, `Delete ${counted(rows.length, "document")} with ${counted(sentences, "sentence")}?`),
      el("ul", { class: "deleted-names" }, names, rows.length > NAMED ? el("li", {}, `and ${(rows.length - NAMED).toLocaleString()} more`) : null),
      el("p", { class: "muted" }, "They leave the index. Files that were added on this page are deleted too; other files stay where they are."),
      el("div", { class: "row dialog-end" }, cancel, confirm));
    element.showModal();
    cancel.focus();
  }

  async function run(docIds, confirm) {
    confirm.disabled = true;
    try {
      const { deleted } = await post("/api/documents/delete", { doc_ids: docIds });
      element.close();
      say(`${counted(deleted, "document")} deleted`);
      onDeleted(docIds);
    } catch (error) {
      confirm.disabled = false;
      element.close();
      complain(error);
    }
  }

  return { element, ask };
}
