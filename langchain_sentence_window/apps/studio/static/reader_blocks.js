// The blocks of a document as elements. Each character is in a text node of its own run, once and in order.

import { el } from "./dom.js";
import { MARK } from "./reader_model.js";

const CHUNK_BLOCKS = 40;
const CHARS_PER_LINE = 80;
const LINE_PX = 26;
const WRAPPERS = [["b", "strong"], ["i", "em"], ["c", "code"]];
const CLASSES = { l: "link", g: "image", n: "break", k: "number" };

/**
 * Make the elements of a document's blocks.
 *
 * @param {Object} model See reader_model.js.
 * @returns {{chunks: Element[], sentences: Element[][], gaps: Element[][], nodes: Text[]}} The elements to show; by the
 *   position of each sentence its elements, and those of the white space after it; the text node of each piece.
 */
export function layBlocks(model) {
  const made = { chunks: [], sentences: Array.from({ length: model.count }, () => []), gaps: [], nodes: [] };
  const { blocks, kind } = model.data;
  let before = -1;
  let page = null;
  for (let first = 0; first < blocks.length; first += CHUNK_BLOCKS) {
    const chunk = el("div", { class: `chunk ${kind}` });
    let lines = 0;
    let list = null;
    for (const block of blocks.slice(first, first + CHUNK_BLOCKS)) {
      const element = layBlock(block);
      const shown = firstSentence(element);
      if (shown !== null && model.pageOf(shown) !== page && kind !== "markdown") {
        page = model.pageOf(shown);
        if (page !== null) chunk.append(el("div", { class: "page-break", data: { label: `Page ${page + 1}` } }));
        list = null;
      }
      if (block.kind === "item") list ??= chunk.appendChild(el("div", { class: "list", role: "list" }));
      else list = null;
      (list ?? chunk).append(element);
      lines += 1 + Math.ceil(element.textContent.length / CHARS_PER_LINE);
    }
    chunk.style.setProperty("contain-intrinsic-block-size", `auto ${lines * LINE_PX}px`);
    made.chunks.push(chunk);
  }
  return made;

  function firstSentence(element) {
    const found = element.matches?.(".s") ? element : element.querySelector(".s");
    return found ? Number(found.dataset.p) : null;
  }

  function layBlock(block) {
    if (block.kind === "gap") return el("div", { class: "gap", title: "Sentences that the filter hides stand here." });
    const style = indent(block);
    if (block.kind === "table") {
      const rows = block.rows.map((row) => el("tr", {}, row.cells.map((cell) =>
        fillRuns(el(row.header ? "th" : "td", row.header ? { scope: "col", dir: "auto" } : { dir: "auto" }), cell))));
      return el("div", { class: "table", style, tabIndex: -1 }, el("table", {}, el("tbody", {}, rows)));
    }
    const isHidden = block.runs[2].every((each) => each.includes(MARK)) && block.kind !== "rule";
    const classes = [block.kind, block.quotes ? "quoted" : "", block.numbered ? "numbered" : "", isHidden ? "hidden-block" : ""];
    const properties = { class: classes.filter(Boolean).join(" "), dir: "auto", style };
    if (block.kind === "heading") Object.assign(properties, { role: "heading", aria: { level: Math.min(6, model.path(block.start).length + 2) }, data: { level: block.level } });
    if (block.kind === "item") properties.role = "listitem";
    if (block.kind === "rule") properties.role = "separator";
    return fillRuns(el(block.kind === "code" ? "pre" : "div", properties), block.runs);
  }

  function fillRuns(parent, [texts, indexes, styles]) {
    let sentence = null;
    for (let i = 0; i < texts.length; i += 1) {
      const position = indexes[i] < 0 ? -1 : model.positionOf(indexes[i]);
      if (position < 0) {
        const gap = el("span", { class: "between" }, laid(texts[i], styles[i]));
        (made.gaps[before] ??= []).push(gap);
        parent.append(gap);
        sentence = null;
        continue;
      }
      if (sentence?.position !== position) {
        const element = el("span", { class: "s", data: { p: position } });
        made.sentences[position].push(element);
        parent.append(element);
        sentence = { position, element };
        before = position;
      }
      sentence.element.append(laid(texts[i], styles[i]));
    }
    return parent;
  }

  function laid(text, style) {
    const node = document.createTextNode(text);
    made.nodes.push(node);
    if (!style) return node;
    if (style.includes(MARK)) return el("span", { class: "mark-up" }, node);
    let element = node;
    for (const [letter, tag] of WRAPPERS) if (style.includes(letter)) element = el(tag, {}, element);
    for (const [letter, name] of Object.entries(CLASSES)) if (style.includes(letter)) element = el("span", { class: name }, element);
    return element;
  }
}

function indent(block) {
  const lists = block.kind === "heading" ? 0 : block.level ?? 0;
  return { "--lists": lists, "--quotes": block.quotes ?? 0 };
}
