// A fitted ranking: what it gains, what changed, and a button to use it.

import { post } from "./api.js";
import { el, fill } from "./dom.js";
import { complain, say } from "./messages.js";
import { percent, points } from "./plot.js";

const SHOWN_WEIGHTS = 8;

/**
 * Make the panel of a fitted ranking.
 *
 * @param {() => boolean} canChange Whether the ranking may be put to use.
 */
export function createFitPanel(canChange) {
  const element = el("section", { class: "fit-panel", hidden: true, tabIndex: -1, aria: { label: "The fitted ranking" } });
  return {
    element,
    /** Show what a job of the kind `fit` returned. */
    show(fitted) {
      element.hidden = false;
      const use = el("button", { type: "button", class: "main", on: { click: () => put(use, fitted.job) } }, "Use this ranking");
      fill(element, el("h2", {}, "The fitted ranking"),
        el("p", { class: fitted.is_recommended ? "better" : "" }, fitted.is_recommended
          ? "Recommended: its whole interval is above 0." : "Not recommended: it may gain nothing, so the ranking stays as it was. More questions may help."),
        el("p", {}, "Mean recall: ", el("b", { class: "number" }, points(fitted.gain)), " points, each question measured with weights that were fitted without it",
          fitted.groups === "documents" ? ", nor the other questions of its document." : "."),
        el("p", { class: "muted small" }, `${fitted.count.toLocaleString()} questions`, fitted.left_out ? `, ${fitted.left_out} left out` : "",
          fitted.without_gold ? `; of ${fitted.without_gold.toLocaleString()} the search finds no gold at all, which no ranking can change` : "", "."),
        gains(fitted), weights(fitted.weights),
        el("div", { class: "row" }, fitted.is_recommended && canChange() ? use : null,
          el("a", { class: "button", href: `/api/fit/ranking?job=${fitted.job}`, download: "ranking.json" }, "Save as a file")));
    },
  };
}

async function put(button, job) {
  button.disabled = true;
  try {
    const { saved } = await post("/api/fit/use", { job });
    button.textContent = "In use";
    say(saved ? `The ranking is in use, and kept in ${saved}.` : "The ranking is in use until the program ends: the index isn't on disk.");
  } catch (error) {
    button.disabled = false;
    complain(error);
  }
}

function gains({ budgets, recall_before: before, recall_after: after, gains: found }) {
  const row = (title, cells) => el("tr", {}, el("th", { scope: "row" }, title), cells.map((cell) => el("td", { class: "number" }, cell)));
  return el("div", { class: "wide-table", role: "group", tabIndex: 0, aria: { label: "Recall before and after" } }, el("table", {}, el("caption", {}, "Recall in % at characters of context"),
    el("thead", {}, el("tr", {}, el("td", {}), budgets.map((each) => el("th", { scope: "col", class: "number" }, each.toLocaleString())))),
    el("tbody", {}, row("before", before.map(percent)), row("fitted", after.map(percent)), row("gain in points", found.map(points)))));
}

function weights(rows) {
  const table = (shown) => el("table", { class: "small" },
    el("thead", {}, el("tr", {}, ["Signal", "Before", "Fitted", "Meaning"].map((each) => el("th", { scope: "col" }, each)))),
    el("tbody", {}, shown.map(({ name, meaning, before, after }) => el("tr", {}, el("th", { scope: "row" }, name),
      el("td", { class: "number" }, before.toFixed(2)), el("td", { class: "number" }, after.toFixed(2)), el("td", {}, meaning)))));
  if (!rows.length) return el("p", { class: "muted" }, "No weight changed.");
  return el("div", { class: "wide-table", role: "group", tabIndex: 0, aria: { label: "The largest changes" } }, el("h3", {}, "The largest changes"), table(rows.slice(0, SHOWN_WEIGHTS)),
    rows.length > SHOWN_WEIGHTS ? el("details", {}, el("summary", {}, `${rows.length - SHOWN_WEIGHTS} more weights changed`), table(rows.slice(SHOWN_WEIGHTS))) : null);
}
