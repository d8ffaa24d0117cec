// Ranges of a body.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { transformWithOxc } from "vite";

const source = join(import.meta.dirname, "../src/spans.ts");
const { code } = await transformWithOxc(readFileSync(source, "utf8"), source);
const { common, outside, textOf } = await import(`data:text/javascript,${encodeURIComponent(code)}`);

const range = ([start, end]) => ({ start, end });
const ranges = (pairs) => pairs.map(range);

test("two ranges have a common part unless they only touch", () => {
  for (const [name, one, other, expected] of [
    ["apart", [0, 2], [3, 5], undefined],
    ["touching", [0, 3], [3, 5], undefined],
    ["overlapping", [0, 4], [3, 5], [3, 4]],
    ["inside", [0, 9], [3, 5], [3, 5]],
    ["empty", [3, 3], [0, 9], undefined],
  ]) {
    assert.deepEqual(common(range(one), range(other)), expected && range(expected), name);
    assert.deepEqual(common(range(other), range(one)), expected && range(expected), name);
  }
});

test("the parts outside other ranges remain", () => {
  for (const [name, some, others, expected] of [
    ["nothing", [], [[0, 5]], []],
    ["no others", [[0, 5], [7, 9]], [], [[0, 5], [7, 9]]],
    ["equal", [[0, 5]], [[0, 5]], []],
    ["grown at both ends", [[0, 9]], [[3, 5]], [[0, 3], [5, 9]]],
    ["two inside one", [[0, 20]], [[2, 4], [8, 10]], [[0, 2], [4, 8], [10, 20]]],
    ["one over two", [[0, 5], [8, 12]], [[3, 10]], [[0, 3], [10, 12]]],
    ["covered", [[3, 5]], [[0, 9]], []],
    ["before and after", [[3, 5]], [[0, 3], [5, 9]], [[3, 5]]],
  ]) {
    assert.deepEqual(outside(ranges(some), ranges(others)), ranges(expected), name);
  }
});

test("the text of a range is found in the blocks", () => {
  for (const [name, text, blocks, wanted, expected] of [
    ["a part of one block", "abcdef", [[10, 16]], [12, 14], "cd"],
    ["a whole block", "abcdef", [[10, 13], [20, 23]], [20, 23], "def"],
    ["across a gap", "abcdef", [[10, 13], [20, 23]], [12, 21], "cd"],
    ["outside", "abcdef", [[10, 16]], [0, 5], ""],
    ["characters, not units", "a😀b😀c", [[0, 5]], [1, 4], "😀b😀"],
    ["lengths that disagree", "abc\ndef", [[10, 13], [20, 23]], [20, 23], ""],
    ["no blocks", "Title", [], [0, 5], ""],
  ]) {
    assert.equal(textOf(text, ranges(blocks), range(wanted)), expected, name);
  }
});
