// Ranges of a note's body, in Unicode scalar values.

/** A half-open range. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/** Returns the common part of two ranges; `undefined` if it is empty. */
export function common(one: Range, other: Range): Range | undefined {
  const [start, end] = [Math.max(one.start, other.start), Math.min(one.end, other.end)];
  return start < end ? { start, end } : undefined;
}

/** Returns the parts of `ranges` outside `others`; both are ascending and disjoint. */
export function outside(ranges: readonly Range[], others: readonly Range[]): Range[] {
  const found: Range[] = [];
  for (const range of ranges) {
    let { start } = range;
    for (const other of others) {
      const inside = common({ start, end: range.end }, other);
      if (inside === undefined) continue;
      if (start < inside.start) found.push({ start, end: inside.start });
      start = inside.end;
    }
    if (start < range.end) found.push({ start, end: range.end });
  }
  return found;
}

/** Returns the part of `range` that `text` contains, which is the concatenation of `blocks`; empty if the lengths disagree. */
export function textOf(text: string, blocks: readonly Range[], range: Range): string {
  const length = blocks.reduce((sum, { start, end }) => sum + end - start, 0);
  // Without surrogates, a position in UTF-16 units is one in characters, and the text need not be split.
  const characters = text.length === length ? text : [...text];
  if (characters.length !== length) return "";
  let [found, before] = ["", 0];
  for (const block of blocks) {
    const part = common(block, range);
    if (part !== undefined) {
      const slice = characters.slice(before + part.start - block.start, before + part.end - block.start);
      found += typeof slice === "string" ? slice : slice.join("");
    }
    before += block.end - block.start;
  }
  return found;
}
