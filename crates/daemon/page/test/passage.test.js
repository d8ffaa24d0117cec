// Passages as plain text.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { transformWithOxc } from "vite";

const source = join(import.meta.dirname, "../src/passage.ts");
const { code } = await transformWithOxc(readFileSync(source, "utf8"), source);
const { passage, snippetPieces } = await import(`data:text/javascript,${encodeURIComponent(code)}`);

const read = (text, start = 1, spans = []) =>
  passage(text, start, spans)
    .map((piece) => (piece.marked ? `‹${piece.text}›` : piece.text))
    .join("");

test("Markdown syntax is removed", () => {
  for (const [name, written, shown] of [
    ["nothing", "", ""],
    ["plain text", "It is 3 * 4, a_b_c, x < y and [sic].", "It is 3 * 4, a_b_c, x < y and [sic]."],
    ["a wikilink", "See [[Leap second]].", "See Leap second."],
    ["with another text", "See [[Leap second|the sixty-first]].", "See the sixty-first."],
    ["an embed", "![[Clock.png]] Done.", "Clock.png Done."],
    ["a link", "See [the *clock*](https://a.example/x_(y) \"so\").", "See the clock."],
    ["an image", "![A clock](clock.png).", "A clock."],
    ["a reference", "See [the clock][1].", "See the clock."],
    ["a link that a cut ends", "See [[Leap second|the sixty", "See the sixty …"],
    ["a link that a cut begins", "the sixty-first]] came.", "… the sixty-first came."],
    ["emphasis", "**Bold**, *thin*, _thin_, ~~gone~~, ==lit==.", "Bold, thin, thin, gone, lit."],
    ["strong around a link", "**[[a|B]]**.", "B."],
    ["what a cut left of code", "` of: `<account> <key>`. Then `<va", "… of: <account> <key>. Then <va …"],
    ["a link that a cut ends at its sign", "See [[Leap second|", "See Leap second …"],
    ["code keeps what it holds", "Write `[[a]]` and ``*b*``.", "Write [[a]] and *b*."],
    ["a heading and a list", "# Clocks\n- one\n* two.", "Clocks\n one\n two."],
    ["a heading in a list", "- ## Clocks\nOne.", "Clocks\nOne."],
    ["a quote", "> said\n> > he.", "… said\nhe."],
    ["a table", "| A | b |\n|---|:-:|\n| 1 | two. |", "A  b \n\n 1  two."],
    ["footnotes", "Said.[^1]\n[^1]: By [^x y] him.", "Said.\n By [^x y] him."],
    ["a callout", "> [!note]- Mind\n> this [!note].", "Mind\nthis [!note]."],
    ["a remark", "Seen.%%not this%%", "Seen."],
    ["a block's name", "So it is. ^so", "So it is."],
    ["tags", "A <b>bold</b> <!-- no --> <br/>word of <Key>.", "A bold  word of <Key>."],
    ["the end of a sentence before", ". The watch was right.", "The watch was right."],
    ["the middle of a sentence", ", keeps them together, as", "… keeps them together, as …"],
  ]) {
    assert.equal(read(written).trim(), shown, name);
  }
});

test("marks stay on their words, counted in characters of the body", () => {
  for (const [name, written, start, spans, shown] of [
    ["in a link", "See [[Leap second|the second]].", 10, [[32, 38]], "See the ‹second›."],
    ["in what is hidden", "See [[Leap second|it]].", 0, [[6, 10]], "See it."],
    ["across a sign", "A **leap** second.", 0, [[4, 17]], "A ‹leap second›."],
    ["after a character of two units", "𝄞 **clock**.", 5, [[9, 14]], "𝄞 ‹clock›."],
    ["where the body begins", "clock", 0, [[0, 5]], "‹clock› …"],
    ["at the start of the passage", "clock and sun.", 7, [[7, 12], [17, 20]], "… ‹clock› and ‹sun›."],
  ]) {
    const ranges = spans.map(([from, to]) => ({ start: from, end: to }));
    assert.equal(read(written, start, ranges), shown, name);
  }
});

test("matches of a snippet count characters of its displayed text", () => {
  for (const [name, text, [startsInside, endsInside], spans, shown] of [
    ["whole", "See the second.", [false, false], [[8, 14]], "See the ‹second›."],
    ["after a character of two units", "𝄞 clock.", [false, false], [[2, 7]], "𝄞 ‹clock›."],
    ["cut at the end", "clock", [false, true], [[0, 5]], "‹clock› …"],
    ["cut at the start", "clock and sun.", [true, false], [[0, 5], [10, 13]], "… ‹clock› and ‹sun›."],
    ["none", "Signs [[stay]] *here*.", [false, false], [], "Signs [[stay]] *here*."],
  ]) {
    const matches = spans.map(([from, to]) => ({ start: from, end: to }));
    const pieces = snippetPieces({ text, matches, startsInside, endsInside });
    assert.equal(pieces.map((piece) => (piece.marked ? `‹${piece.text}›` : piece.text)).join(""), shown, name);
  }
});

test("any text is processed quickly", () => {
  for (const sign of ["[", "[[", "![", "*", "`", "_", "<", "<!--", "(", "[a](", "|", "> ", "~~a", "%%", "[^", "[!a]", "\\"]) {
    const begun = performance.now();
    read(sign.repeat(2000));
    assert.ok(performance.now() - begun < 500, `${sign} took ${performance.now() - begun} ms`);
  }
});
