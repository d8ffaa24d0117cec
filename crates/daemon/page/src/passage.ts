// A passage of a note as people read it: without the signs of Markdown, the words of the query marked. Text alone, never markup.

/** A piece of a passage, marked or not. */
export interface Piece {
  readonly text: string;
  readonly marked: boolean;
}

/** Where something stands in a text, in UTF-16 units; the end is the first unit after it. */
interface Range {
  readonly start: number;
  readonly end: number;
}

/** Code, which shows its text as it is. A sign with a space inside was left by a cut. */
const CODE = /(?<ticks>`+)(?<kept>[^`\s](?:[^`]*[^`\s])?)\k<ticks>/dg;

/** One row per construct of Markdown: what the group `kept` holds is shown, the rest is not. */
const SIGNS: readonly RegExp[] = [
  // [[target|shown]], [[target]], ![[embed]], and what a cut leaves of them
  /!?\[\[(?:[^\]|\n]*\|)?(?<kept>[^\]|\n]+)(?:\]\]|\|?$)/dg,
  /^(?<kept>[^[\n]*?)\]\]/dg,
  // [shown](target), ![shown](target), [shown][label]
  /!?\[(?<kept>[^[\]\n]*)\](?:\((?:<[^>\n]*>|[^()\s]*(?:\([^()\s]*\)[^()\s]*)*)(?:\s+"[^"\n]*")?(?:\)|$)|\[[^\]\n]*\])/dg,
  // **strong**, __strong__, ~~struck~~, ==highlighted==
  /(?<sign>\*\*|__|~~|==)(?=\S)(?<kept>[^\n]+?)(?<=\S)\k<sign>/dg,
  // *emphasis*, _emphasis_
  /(?<![\p{L}\p{N}*_])(?<sign>[*_])(?=[^\s*_])(?<kept>[^*_\n]+?)(?<=\S)\k<sign>(?![\p{L}\p{N}*_])/dgu,
  // headings, quotes, list marks, fences, the rules of tables, columns, blocks' names, comments, tags, half of a pair of ticks
  /^[ \t]*(?:(?:[-*+][ \t]+)?#{1,6}(?=\s)|(?:>[ \t]?)+|[-*+](?=\s)|(?:`{3}|~{3}).*$)/dgm,
  /^[ \t]*\|?[ \t]*:?-{3,}:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/dgm,
  /(?<=^|\s)\|(?=\s|$)/dg,
  /[ \t]\^[\w-]+$/dgm,
  // footnotes, the kinds of callouts, remarks for the writer alone
  /\[\^[^\]\s]{1,99}\](?::(?=\s))?/dg,
  /(?<=^[ \t>]*)\[![\w-]+\][+-]?/dgm,
  /%%[^]*?%%/dg,
  /<!--[^]*?-->|<\/?(?:a|b|br|center|code|del|details|div|em|font|h[1-6]|hr|i|img|kbd|li|mark|ol|p|pre|s|small|span|strong|sub|summary|sup|table|tbody|td|th|thead|tr|u|ul)(?:\s[^<>\n]*)?\/?>/dgi,
  /`+/dg,
];

/** What is not shown of `text`. */
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

/**
 * Cuts `text`, which starts at character `start` of its body, along spans of the same body, ascending, and leaves out the signs of Markdown.
 *
 * Characters are Unicode scalar values. What a cut left of a sentence's end before the passage is left out; a passage that begins or ends within a sentence says so by dots.
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
