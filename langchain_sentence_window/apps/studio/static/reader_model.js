// A document as the server sent it: its sentences, its blocks, and any stretch of its text.
//
// A sentence is known by its position in the list of those that may be shown, which is its index in the document unless
// a filter hides some.

import { codePoints, lastAtMost, unitsOf } from "./reader_offsets.js";

/** The style of characters that say how others look; they are in the page, and aren't shown. */
export const MARK = "m";

/**
 * Make a model of a document.
 *
 * @param {Object} data What `/api/document` returns.
 */
export function createModel(data) {
  const starts = data.sentences.map(([start]) => start);
  const positions = data.indexes && new Map(data.indexes.map((index, position) => [index, position]));
  const pieces = []; // every run of text, in order
  const blockStarts = data.blocks.map((block) => block.start);
  const paths = headingPaths(data.blocks);
  for (const block of data.blocks) {
    let start = block.start;
    for (const [texts] of runsOf(block)) {
      for (const text of texts) {
        pieces.push({ start, text });
        start += codePoints(text);
      }
    }
  }
  const pieceStarts = pieces.map((piece) => piece.start);

  /** Return the text between two code points, as far as it is there. */
  function slice(start, end) {
    const parts = [];
    for (let at = Math.max(0, lastAtMost(pieceStarts, start)); at < pieces.length && pieces[at].start < end; at += 1) {
      const { start: from, text } = pieces[at];
      parts.push(text.slice(unitsOf(text, Math.max(0, start - from)), unitsOf(text, Math.max(0, end - from))));
    }
    return parts.join("");
  }

  return {
    data,
    count: starts.length,
    start: data.start,
    end: data.length,
    pieces,
    pieceStarts,
    slice,
    /** Return the code points of a sentence, `[start, end]`. */
    span: (position) => data.sentences[position],
    indexOf: (position) => (data.indexes ? data.indexes[position] : position),
    positionOf: (index) => (positions ? positions.get(index) ?? -1 : index < starts.length ? index : -1),
    /** Return the sentence at a code point, or the one before it; the first one if there is none. */
    at: (start) => Math.max(0, lastAtMost(starts, start)),
    pageOf: (position) => data.sentence_pages?.[position] ?? null,
    /** Return the headings above a code point: `[{title, start}]`, the outermost first. */
    path: (start) => paths[lastAtMost(blockStarts, start)] ?? [],
    /** Return what a reader tells of a sentence. */
    sentence(position) {
      const [start, end] = data.sentences[position];
      const index = data.indexes ? data.indexes[position] : position;
      return { docId: data.doc_id, index, start, end, text: slice(start, end) };
    },
  };
}

/** Return the runs of a block, those of its cells too: each `[texts, sentences, styles]`. */
export function runsOf(block) {
  return block.rows ? block.rows.flatMap((row) => row.cells) : [block.runs];
}

function headingPaths(blocks) {
  const paths = [];
  let open = [];
  for (const block of blocks) {
    if (block.kind === "heading") {
      const level = block.level || 1;
      const title = block.runs[0].filter((_, i) => !block.runs[2][i]?.includes(MARK)).join("").trim();
      open = [...open.filter((each) => each.level < level), { level, title, start: block.start }];
    }
    paths.push(open);
  }
  return paths;
}
