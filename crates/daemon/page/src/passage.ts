// A passage of a note as plain text: without Markdown syntax, with the terms of the query marked. Never markup.

/** A part of a passage, marked or not. */
export interface Piece {
  readonly text: string;
  readonly marked: boolean;
}

/** A half-open range of a text, in UTF-16 units. */
interface Range {
  readonly start: number;
  readonly end: number;
}

/** Code spans, whose text is shown unchanged. A delimiter next to a space is a remainder of a cut. */
const CODE = /(?<ticks>`+)(?<kept>[^`\s](?:[^`]*[^`\s])?)\k<ticks>/dg;

/** One row per Markdown construct: the group `kept` is shown, the rest is hidden. */
const SIGNS: readonly RegExp[] = [
  // [[target|shown]], [[target]], ![[embed]], and their remainders after a cut
  /!?\[\[(?:[^\]|\n]*\|)?(?<kept>[^\]|\n]+)(?:\]\]|\|?$)/dg,
  /^(?<kept>[^[\n]*?)\]\]/dg,
  // [shown](target), ![shown](target), [shown][label]
  /!?\[(?<kept>[^[\]\n]*)\](?:\((?:<[^>\n]*>|[^()\s]*(?:\([^()\s]*\)[^()\s]*)*)(?:\s+"[^"\n]*")?(?:\)|$)|\[[^\]\n]*\])/dg,
  // **strong**, __strong__, ~~struck~~, ==highlighted==
  /(?<sign>\*\*|__|~~|==)(?=\S)(?<kept>[^\n]+?)(?<=\S)\k<sign>/dg,
  // *emphasis*, _emphasis_
  /(?<![\p{L}\p{N}*_])(?<sign>[*_])(?=[^\s*_])(?<kept>[^*_\n]+?)(?<=\S)\k<sign>(?![\p{L}\p{N}*_])/dgu,
  // headings, quotes, list markers, fences, table rules, columns, block names, comments, tags, unpaired backticks
  /^[ \t]*(?:(?:[-*+][ \t]+)?#{1,6}(?=\s)|(?:>[ \t]?)+|[-*+](?=\s)|(?:`{3}|~{3}).*$)/dgm,
  /^[ \t]*\|?[ \t]*:?-{3,}:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/dgm,
  /(?<=^|\s)\|(?=\s|$)/dg,
  /[ \t]\^[\w-]+$/dgm,
  // footnotes, kinds of callouts, hidden comments
  /\[\^[^\]\s]{1,99}\](?::(?=\s))?/dg,
  /(?<=^[ \t>]*)\[![\w-]+\][+-]?/dgm,
  /%%[^]*?%%/dg,
  /<!--[^]*?-->|<\/?(?:a|b|br|center|code|del|details|div|em|font|h[1-6]|hr|i|img|kbd|li|mark|ol|p|pre|s|small|span|strong|sub|summary|sup|table|tbody|td|th|thead|tr|u|ul)(?:\s[^<>\n]*)?\/?>/dgi,
  /`+/dg,
];

/** Returns the hidden ranges of `text`. */
function hidden(text: string): Range[] {
  const found: Range[] = [];
  const hide = (at: string, sign: RegExp) => {
    for (const match of at.matchAll(sign)) {
      const [start, end] = [match.index, match.index + match[0].length];
      const kept = match.indices?.groups?.["kept"];
      if (kept === undefined) found.push({ start, end });
      else found.push({ start, end: kept[0] }, { start: kept[1], end });
    }
  };
  hide(text, CODE);
  const prose = text.replace(CODE, (code) => "x".repeat(code.length));
  for (const sign of SIGNS) hide(prose, sign);
  return found;
}

/** A snippet of a hit. */
interface SnippetText {
  readonly text: string;
  readonly matches: readonly Range[];
  readonly startsInside: boolean;
  readonly endsInside: boolean;
}

/**
 * Splits the displayed text of a snippet along its matches, which are in Unicode scalar values.
 *
 * A snippet that starts or ends inside a sentence is marked by an ellipsis.
 */
export function snippetPieces({ text, matches, startsInside, endsInside }: SnippetText): Piece[] {
  const characters = [...text];
  const pieces: Piece[] = [];
  const add = (from: number, to: number, marked: boolean) => {
    if (from < to) pieces.push({ text: characters.slice(from, to).join(""), marked });
  };
  let at = 0;
  for (const span of matches) {
    add(at, span.start, false);
    add(Math.max(at, span.start), span.end, true);
    at = Math.max(at, span.end);
  }
  add(at, characters.length, false);
  if (startsInside) pieces.unshift({ text: "… ", marked: false });
  if (endsInside) pieces.push({ text: " …", marked: false });
  return pieces;
}

/**
 * Splits `text`, which starts at character `start` of its body, along ascending spans of the same body, and removes Markdown syntax.
 *
 * Characters are Unicode scalar values. The remainder of a previous sentence at the start is removed; a passage that starts or ends inside a sentence is marked by an ellipsis.
 */
export function passage(text: string, start: number, spans: readonly Range[]): Piece[] {
  const gone = new Uint8Array(text.length);
  for (const range of hidden(text)) gone.fill(1, range.start, range.end);
  const pieces: { text: string; marked: boolean }[] = [];
  let [unit, nth, span] = [0, start, 0];
  for (const character of text) {
    while (nth >= (spans[span]?.end ?? Infinity)) span += 1;
    const marked = nth >= (spans[span]?.start ?? Infinity);
    const last = pieces.at(-1);
    if (gone[unit] === 0) {
      if (last?.marked === marked) last.text += character;
      else pieces.push({ text: character, marked });
    }
    unit += character.length;
    nth += 1;
  }
  const [first, last] = [pieces[0], pieces.at(-1)];
  if (first !== undefined && last !== undefined) {
    if (!first.marked) first.text = first.text.replace(/^[\s.,;:!?)\]}»”’]+/u, "");
    if (start > 0 && /^\p{Ll}/u.test(pieces.find((piece) => piece.text !== "")?.text ?? "")) pieces.unshift({ text: "… ", marked: false });
    if (/[\p{L}\p{N},;:–—-]\s*$/u.test(last.text)) pieces.push({ text: " …", marked: false });
  }
  return pieces.filter((piece) => piece.text !== "");
}
