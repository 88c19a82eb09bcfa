// Whether settings would help: all questions are asked with them, and they become the default once someone has agreed.

import { post } from "./api.js";
import { el, fill } from "./dom.js";
import { createProgress } from "./jobs.js";
import { forgetDescription, nameOfSetting, readDescription, written } from "./settings_form.js";
import { button, complain, confirm, say } from "./widgets.js";
import { brief, count, percent, points } from "./words.js";

const SHOWN = 8;

/**
 * Make the panel of a trial: it asks all questions with settings, and with others in their place.
 *
 * @param {Object} options
 * @param {Object} options.app What views share.
 * @param {() => void} options.onKept Called when the other settings have become the default.
 * @returns {{element: HTMLElement, start: (settings: Object, other: Object) => Promise<void>}}
 */
export function createTrial({ app, onKept }) {
  const element = el("div", { class: "trial", hidden: true, tabIndex: -1, aria: { live: "polite" } });
  let turn = 0;

  async function start(settings, other) {
    const mine = turn += 1;
    const panel = createProgress("Would this help?");
    element.hidden = false;
    fill(element, panel.element);
    try {
      const result = await panel.run("/api/trial", { settings, other }, ({ done, total }) => `${done.toLocaleString()} of ${total.toLocaleString()} asked, with both settings`);
      if (mine !== turn) return;
      panel.end("Would this help?", ...outcome(result, settings, other));
    } catch (error) {
      if (error.name === "AbortError") panel.end("It was stopped.");
      else panel.end("Would this help?", el("p", { class: "error" }, error.message));
    }
    if (mine === turn) element.focus();
  }

  function outcome({ count: asked, left_out: leftOut, recall, used, difference, won, lost, remark }, settings, other) {
    const fared = (rows, what, with_) => (rows.length ? el("details", { open: rows.length <= SHOWN }, el("summary", {}, `${count(rows.length, "question")} ${what}`),
      el("ul", { class: "plain small" }, rows.map(({ question, before, after }) => el("li", {},
        button(brief(question), () => app.go("ask", { q: question, settings: JSON.stringify(with_) }), "quiet small sentence", { dir: "auto" }),
        el("span", { class: "muted number" }, ` ${percent(before)} → ${percent(after)} %`))))) : null);
    const [kind, verdict] = difference.low > 0 ? ["better", "Yes"] : difference.high < 0 ? ["worse", "No"] : ["", won.length || lost.length ? "Not clearly" : "It changes nothing"];
    const size = (number) => Math.round(number).toLocaleString();
    return [
      el("p", {}, el("b", { class: kind }, `${verdict}: `), `${won.length} of ${count(asked, "question")} ${won.length === 1 ? "wins" : "win"}, ${lost.length} ${lost.length === 1 ? "loses" : "lose"}.`),
      el("p", { class: "small" }, `Of the gold, ${percent(recall[0])} → ${percent(recall[1])} % is returned: ${points(difference)} points, in ${size(used[0])} → ${size(used[1])} characters a question.`),
      remark || leftOut ? el("p", { class: "muted small" }, [remark, leftOut ? `${count(leftOut, "question")} without gold in the index left out.` : ""].join(" ")) : null,
      fared(won, won.length === 1 ? "wins" : "win", other), fared(lost, lost.length === 1 ? "loses" : "lose", settings),
      app.about?.is_read_only ? null : el("div", { class: "row" }, button("Use as default…", () => keep(other, onKept), won.length > lost.length ? "main small" : "small")),
    ];
  }

  return { element, start };
}

/** Show what settings would change as the default, and make them so if the user agrees; `onKept` is called then. */
export async function keep(settings, onKept = () => {}) {
  try {
    const [{ folder, changes, left_out: leftOut }, description] = await Promise.all([post("/api/settings/changes", { settings }), readDescription()]);
    const name = (each) => nameOfSetting(each, description);
    const cell = (value) => el("td", {}, brief(written(value), 200));
    confirm({
      title: "Use these settings as the default?", agree: folder ? "Write them" : "Use them",
      content: [
        changes.length ? el("table", {}, el("thead", {}, el("tr", {}, ["Setting", "Until now", "From now on"].map((each) => el("th", { scope: "col" }, each)))),
          el("tbody", {}, changes.map(({ name: each, before, after }) => el("tr", {}, el("th", { scope: "row" }, name(each)), cell(before), cell(after))))) : el("p", {}, "They are the default already."),
        leftOut.length ? el("p", { class: "muted" }, `Not kept, as an index remembers no such setting: ${leftOut.map(name).join(", ")}.`) : null,
        folder ? [el("p", {}, "This writes the settings of the index in ", el("code", { class: "path" }, folder), "."),
          el("p", {}, "All programs that open this index from now on use these values unless they set their own: the command, Python, the MCP server. Running ones keep theirs.")]
          : el("p", {}, "The index is in memory, so these values apply until this program ends. Nothing is written."),
      ],
      async action() {
        await post("/api/settings/default", { settings });
        forgetDescription();
        window.dispatchEvent(new Event("default-settings"));
        say("The settings are the default now.");
        onKept();
      },
    });
  } catch (error) { complain(error); }
}
