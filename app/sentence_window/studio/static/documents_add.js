// Adding files by a drop or a choice, and following the folders that the index remembers; with progress, and a stop.

import { send } from "./api.js";
import { el } from "./dom.js";
import { createProgress } from "./jobs.js";
import { button, complain, confirm, say } from "./widgets.js";
import { count } from "./words.js";

/**
 * Make what adds documents: `buttons` for the head of the view, `element` for the progress.
 *
 * @param {{onChange: () => void}} options Called when the index has changed.
 */
export function createAdding({ onChange }) {
  let allowed = null;
  let sources = [];

  const chooser = el("input", { type: "file", multiple: true, hidden: true, on: { change: onChosen } });
  const add = button("Add files…", choose, "main", { hidden: true });
  const update = button("Update from folders…", askToFollow, "", { hidden: true });
  const buttons = el("div", { class: "row" }, update, add, chooser);
  const element = el("div", { class: "documents-adding" });
  const veil = el("div", { class: "drop-veil", hidden: true }, el("p", {}, "Drop files to add them to the index"));

  /** Take what the server says may be added. */
  function allow(reply) {
    allowed = reply.adding;
    add.hidden = allowed === null;
    chooser.accept = allowed?.suffixes.join(",") ?? "";
    add.title = allowed ? `${allowed.suffixes.join(" ")}, up to ${megabytes(allowed.max_bytes)}` : "";
    sources = reply.sources;
    update.hidden = sources.length === 0;
  }

  function choose() {
    chooser.click();
  }

  function onChosen() {
    const files = [...chooser.files];
    chooser.value = "";
    addFiles(files);
  }

  /** Add files, one after the other. */
  async function addFiles(files) {
    if (!files.length) return;
    if (!allowed) return complain(new Error("Nothing can be added on this page."));
    const panel = addPanel(`Adding ${count(files.length, "file")}`);
    const result = { added: 0, failed: [], same: [] };
    for (const [i, file] of files.entries()) {
      try {
        await check(file);
        panel.show(i / files.length, `${i + 1} of ${files.length}: ${file.name}`);
        const { added } = await send("/api/documents/add", { name: file.name }, file, { signal: panel.signal });
        if (added) result.added += 1;
        else result.same.push(file.name);
      } catch (error) {
        if (error.name === "AbortError") break;
        result.failed.push({ name: file.name, reason: error.message });
      }
    }
    end(panel, result);
    onChange();
  }

  async function check(file) {
    const suffix = /\.[^.]*$/.exec(file.name)?.[0].toLowerCase() ?? "";
    if (!allowed.suffixes.includes(suffix)) throw new Error(`files of this kind can't be read; these can: ${allowed.suffixes.join(", ")}`);
    if (file.size > allowed.max_bytes) throw new Error(`it has more than ${megabytes(allowed.max_bytes)}; split it`);
    try { await file.slice(0, 1).arrayBuffer(); } catch { throw new Error("it can't be read, or it is a folder"); }
  }

  async function follow(given) {
    const panel = addPanel("Update from folders");
    try {
      end(panel, await panel.run("/api/documents/sync", given, ({ done, total, name }) => `${Math.min(done + 1, total)} of ${total}: ${name}`));
    } catch (error) {
      end(panel, { failed: error.name === "AbortError" ? [] : [{ name: "", reason: error.message }] });
    }
    onChange();
  }

  function askToFollow() {
    const deletes = el("input", { type: "checkbox" });
    confirm({
      title: "Update from folders", agree: "Update",
      content: [
        el("p", {}, "New files of these places are added, and those that have changed are read again:"),
        el("ul", { class: "followed-sources" }, sources.map((each) => el("li", {}, el("bdi", {}, each)))),
        el("label", { class: "row" }, deletes, "Delete documents whose files have gone"),
      ],
      async action() { follow({ delete: deletes.checked }); },
    });
  }

  function addPanel(title) {
    const panel = createProgress(title);
    element.append(panel.element);
    return panel;
  }

  function end(panel, { failed, same = [], ...counts }) {
    const summary = summaryOf(counts, failed, same, panel.signal.aborted);
    say(summary);
    const lines = [...failed.map(({ name, reason }) => el("li", { class: "error" }, name ? el("bdi", {}, `${name}: `) : null, reason)),
      ...same.map((name) => el("li", {}, el("bdi", {}, name), ": the index has this text already"))];
    panel.end(summary, lines.length ? el("ul", { class: "small" }, lines) : null);
  }

  /** Let files be dropped anywhere on an element. */
  function takeDropsOn(target) {
    target.append(veil);
    const hasFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
    target.addEventListener("dragenter", (event) => { if (hasFiles(event) && allowed) veil.hidden = false; });
    target.addEventListener("dragover", (event) => { if (hasFiles(event)) event.preventDefault(); });
    target.addEventListener("dragleave", (event) => { if (!target.contains(event.relatedTarget)) veil.hidden = true; });
    target.addEventListener("drop", (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault(); // else the browser opens the file
      veil.hidden = true;
      addFiles([...event.dataTransfer.files]);
    });
  }

  return { buttons, element, allow, choose, takeDropsOn };
}

function summaryOf({ added = 0, updated, unchanged, deleted, empty, failures }, failed, same, isStopped) {
  const parts = [isStopped ? "Stopped" : null, `${count(added, "file")} added`];
  if (updated !== undefined) parts.push(`${updated} updated`, `${unchanged} unchanged`, `${deleted} deleted`);
  if (same.length) parts.push(`${same.length} in the index already`);
  if (empty) parts.push(`${empty} without text`);
  if (failed.length) parts.push(`${failures ?? failed.length} failed`);
  return parts.filter(Boolean).join(", ");
}

function megabytes(bytes) {
  return `${Math.floor(bytes / 1_000_000)} MB`;
}
