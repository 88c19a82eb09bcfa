// Why windows came back, and why a sentence didn't: one sentence that sums it up; the steps and the hits folded below.

import { post } from "./api.js";
import { el, fill } from "./dom.js";
import { inWords, nameOfSetting, readDescription } from "./settings_form.js";
import { createTrial } from "./trial.js";
import { button } from "./widgets.js";
import { baseName, brief, count, decimal, headingPath, ms, namesOf } from "./words.js";

const SHOWN_SIGNALS = 4;
const LEAST_SHOWN = 0.005;
const KINDS = [["list items", /^\s*(?:[-*+•]|\d{1,3}[.)])\s/], ["headings", /^\s*#{1,6}\s/], ["rows of tables", /^\s*\||\t/]];

/**
 * Make the view of how a question was answered.
 *
 * @param {Object} options
 * @param {Object} options.app The page.
 * @param {(docId: string, spans: number[][]) => void} options.onAnswer Called when the sentence answers the question, or no more.
 * @param {(sentence: {docId: string, index: number, start: ?number, end: ?number, text: string}) => void} options.onSentence
 *   Called when the user chooses a sentence, to be shown in the document.
 */
export function createWhy({ app, onAnswer, onSentence }) {
  const verdict = el("section", { class: "verdict-box card", hidden: true, aria: { label: "One sentence", live: "polite" } });
  const status = el("p", { class: "muted small", role: "status" });
  const body = el("div", { class: "why-body", hidden: true });
  const element = el("div", { class: "why" }, verdict, status, body);
  const trial = createTrial({ app, onKept: () => onKept() });
  let trace = null, asked = null, aborting = null, description = null, names = new Map(), onKept = () => {};

  /** Show the road of a question; with a sentence, also why that is, or isn't, among the windows. */
  async function show(query, settings, docId = null, sentence = null) {
    aborting?.abort();
    const mine = aborting = new AbortController();
    description ??= await readDescription().catch(() => null);
    verdict.hidden = sentence === null;
    fill(verdict, el("p", { class: "muted" }, "Looking for the sentence…"));
    const traced = showTrace(query, settings, mine);
    if (sentence === null) return traced;
    try {
      const fate = await post("/api/why", { query, settings, doc_id: docId, sentence }, { signal: mine.signal });
      await traced;
      fill(verdict, account(fate, query, settings));
    } catch (error) {
      if (error.name === "AbortError") throw error;
      fill(verdict, el("p", { class: "error" }, error.message));
    }
  }

  async function showTrace(query, settings, mine) {
    const wanted = JSON.stringify([query, settings]);
    if (wanted === asked) return;
    fill(status, "Tracing…");
    body.setAttribute("aria-busy", "true");
    try {
      trace = await post("/api/explain", { query, settings }, { signal: mine.signal });
      names = namesOf(Object.entries(trace.names).map(([id, name]) => ({ doc_id: id, name, source: name })));
      asked = wanted;
      fill(status);
      body.hidden = false;
      const { hits } = trace;
      fill(body, el("p", { class: "why-summary", dir: "auto" }, summary(trace)),
        fold("Step by step", steps(trace)), hits.length ? fold(`Hits (${hits.length})`, hitsTable(trace)) : null);
    } catch (error) {
      if (error.name === "AbortError") throw error;
      [trace, asked] = [null, null];
      body.hidden = true;
      fill(status, el("span", { class: "error" }, error.message));
    } finally {
      if (aborting === mine) body.removeAttribute("aria-busy");
    }
  }

  // One sentence

  function account(fate, query, settings) {
    const sum = trace && sentenceSummary(trace, fate);
    const tryIt = (given) => app.go("ask", { q: query, settings: JSON.stringify(given), doc: fate.doc_id, start: fate.start ?? 0, sentence: fate.index, tab: "why" });
    const naming = (own) => (own.filter === null ? "no filter" : inWords(own, description).join(", "));
    onKept = () => tryIt({});
    trial.element.hidden = true;
    return [
      el("div", { class: "row" }, el("h2", { class: "grow" }, fate.is_shown ? "This sentence is there" : "Why isn't this sentence there?"),
        button("Close", () => { verdict.hidden = true; }, "quiet small")),
      fate.text === null ? null : sentenceButton(fate, `“${brief(fate.text, 240)}”`, headingPath(fate.heading ?? "")),
      sum ? el("p", { class: "why-summary" }, sum) : null,
      el("p", { class: "reason" }, el("span", { aria: { hidden: "true" } }, fate.is_shown ? "✓ " : "✕ "), asSentence(fate.reason)),
      fate.nearest ? el("p", {}, asSentence(fate.nearest)) : null,
      el("p", {}, labelled(fate.advice)),
      fate.advised.map(({ settings: own }) => el("div", { class: "row" },
        button(`Try ${naming(own)}`, () => tryIt(withSettings(settings, own)), "main small"),
        button("Would this help?", () => trial.start(settings, withSettings(settings, own)), "small", {
          title: "Asks all questions with it", aria: { label: `Would this help? ${naming(own)}` } }))),
      trial.element,
      fate.text === null || app.about?.is_read_only !== false ? null
        : el("div", { class: "row" }, button("This is the answer", () => onAnswer(fate.doc_id, [[fate.start, fate.end]]), "small")),
      fate.tried.length ? fold(`Tried: ${fate.tried.length}`, el("ul", { class: "small" }, fate.tried.map((each) => el("li", {}, labelled(each))))) : null,
      fate.text === null ? null : fold("Ranks and scores", ranks(fate)),
    ];
  }

  /** Call settings in a text what the form calls them. */
  function labelled(text) {
    return (description?.fields ?? []).reduce((all, { name, label }) => all.replace(new RegExp(`\\b${name}=`, "g"), `${label} = `), text);
  }

  /** Return why items were left out, in a few words, by the code of a trace. */
  function reason({ settings }, code) {
    const of = (name) => `“${nameOfSetting(name, description)}”`;
    const reasons = {
      near: "near a better window", label: "only a heading", equal: "equal text", relevance: "not supported by the question",
      reranker: "left out by the reranker", budget: `over ${of("max_tokens")} of ${settings.max_tokens}`, k: `beyond ${of("k")} of ${settings.k}`,
      fetch_k: `beyond ${of("fetch_k")} of ${settings.fetch_k}`, score: `below ${of("min_score")} of ${settings.min_score}`,
    };
    return reasons[code] ?? "left out";
  }

  function sentenceButton(each, text = brief(each.text), note = null) {
    const chosen = { docId: each.doc_id, index: each.index ?? each.sentences[0], start: each.start, end: each.end, text: each.text };
    return el("button", { type: "button", class: "quiet sentence", title: trace?.names?.[each.doc_id] ?? each.doc_id, on: { click: () => onSentence(chosen) } },
      el("span", { class: "sentence-text", dir: "auto" }, text), el("span", { class: "muted small" }, note ?? shortName(each.doc_id)));
  }

  function shortName(docId) {
    return names.get(docId) ?? baseName(docId);
  }

  // The whole question

  /** Return what sums up a trace in a sentence or two. */
  function summary({ candidates, hits, windows, counts, named, is_limited }) {
    const returned = returnedWindows({ windows });
    if (!returned.length) {
      const last = [windows, hits, candidates].find((each) => each.length) ?? [];
      const codes = grouped(last.filter((each) => each.left_out), (each) => each.left_out).map(([code]) => code);
      const code = codes.find((each) => each !== "fetch_k") ?? codes[0]; // which leaves out most at any time
      return code ? `Nothing is returned: what was found is ${reason(trace, code)}.` : "Nothing is returned, as nothing was found.";
    }
    const [best] = returned;
    const hit = candidates.find((each) => each.doc_id === best.doc_id && each.rank === best.hits[0]);
    const section = best.heading ? `“${best.heading.split(" > ").at(-1)}” of ${shortName(best.doc_id)}` : shortName(best.doc_id);
    const [signal] = strongestSignals({ hits });
    const raised = hit && signal && hit.searched_rank > hit.rank ? ` and raised from rank ${hit.searched_rank} to ${hit.rank}, mostly by ${signal.name}` : "";
    const [cut] = grouped(windows.filter((each) => each.left_out), (each) => each.left_out);
    const rest = cut ? `; ${windows.filter((each) => each.left_out).length} more are left out, most of them ${reason(trace, cut[0])}` : "";
    const first = named.length ? `The question ${is_limited ? "is limited to" : "mentions"} ${count(named.length, "document")}, ${is_limited ? "whose sentences come first" : "whose sentences score higher"}. ` : "";
    const documents = count(new Set(returned.map((each) => each.doc_id)).size, "document");
    return `${first}The best window is from ${section}, found ${hit ? foundBy(hit) : "in the search"}${raised}. `
      + `${count(counts.returned, "window")} of ${documents} ${counts.returned === 1 ? "is" : "are"} returned${rest}.`;
  }

  /** Make the list of what happened, step by step: each with its facts. */
  function steps(trace) {
    const { candidates, hits, windows, counts, tokens, seconds, settings, named, relevance } = trace;
    const leftOut = (items) => grouped(items.filter((each) => each.left_out), (each) => each.left_out)
      .map(([code, found]) => `${found.length.toLocaleString()} left out: ${reason(trace, code)}`);
    const some = (isOne, what) => {
      const { length } = windows.filter((each) => each.returned !== null && isOne(each));
      return length ? `${length} ${what}` : null;
    };
    const names = named.map((each) => shortName(each.doc_id)).join(", ");
    const { length: reranked } = windows.filter((each) => each.reranked !== null);
    const inAll = Object.values(seconds).reduce((one, other) => one + other, 0);
    const found = [
      ["Question", trace.query,
        names ? `${trace.is_limited ? "limited to" : "mentions"} ${count(named.length, "document")}: ${names}` : "names no document",
        trace.searched_as && trace.searched_as !== trace.query ? `searched there as “${trace.searched_as}”` : null],
      ["Found", `${counts.dense.toLocaleString()} by meaning`, `${counts.lexical.toLocaleString()} by words`,
        `${counts.both.toLocaleString()} by both`, ms(seconds.search)],
      ["Reordered", ...strongestSignals(trace).slice(0, SHOWN_SIGNALS)
        .map(({ name, share }) => `${Math.round(100 * share)} % by ${name}`)],
      ["Hits taken", `${hits.length} of ${count(candidates.length, "candidate")}`, count(tokens.hits, "token"),
        ...Object.entries(relevance).map(([name, value]) => `${name} ${Number(value).toPrecision(3)}`),
        ...leftOut(candidates)],
      ["Opened to windows", count(windows.length, "window"), count(tokens.windows, "token"), ms(seconds.windows),
        some((each) => each.joined.length, "joined with another near it"),
        ...["widened", "trimmed"].map((how) => some((each) => each.change === how, how))],
      ["Reranked", ...(reranked ? [count(reranked, "window"), ms(seconds.rerank)] : [])],
      ["Returned", count(counts.returned, "window"), count(tokens.returned, "token"), `${ms(inAll)} in all`,
        ...leftOut(windows)],
    ];
    const step = ([title, ...facts]) => el("li", { class: "step" }, el("h2", {}, title),
      el("p", { class: "step-facts number", dir: "auto" }, facts.filter(Boolean).join(" · ")));
    return [el("ol", { class: "plain steps" }, found.filter((each) => each.length > 1).map(step)),
      fold("The settings", el("ul", { class: "small" }, inWords(settings, description).map((each) => el("li", {}, each))))];
  }

  function hitsTable(trace) {
    const { hits, windows } = trace;
    const byNumber = new Map(windows.map((each) => [each.number, each]));
    const largest = Math.max(...hits.flatMap((hit) => Object.values(hit.signals).map(Math.abs)), LEAST_SHOWN);
    const rank = (number, score) => el("td", { class: "number", title: number === null ? "" : `score ${score.toFixed(3)}` }, number ?? "–");
    const row = (hit) => {
      const window = byNumber.get(hit.window);
      const isReturned = Boolean(window && window.returned !== null);
      return el("tbody", {}, el("tr", {}, el("td", { class: "number", rowSpan: 2 }, hit.rank),
        el("th", { class: "hit-text", scope: "rowgroup", colSpan: 5 }, sentenceButton(hit))),
      el("tr", {}, el("td", { class: "number" }, hit.score.toFixed(3)), rank(hit.dense_rank, hit.dense_score), rank(hit.lexical_rank, hit.lexical_score),
        el("td", {}, signalBars(hit.signals, largest)),
        el("td", { class: "small", title: [hit.outcome, window?.outcome].filter(Boolean).join("; ") },
          isReturned ? `✓ returned as ${window.returned}` : `✕ ${reason(trace, (window ?? hit).left_out)}`)));
    };
    return el("div", { class: "hits-scroll", role: "region", tabIndex: 0, aria: { label: "Hits" } }, el("table", { class: "hits" },
      el("thead", {}, el("tr", {}, ["Rank", "Score", "Meaning", "Words", "Largest signals", "Outcome"].map((each) => el("th", { scope: "col" }, each)))),
      hits.map(row)));
  }

  return {
    element, show,
    /** Say what this is for, while there is no question. */
    showStart(onBegin) {
      aborting?.abort();
      [trace, asked, verdict.hidden, body.hidden] = [null, null, true, false];
      fill(status);
      fill(body, el("div", { class: "empty" }, el("p", {}, "Ask a question, and you read here why its windows came, and why other sentences didn't."),
        button("Write a question", onBegin, "main")));
    },
    /**
     * Return what happened to each sentence of a document; null without a trace.
     *
     * @returns {Map<number, {kind: string, text: string}>|null} By the index of the sentence: `returned`, `left-out` for a
     *   hit that wasn't returned, or `candidate`. One that isn't there was no candidate.
     */
    fates(docId) {
      if (!trace || !docId) return null;
      const of = (items) => items.filter((each) => each.doc_id === docId);
      const fates = new Map(of(trace.candidates).map((each) => [each.index, { kind: "candidate", text: `candidate ${each.rank}` }]));
      const windows = new Map(trace.windows.map((each) => [each.number, each]));
      for (const hit of of(trace.hits)) {
        fates.set(hit.index, { kind: "left-out", text: `hit ${hit.rank}, ${reason(trace, (windows.get(hit.window) ?? hit).left_out)}` });
      }
      const ranks = new Map(of(trace.hits).map((each) => [each.index, each.rank]));
      for (const window of of(trace.windows).filter((each) => each.returned !== null)) {
        const [first, last] = window.kept ?? window.sentences;
        for (let index = first; index <= last; index += 1) {
          fates.set(index, { kind: "returned", text: `${ranks.has(index) ? `hit ${ranks.get(index)}` : "next to a hit"}, window ${window.returned}` });
        }
      }
      return fates;
    },
  };
}

/** Return what sums up why a sentence isn't returned, if others outrank it. */
function sentenceSummary(trace, fate) {
  if (fate.is_shown || fate.text === null) return null;
  const mine = returnedWindows(trace).filter((each) => each.doc_id === fate.doc_id);
  const where = mine.some((each) => each.heading === fate.heading) ? "The right section is found"
    : mine.length ? "Another section of this document is found" : "Nothing of this document is returned";
  if (fate.rank === null) return `${where}, and the search doesn't find the sentence.`;
  if (fate.rank <= trace.hits.length) return null; // it is a hit, and what became of that is said
  const above = trace.candidates.filter((each) => each.rank < fate.rank);
  const [kind] = KINDS.find(([, form]) => 2 * above.filter((each) => form.test(each.text)).length > above.length) ?? [];
  const join = mine.length ? "but" : "and";
  return kind ? `${where}, ${join} ${kind} outrank it.` : `${where}, ${join} ${count(above.length, "sentence")} outrank${above.length === 1 ? "s" : ""} it.`;
}

function withSettings(settings, own) {
  const found = { ...settings, ...own };
  if (own.filter === null) delete found.filter;
  return found;
}

/** Return how a candidate was found, in words. */
function foundBy({ dense_rank: dense, lexical_rank: lexical }) {
  if (dense !== null && lexical !== null) return "by meaning and words";
  return dense !== null ? "by meaning" : lexical !== null ? "by words" : "in a named document";
}

/** Return the signals that decided about the hits, strongest first, each with its share in what all added or took. */
function strongestSignals({ hits }) {
  const sums = new Map();
  for (const hit of hits) for (const [name, value] of Object.entries(hit.signals)) sums.set(name, (sums.get(name) ?? 0) + Math.abs(value));
  const all = [...sums.values()].reduce((one, other) => one + other, 0) || 1;
  return [...sums].sort((one, other) => other[1] - one[1]).map(([name, sum]) => ({ name, share: sum / all }));
}

/** Return items in groups by what `key` returns, largest group first. */
function grouped(items, key) {
  const groups = new Map();
  for (const each of items) groups.set(key(each), [...(groups.get(key(each)) ?? []), each]);
  return [...groups].sort((one, other) => other[1].length - one[1].length);
}

/** Return the windows that were returned, without those that became part of a better one. */
function returnedWindows({ windows }) {
  const first = new Map();
  for (const window of windows) if (window.returned !== null && !first.has(window.returned)) first.set(window.returned, window);
  return [...first.values()].sort((one, other) => one.returned - other.returned);
}

function fold(summary, ...children) {
  return el("details", {}, el("summary", {}, summary), children);
}

/** Draw the largest signals as bars to the left (they lower the score) or to the right (they raise it). */
function signalBars(signals, largest) {
  const shown = Object.entries(signals).sort((one, other) => Math.abs(other[1]) - Math.abs(one[1])).slice(0, SHOWN_SIGNALS - 1)
    .filter(([, value]) => Math.abs(value) >= LEAST_SHOWN);
  return shown.length ? el("ul", { class: "plain bars" }, shown.map(([name, value]) => bar(name, value, largest))) : "–";
}

function bar(name, value, largest) {
  return el("li", {}, el("span", { class: "bar-name" }, name),
    el("span", { class: `signal-bar ${value < 0 ? "is-less" : "is-more"}`, aria: { hidden: "true" } },
      el("span", { style: { width: `${Math.round(50 * Math.min(1, Math.abs(value) / largest))}%` } })),
    el("span", { class: "number" }, `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`));
}

/** Compare its ranks and scores with those of the last hit and the best one. */
function ranks(fate) {
  const rows = [["This sentence", fate], ["The last hit", fate.last_hit], ["The best hit", fate.best]].filter(([, each]) => each);
  return el("table", { class: "verdict-ranks" }, el("caption", { class: "visually-hidden" }, "Its rank and scores next to those of the hits"),
    el("thead", {}, el("tr", {}, el("td", {}), ["Rank", "Score", "Similarity"].map((each) => el("th", { scope: "col" }, each)))),
    el("tbody", {}, rows.map(([name, each]) => el("tr", {}, el("th", { scope: "row" }, name),
      el("td", { class: "number" }, each.rank === null ? `not among ${fate.candidates}` : `${each.rank} of ${fate.candidates}`),
      el("td", { class: "number" }, decimal(each.score)), el("td", { class: "number" }, decimal(each.dense_score))))));
}

/** Make a phrase a sentence: begin it with a capital, and end it with a full stop. */
function asSentence(phrase) {
  const [first = "", ...rest] = Array.from(phrase);
  return `${first.toUpperCase()}${rest.join("")}.`;
}
