// The road of a query, drawn: each sentence is a thread that runs from the search down to the windows, or ends where it
// was dropped. The list of steps below the picture says the same in words.

import { el, fill, svg } from "./dom.js";
import { count, foundBy, ms, moved, returnedWindows } from "./why_facts.js";

const ROW = 68, TOP = 26, LEFT = 7, LABEL = 22;
const NARROW = 320;

/**
 * Make the picture.
 *
 * @returns {{element: HTMLElement, show: (trace: Object) => void}}
 */
export function createRoad() {
  const element = el("figure", { class: "road" });
  let trace = null, width = NARROW;
  new ResizeObserver(([{ contentRect }]) => {
    const now = Math.max(NARROW, Math.floor(contentRect.width));
    if (!contentRect.width || now === width) return;
    width = now;
    if (trace) draw();
  }).observe(element);

  function draw() {
    fill(element, picture(trace, width), legend());
  }

  return { element, show(given) { trace = given; draw(); } };
}

function picture(trace, width) {
  const rows = rowsOf(trace);
  const y = (i) => TOP + i * ROW;
  const scale = (total) => (rank) => LEFT + (total > 1 ? (rank - 1) / (total - 1) : 0.5) * (width - 2 * LEFT);
  const height = y(rows.length - 1) + 16;
  const at = Object.fromEntries(rows.map((row, i) => [row.name, { y: y(i), x: scale(row.total) }]));
  const drawn = svg("svg", { class: "road-picture", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": inWords(rows) });
  drawn.append(...threads(trace, at), ...rows.map((row, i) => station(row, y(i), width, scale(row.total))));
  return drawn;
}

/** Return the stages that sentences pass, with what is said of each. */
function rowsOf({ candidates, hits, windows, counts, tokens, seconds }) {
  const isReordered = candidates.some((each) => moved(each)) || hits.some((each) => Object.keys(each.signals).length);
  const reranked = windows.filter((each) => each.reranked !== null).length;
  const marks = candidates.map((each) => ({ at: each.searched_rank, kind: foundBy(each) }));
  const row = (name, label, total, ...parts) => ({ name, label, total, parts: parts.filter(Boolean) });
  return [
    { ...row("found", "Found", candidates.length, `${counts.dense} by meaning`, `${counts.lexical} by words`, `${counts.both} both`), marks },
    isReordered ? row("reordered", "Reordered", candidates.length, count(candidates.length, "candidate"), ms(seconds.search)) : null,
    row("hits", "Hits taken", hits.length, `${hits.length} of ${candidates.length}`, count(tokens.hits, "token"),
      isReordered ? null : ms(seconds.search)),
    row("windows", "Opened", windows.length, count(windows.length, "window"), count(tokens.windows, "token"), ms(seconds.windows)),
    reranked ? row("reranked", "Reranked", windows.length, count(reranked, "window"), ms(seconds.rerank)) : null,
    row("returned", "Returned", counts.returned, count(counts.returned, "window"), count(tokens.returned, "token")),
  ].filter(Boolean);
}

/** Draw the line of a stage, with its name and numbers above it. */
function station(row, y, width, x) {
  const marks = (row.marks ?? []).map(({ at, kind }) => svg("path", { class: `mark mark-${kind}`, d: markPath(kind, x(at), y) }));
  return svg("g", { class: "station" },
    svg("line", { x1: LEFT, x2: width - LEFT, y1: y, y2: y, class: "station-line" }), marks,
    svg("text", { x: LEFT, y: y - 8, class: "station-name" }, row.label),
    svg("text", { x: width - LEFT, y: y - 8, class: "station-parts", "text-anchor": "end" }, row.parts.join(" · ")));
}

/** A tick up for a sentence found by meaning, down for one found by words. */
function markPath(kind, x, y) {
  const up = kind === "dense" || kind === "both" ? `M${round(x)} ${y}v-4` : "";
  const down = kind === "lexical" || kind === "both" ? `M${round(x)} ${y}v4` : "";
  return up + down || `M${round(x)} ${y}h0.1`;
}

function threads(trace, at) {
  const windows = new Map(trace.windows.map((each) => [each.number, each]));
  const hits = new Map(trace.hits.map((each) => [`${each.index} ${each.doc_id}`, each]));
  const faint = [], drawn = [];
  for (const each of trace.candidates) {
    const hit = hits.get(`${each.index} ${each.doc_id}`);
    const points = [[at.found.x(each.searched_rank), at.found.y]];
    if (at.reordered) points.push([at.reordered.x(each.rank), at.reordered.y]);
    if (!hit) {
      if (points.length > 1) faint.push(curve(points));
      continue;
    }
    points.push([at.hits.x(hit.rank), at.hits.y]);
    const window = windows.get(hit.window);
    if (window) points.push([at.windows.x(window.number), at.windows.y]);
    if (window && at.reranked && window.reranked !== null) points.push([at.reranked.x(window.reranked), at.reranked.y]);
    const isReturned = Boolean(window && window.returned !== null);
    if (isReturned) points.push([at.returned.x(window.returned), at.returned.y]);
    drawn.push({ isReturned, d: curve(points), end: points.at(-1) });
  }
  drawn.sort((one, other) => one.isReturned - other.isReturned);
  return [
    svg("path", { class: "thread faint", d: faint.join("") }),
    ...drawn.map((each) => svg("path", { class: `thread ${each.isReturned ? "returned" : "dropped"}`, d: each.d })),
    ...drawn.filter((each) => !each.isReturned).map(({ end }) => svg("path", { class: "drop", d: crossPath(end) })),
    ...returnedWindows(trace).map((each) => svg("circle", { class: "arrival", cx: round(at.returned.x(each.returned)), cy: at.returned.y, r: 4 })),
  ];
}

function crossPath([x, y]) {
  return `M${round(x - 3)} ${y - 3}l6 6m0 -6l-6 6`;
}

/** Draw a line through points that leaves each one straight down, and passes the name of the next one straight. */
function curve(points) {
  let path = `M${round(points[0][0])} ${points[0][1]}`;
  for (let i = 1; i < points.length; i += 1) {
    const [[x, y], [nextX, nextY]] = [points[i - 1], points[i]];
    const end = nextY - LABEL, middle = (y + end) / 2;
    path += `C${round(x)} ${middle} ${round(nextX)} ${middle} ${round(nextX)} ${end}V${nextY}`;
  }
  return path;
}

function round(number) {
  return Math.round(10 * number) / 10;
}

function inWords(rows) {
  const told = rows.map((row) => `${row.label}: ${row.parts.join(", ")}`).join(". ");
  return `The road of the question. ${told}. The steps below say more.`;
}

function legend() {
  const item = (kind, text) => el("span", { class: "row" },
    svg("svg", { class: "road-key", viewBox: "0 0 18 12", width: 18, height: 12, "aria-hidden": "true" }, kind), text);
  return el("figcaption", { class: "road-legend muted small" },
    item(svg("path", { class: "thread returned", d: "M1 6h16" }), "returned"),
    item([svg("path", { class: "thread dropped", d: "M1 6h12" }), svg("path", { class: "drop", d: "M10 3l6 6m0 -6l-6 6" })], "hit, left out"),
    item(svg("path", { class: "thread faint", d: "M1 6h16" }), "no hit"),
    item([svg("path", { class: "station-line", d: "M1 6h16" }), svg("path", { class: "mark mark-dense", d: "M9 6v-5" })], "by meaning"),
    item([svg("path", { class: "station-line", d: "M1 6h16" }), svg("path", { class: "mark mark-lexical", d: "M9 6v5" })], "by words"));
}
