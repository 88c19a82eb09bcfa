// A plot of lines with bands: means and their intervals over a logarithmic axis, drawn at the width that it has.

import { el, fill, svg } from "./dom.js";
import { interval } from "./words.js";

const HEIGHT = 300;
const MARGIN = { left: 64, right: 16, top: 12, bottom: 46 };
const MIN_WIDTH = 260;
const APART = 5;
/** Lines differ by color, dashes and marks, so that no color needs to be told from another. */
export const MAX_LINES = 6;
const DASHES = ["", "7 4", "2 4", "10 4 2 4", "14 5", "4 2"];

/**
 * Make a plot.
 *
 * @param {{xLabel: string, yLabel: string}} labels
 * @returns {{element: HTMLElement, show: (lines: Array<{name: string,
 *   points: Array<{x: number, mean: number, low: number, high: number}>}>) => void}} Means are shares from 0 to 1.
 */
export function createPlot({ xLabel, yLabel }) {
  const place = el("div", { class: "plot-area" });
  const legend = el("ul", { class: "plain plot-legend" });
  const numbers = el("div", { class: "plot-numbers", role: "group", tabIndex: 0, aria: { label: "The plot as a table" } });
  const element = el("figure", { class: "plot" }, place, legend,
    el("details", {}, el("summary", {}, "The plot as a table"), numbers));
  let lines = [];
  let width = 0;
  const draw = () => {
    width = Math.max(MIN_WIDTH, Math.round(place.clientWidth));
    fill(place, lines.length ? picture(lines, width, xLabel, yLabel) : null);
  };
  new ResizeObserver(() => { if (Math.round(place.clientWidth) !== width) draw(); }).observe(place);
  return {
    element,
    show(given) {
      lines = given.slice(0, MAX_LINES);
      draw();
      fill(legend, lines.map(({ name }, i) => el("li", { class: "row" }, key(i), el("span", {}, name))),
        given.length > MAX_LINES ? el("li", { class: "muted" }, `${given.length - MAX_LINES} more aren't drawn`) : null);
      fill(numbers, asTable(given, xLabel, yLabel));
    },
  };
}

function picture(lines, width, xLabel, yLabel) {
  const xs = [...new Set(lines.flatMap(({ points }) => points.map(({ x }) => x)))].sort((a, b) => a - b);
  const inner = { left: MARGIN.left, right: width - MARGIN.right, top: MARGIN.top, bottom: HEIGHT - MARGIN.bottom };
  const [first, last] = [Math.log2(xs[0]), Math.log2(xs.at(-1))];
  const at = (x) => (first === last ? (inner.left + inner.right) / 2
    : inner.left + 12 + ((Math.log2(x) - first) / (last - first)) * (inner.right - inner.left - 24));
  const height = (share) => inner.bottom - share * (inner.bottom - inner.top);
  const title = `${yLabel} over ${xLabel}: ${lines.map(({ name }) => name).join("; ")}. The numbers are in the table below.`;
  return svg("svg", { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": title },
    svg("g", { class: "plot-grid" }, [0, 0.2, 0.4, 0.6, 0.8, 1].map((share) => [
      svg("line", { x1: inner.left, x2: inner.right, y1: height(share), y2: height(share) }),
      svg("text", { x: inner.left - 8, y: height(share) + 4, "text-anchor": "end" }, `${Math.round(100 * share)} %`),
    ])),
    ticks(xs, at).map((x) => svg("g", { class: "plot-grid" },
      svg("line", { x1: at(x), x2: at(x), y1: inner.bottom, y2: inner.bottom + 5 }),
      svg("text", { x: at(x), y: inner.bottom + 19, "text-anchor": "middle" }, x.toLocaleString()))),
    svg("text", { class: "plot-title", x: (inner.left + inner.right) / 2, y: HEIGHT - 6, "text-anchor": "middle" }, xLabel),
    svg("text", { class: "plot-title", x: 0, y: 0, "text-anchor": "middle",
      transform: `translate(12 ${(inner.top + inner.bottom) / 2}) rotate(-90)` }, yLabel),
    lines.map(({ points }, i) => band(points, i, at, height)),
    // A little beside each other, so that none hides the interval of another.
    lines.map(({ name, points }, i) => line(name, points, i, (x) => at(x) + APART * (i - (lines.length - 1) / 2), height)));
}

/** Leave out labels that would touch each other. */
function ticks(xs, at) {
  const kept = [];
  for (const x of xs) if (!kept.length || at(x) - at(kept.at(-1)) > 44) kept.push(x);
  return kept;
}

function band(points, i, at, height) {
  const edge = [...points.map((p) => [at(p.x), height(p.high)]), ...points.map((p) => [at(p.x), height(p.low)]).reverse()];
  return points.length > 1 ? svg("polygon", { class: `plot-band line-${i}`, points: edge.map((each) => each.join(",")).join(" ") }) : null;
}

function line(name, points, i, at, height) {
  return svg("g", { class: `plot-line line-${i}` },
    svg("polyline", { points: points.map((p) => `${at(p.x)},${height(p.mean)}`).join(" "), "stroke-dasharray": DASHES[i] || null }),
    // The ends of the intervals, which bands of several lines would hide.
    points.map((p) => svg("line", { class: "plot-ends", x1: at(p.x), x2: at(p.x), y1: height(p.low), y2: height(p.high) })),
    points.map((p) => svg("g", {}, mark(i, at(p.x), height(p.mean)),
      svg("title", {}, `${name}: ${interval(p)} at ${p.x.toLocaleString()}`))));
}

function mark(i, x, y) {
  const corners = [null, [[-5, -5], [5, -5], [5, 5], [-5, 5]], [[0, -6], [6, 5], [-6, 5]], [[0, -7], [6, 0], [0, 7], [-6, 0]],
    [[0, 6], [6, -5], [-6, -5]], [[-6, -2], [-2, -2], [-2, -6], [2, -6], [2, -2], [6, -2], [6, 2], [2, 2], [2, 6], [-2, 6], [-2, 2], [-6, 2]]][i];
  return corners ? svg("polygon", { points: corners.map(([dx, dy]) => `${x + dx},${y + dy}`).join(" ") })
    : svg("circle", { cx: x, cy: y, r: 5 });
}

function key(i) {
  return svg("svg", { width: 44, height: 16, viewBox: "0 0 44 16", "aria-hidden": "true", class: "plot-key" },
    svg("g", { class: `plot-line line-${i}` },
      svg("polyline", { points: "2,8 42,8", "stroke-dasharray": DASHES[i] || null }), mark(i, 22, 8)));
}

function asTable(lines, xLabel, yLabel) {
  const xs = [...new Set(lines.flatMap(({ points }) => points.map(({ x }) => x)))].sort((a, b) => a - b);
  return el("table", {}, el("caption", {}, `${yLabel} at ${xLabel}, with its interval`),
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Run"), xs.map((x) => el("th", { scope: "col", class: "number" }, x.toLocaleString())))),
    el("tbody", {}, lines.map(({ name, points }) => el("tr", {}, el("th", { scope: "row" }, name),
      xs.map((x) => {
        const found = points.find((p) => p.x === x);
        return el("td", { class: "number" }, found ? interval(found) : "–");
      })))));
}
