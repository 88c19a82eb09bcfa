// The frame of the page: its views, the address bar, the head.
//
// A view is a module that exports `title`, and `mount(container, app)`, which is called once, when the view is first
// shown, and returns `{show(parameters)}` or nothing. `#/ask?q=...` shows the view `ask` with `{q: "..."}`.

import { get } from "./api.js";
import { el, fill } from "./dom.js";
import * as ask from "./ask.js";
import * as documents from "./documents.js";
import * as evaluate from "./evaluate.js";
import { addKey, complain, startKeys } from "./widgets.js";
import { count } from "./words.js";

const VIEWS = { ask, evaluate, documents };
const FIRST = "ask";

const main = document.getElementById("main");
const mounted = new Map();

/** What views share. */
const app = {
  /** What `/api/about` says of the index; null if that failed. */
  about: null,
  /** Go to a view; without parameters, to where it was left. */
  go(view, parameters) { location.hash = parameters ? hashOf(view, parameters) : linkTo(view).hash; },
  /**
   * Write parameters into the address bar without going anywhere, so that a reload shows the same. If a document
   * `isOpened`, that is a step to go back from. Of a view that isn't shown, the link to it remembers them.
   */
  remember(view, parameters, { isOpened = false } = {}) {
    const link = linkTo(view);
    link.href = hashOf(view, parameters);
    if (!link.hasAttribute("aria-current")) return;
    if (isOpened) history.pushState({ isOpened }, "", link.hash);
    else history.replaceState(history.state, "", link.hash);
  },
  /** Ask the server again about the index, after it has changed. */
  async refresh() {
    app.about = await get("/api/about");
    fill(document.getElementById("about"),
      `${count(app.about.documents, "document")}, ${count(app.about.sentences, "sentence")}`,
      app.about.is_read_only ? " · read-only" : "");
    for (const listener of app.listeners) listener(app.about);
  },
  /** Functions that are called with what `/api/about` says, whenever that was asked. */
  listeners: [],
};

function hashOf(view, parameters) {
  const query = new URLSearchParams(parameters);
  return `#/${view}${query.size ? `?${query}` : ""}`;
}

/** Return the link to a view in the head, which leads to where it was left. */
function linkTo(view) {
  return document.querySelector(`#views a[data-view="${view}"]`);
}

function show() {
  const [, name, query] = /^#\/([a-z]+)(?:\?(.*))?$/.exec(location.hash) ?? [];
  const current = Object.hasOwn(VIEWS, name ?? "") ? name : FIRST;
  for (const link of document.querySelectorAll("#views a")) link.removeAttribute("aria-current");
  linkTo(current).setAttribute("aria-current", "page");
  if (current === name) linkTo(current).href = location.hash;
  for (const [other, { container }] of mounted) container.hidden = other !== current;
  document.title = `${VIEWS[current].title} – Sentence window`;
  if (!mounted.has(current)) {
    const container = el("div", { class: "view", id: `view-${current}` });
    main.append(container);
    mounted.set(current, { container, view: VIEWS[current].mount(container, app) });
  }
  mounted.get(current).view?.show?.(Object.fromEntries(new URLSearchParams(query ?? "")));
}

for (const [name, view] of Object.entries(VIEWS)) {
  document.getElementById("views").append(el("a", { href: `#/${name}`, data: { view: name } }, view.title));
}
Object.keys(VIEWS).forEach((name, i) => addKey(String(i + 1), `Go to ${VIEWS[name].title}`, () => app.go(name)));
startKeys(document.getElementById("keys"));
// Not by its address, which would lead to another view.
document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
// Views may ask `app.about` when they are mounted: whether the page is read-only, for one.
app.refresh().catch(complain).finally(() => {
  window.addEventListener("hashchange", show);
  show();
});
