// Adding files by a drop or a choice, and following the folders that the index remembers; with progress, and a stop.

import { get, post, send } from "./api.js";
import { el } from "./dom.js";
import { createProgress } from "./jobs.js";
import { button, complain, confirm, say } from "./widgets.js";
import { count } from "./words.js";

const KINDS = ["add", "sync"];

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
  const resumed = resume();

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

  /** Upload files one after the other, then add those that arrived. */
  async function addFiles(files) {
    if (!files.length) return;
    if (!allowed) return complain(new Error("Nothing can be added on this page."));
    const aborting = new AbortController();
    const panel = addPanel(`Receiving ${count(files.length, "file")}`, () => aborting.abort());
    const received = [];
    const refused = [];
    for (const [i, file] of files.entries()) {
      try {
        await check(file);
        panel.show(i / files.length, file.name);
        received.push(await send("/api/documents/upload", { name: file.name }, file, { signal: aborting.signal }));
      } catch (error) {
        if (error.name === "AbortError") break;
        refused.push({ name: file.name, reason: error.message });
      }
    }
    if (!received.length || aborting.signal.aborted) {
      return end(panel, aborting.signal.aborted ? "Stopped; nothing was added" : "Nothing was added", refused);
    }
    await resumed; // else a job that begins meanwhile would be watched twice
    try {
      await watch(await post("/api/documents/add", { uploads: received.map((each) => each.upload) }), panel, refused);
    } catch (error) { end(panel, "Nothing was added", [...refused, { name: "", reason: error.message }]); }
  }

  async function check(file) {
    const suffix = /\.[^.]*$/.exec(file.name)?.[0].toLowerCase() ?? "";
    if (!allowed.suffixes.includes(suffix)) throw new Error(`files of this kind can't be read; these can: ${allowed.suffixes.join(", ")}`);
    if (file.size > allowed.max_bytes) throw new Error(`it has more than ${megabytes(allowed.max_bytes)}; split it`);
    try { await file.slice(0, 1).arrayBuffer(); } catch { throw new Error("it can't be read, or it is a folder"); }
  }

  /** Show a job until it ends. */
  async function watch(job, panel, refused = []) {
    const last = await panel.watch(job, ({ done, total, name, sentences }) => `${Math.min(done + 1, total)} of ${total}: ${name}`
      + (sentences ? ` – ${count(sentences, "sentence")} read` : ""));
    const result = last.result ?? last.progress;
    const failed = [...refused, ...(result.failed ?? [])];
    if (last.error) failed.push({ name: "", reason: last.error.message });
    end(panel, (last.status === "stopped" ? "Stopped; " : "") + summaryOf(last.kind, result), failed, result.same ?? []);
    onChange();
  }

  /** Watch what runs already. */
  async function resume() {
    try {
      const { jobs } = await get("/api/jobs");
      for (const job of jobs.filter((each) => each.status === "running" && KINDS.includes(each.kind))) {
        watch(job, addPanel(job.title)).catch(complain);
      }
    } catch (error) { complain(error); }
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
      async action() {
        await resumed;
        const job = await post("/api/documents/sync", { delete: deletes.checked });
        watch(job, addPanel(job.title)).catch(complain);
      },
    });
  }

  function addPanel(title, onStop) {
    const panel = createProgress(title, onStop);
    element.append(panel.element);
    return panel;
  }

  function end(panel, summary, failed, same = []) {
    say(summary);
    const lines = [...failed.map(({ name, reason }) => el("li", { class: "error" }, name ? el("bdi", {}, `${name}: `) : null, reason)),
      ...same.map(({ name }) => el("li", {}, el("bdi", {}, name), ": the index has this text already"))];
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

function summaryOf(kind, result) {
  const parts = [`${count(result.added ?? 0, "file")} added`];
  if (kind === "sync" && result.updated !== undefined) {
    parts.push(`${result.updated} updated`, `${result.unchanged} unchanged`, `${result.deleted} deleted`);
  }
  if (result.same?.length) parts.push(`${result.same.length} in the index already`);
  if (result.empty) parts.push(`${result.empty} without text`);
  if (result.failures) parts.push(`${result.failures} failed`);
  return parts.join(", ");
}

function megabytes(bytes) {
  return `${Math.floor(bytes / 1_000_000)} MB`;
}
