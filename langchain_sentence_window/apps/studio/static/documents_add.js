// Adding files by a drop or a choice, and following the folders that the index remembers; with progress, and a stop.

import { get, post } from "./api.js";
import { counted } from "./documents_list.js";
import { upload } from "./documents_upload.js";
import { el, fill } from "./dom.js";
import { follow, stop } from "./jobs.js";
import { complain, say } from "./messages.js";

const KINDS = ["add", "sync"];

/**
 * Make what adds documents: `buttons` for the head of the view, `element` for the progress, `dialog`.
 *
 * @param {{onChange: () => void}} options Called when the index has changed.
 */
export function createAdding({ onChange }) {
  let allowed = null;
  let sources = [];

  const chooser = el("input", { type: "file", multiple: true, hidden: true, on: { change: onChosen } });
  const add = el("button", { type: "button", class: "main", hidden: true, on: { click: () => chooser.click() } }, "Add files…");
  const update = el("button", { type: "button", hidden: true, on: { click: askToFollow } }, "Update from folders…");
  const buttons = el("div", { class: "row" }, update, add, chooser);
  const element = el("div", { class: "documents-adding" });
  const dialog = el("dialog", { aria: { labelledby: "follow-title" } });
  const veil = el("div", { class: "drop-veil", hidden: true }, el("p", {}, "Drop files to add them to the index"));

  /** Take what the server says may be added. */
  function allow(reply) {
    allowed = reply.adding;
    add.hidden = allowed === null;
    chooser.accept = allowed?.suffixes.join(",") ?? "";
    add.title = allowed ? `${allowed.suffixes.join(" ")}, up to ${megabytes(allowed.max_bytes)}` : "";
    if (reply.can_change) showSources();
    else update.hidden = true;
  }

  async function showSources() {
    try { ({ sources } = await get("/api/sources")); } catch { sources = []; }
    update.hidden = sources.length === 0;
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
    const panel = createPanel(`Receiving ${counted(files.length, "file")}`, () => aborting.abort());
    const received = [];
    const refused = [];
    for (const [i, file] of files.entries()) {
      try {
        check(file);
        received.push(await upload(file, (part) => panel.show((i + part) / files.length, file.name), aborting.signal));
      } catch (error) {
        if (error.name === "AbortError") break;
        refused.push({ name: file.name, reason: error.message });
      }
    }
    if (!received.length || aborting.signal.aborted) {
      return panel.end(aborting.signal.aborted ? "Stopped; nothing was added" : "Nothing was added", refused);
    }
    try {
      await watch(await post("/api/documents/add", { uploads: received.map((each) => each.upload) }), panel, refused);
    } catch (error) { panel.end("Nothing was added", [...refused, { name: "", reason: error.message }]); }
  }

  function check(file) {
    const suffix = /\.[^.]*$/.exec(file.name)?.[0].toLowerCase() ?? "";
    if (!allowed.suffixes.includes(suffix)) throw new Error(`files of this kind can't be read; these can: ${allowed.suffixes.join(", ")}`);
    if (file.size > allowed.max_bytes) throw new Error(`it has more than ${megabytes(allowed.max_bytes)}; split it`);
  }

  /** Show a job until it ends. */
  async function watch(job, panel, refused = []) {
    panel.onStop(() => stop(job.number).catch(complain));
    const last = await follow(job.number, ({ progress }) => {
      if (progress.total) panel.show(progress.done / progress.total,
        `${progress.done + 1 > progress.total ? progress.total : progress.done + 1} of ${progress.total}: ${progress.name}`
        + (progress.sentences ? ` – ${counted(progress.sentences, "sentence")} read` : ""));
    });
    const result = last.result ?? last.progress;
    const failed = [...refused, ...(result.failed ?? [])];
    if (last.error) failed.push({ name: "", reason: last.error.message });
    panel.end((last.status === "stopped" ? "Stopped; " : "") + summaryOf(last.kind, result), failed, result.same ?? []);
    onChange();
  }

  async function resume() {
    try {
      const { jobs } = await get("/api/jobs");
      for (const job of jobs.filter((each) => each.status === "running" && KINDS.includes(each.kind))) {
        watch(job, createPanel(job.title, () => stop(job.number).catch(complain))).catch(complain);
      }
    } catch (error) { complain(error); }
  }

  function askToFollow() {
    const deletes = el("input", { type: "checkbox" });
    const cancel = el("button", { type: "button", on: { click: () => dialog.close() } }, "Cancel");
    const go = el("button", { type: "button", class: "main", on: { click: start } }, "Update");
    async function start() {
      dialog.close();
      try {
        const job = await post("/api/documents/sync", { delete: deletes.checked });
        await watch(job, createPanel(job.title, () => stop(job.number).catch(complain)));
      } catch (error) { complain(error); }
    }
    fill(dialog, el("h2", { id: "follow-title" }, "Update from folders"),
      el("p", {}, "New files of these places are added, and those that have changed are read again:"),
      el("ul", { class: "followed-sources" }, sources.map((each) => el("li", {}, el("bdi", {}, each)))),
      el("label", { class: "row" }, deletes, "Delete documents whose files have gone"),
      el("div", { class: "row dialog-end" }, cancel, go));
    dialog.showModal();
    go.focus();
  }

  /** Add a panel that shows how far something is. */
  function createPanel(title, onStop) {
    let ending = onStop;
    const heading = el("h3", {}, title);
    const bar = el("progress", { max: 1, value: 0, aria: { label: title } });
    const text = el("p", { class: "muted small path" });
    const button = el("button", { type: "button", on: { click: () => ending() } }, "Stop");
    const panel = el("section", { class: "card adding-panel", aria: { label: title } },
      el("div", { class: "row" }, el("div", { class: "grow" }, heading), button), bar, text);
    element.append(panel);
    return {
      onStop(action) { ending = action; },
      show(part, what) { bar.value = part; text.textContent = what; },
      end(summary, failed, same = []) {
        say(summary);
        heading.textContent = summary;
        bar.remove();
        text.remove();
        button.textContent = "Close";
        ending = () => panel.remove();
        const lines = [...failed.map(({ name, reason }) => el("li", { class: "error" }, name ? el("bdi", {}, `${name}: `) : null, reason)),
          ...same.map(({ name }) => el("li", {}, el("bdi", {}, name), ": the index has this text already"))];
        if (lines.length) panel.append(el("ul", { class: "small" }, lines));
      },
    };
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

  return { buttons, element, dialog, allow, resume, takeDropsOn };
}

function summaryOf(kind, result) {
  const parts = [`${counted(result.added ?? 0, "file")} added`];
  if (kind === "sync" && result.updated !== undefined) {
    parts.push(`${result.updated} updated`, `${result.unchanged} unchanged`, `${result.deleted} deleted`);
  }
  if (result.same?.length) parts.push(`${result.same.length} in the index already`);
  if (result.failures) parts.push(`${result.failures} failed`);
  return parts.join(", ");
}

function megabytes(bytes) {
  return `${Math.floor(bytes / 1_000_000)} MB`;
}
