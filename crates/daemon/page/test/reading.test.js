// Rendering of note text.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Marked } from "marked";
import { transformWithOxc } from "vite";
import { visit } from "./stage.js";
import { Daemon, vault } from "./weft.js";

const NOTES = {
  "signs.md": [
    "# Signs",
    "It is ==lit *twice*==, a == b == c, H~2~O, ~~gone~~ and ~ 3 ~ 4.",
    "Seen %%not this%% and\n%%nor\nthis%%\nagain.",
    "Said[^1].\n\n[^1]: By *whom*\n    it was.",
    "![[clock.pdf]] and ![[clock.pdf|200]]",
    "Code keeps `==a== $b$ %%c%% ~d~`.",
  ].join("\n\n"),
  "math.md": [
    "# Math",
    "Let $a_1 * b_1 * c$ and $x^2 < y_i$; it costs $5 and $6, or \\$7.",
    "*Thin $a*b$ text* and $$z$$.",
    "$$\n\\sum_{i=1}^n *x*_i\n$$",
    "After.",
  ].join("\n\n"),
  "callouts.md": [
    "# Callouts",
    "> [!warning] Mind *this*\n> It may\n> [[b]]lock.\n>\n> - one",
    "> [!NOTE]- Folded\n> Hidden.",
    "> [!tip]+\n> Open.",
    "> [!unheard-of] What\n> Said.",
    "> [!quote]",
    "> A quote [!note] stays.",
  ].join("\n\n"),
  "right.md": "# عربي\n\n- بند\n- one\n  1. אחד\n\n> اقتباس\n\n> [!note] ملاحظة\n> نص\n\n| أ | ب |\n|---|---|\n| ج | د |\n\n- one\n- بند\n\nSee [[over]] and [[over|\u202eegami]] then this.\n",
  "over.md": "---\nparent: \"[[right]]\"\n---\n# Over \u202eturn\n\n[[right]]\n",
  "rtl.md": "# عربي\n\nهذه جملة.\n\nA sentence.\n\n- بند\n",
  "tables.md": [
    "# Tables",
    "| Left | Right | Middle |\n|:---|---:|:---:|\n| a | b | c |",
    "7. seven\n8. eight",
    '<table><tr><th colspan="2">both</th></tr><tr><td rowspan="2" align="right">tall</td><td>x</td></tr><tr><td>y</td></tr></table>',
    '<ol start="javascript:1"><li>one</li></ol>',
  ].join("\n\n"),
  "deep.md": `# Deep\n\n${">".repeat(3000)} ground\n`,
  "runs.md": `# Runs\n\n\`b\` \`\`c\`d\`\` \` e\` \`\`\` $x$ ~~~ $y$ \`\` f \` g \`\`\n\n${Array.from({ length: 400 }, (_, nth) => "`".repeat(nth)).join(" ")}\n`,
  "ticks.md": `# Ticks\n\n${Array.from({ length: 1500 }, (_, nth) => "`".repeat(nth)).join(" ")}\n`,
  "lists.md": `# Lists\n\n${Array.from({ length: 1500 }, (_, nth) => `${"  ".repeat(nth)}- a`).join("\n")}\n`,
  "nested.md": `# Nested\n\n${"<table><tr><td>".repeat(3000)}\n`,
  "long.md": `# ${"Long title ".repeat(60).trim()}\n\nText.\n`,
  "links.md": `# Links\n\n${Array.from({ length: 3000 }, (_, nth) => `[[Idea ${nth}]] is an idea.`).join("\n")}\n`,
};

let daemon;
before(async () => (daemon = await Daemon.over(vault(NOTES))));
after(() => daemon?.end());

/** Returns the markup of the note's text without presentational attributes. */
const body = (page) => page.locator(".body").evaluate((body) => body.innerHTML.replace(/ (?:dir|tabindex)="[^"]*"/g, "").replace(/\s+/g, " ").trim());

test("highlights, comments, footnotes, subscripts and files are rendered", async () => {
  await visit(daemon, "#/note?uri=signs", async (page) => {
    await page.locator(".body").waitFor();
    const html = await body(page);
    for (const part of [
      "<p>It is <mark>lit <em>twice</em></mark>, a == b == c, H<sub>2</sub>O, <del>gone</del> and ~ 3 ~ 4.</p>",
      "<p>Seen and</p><p>again.</p>",
      '<p>Said<sup>1</sup>.</p> <p class="footnote"><sup>1</sup> By <em>whom</em> it was.</p>',
      '<p><span class="file">clock.pdf</span> and <span class="file">clock.pdf</span></p>',
      "<code>==a== $b$ %%c%% ~d~</code>",
    ]) {
      assert.ok(html.replace(/> </g, "><").includes(part.replace(/> </g, "><")), `${part}\nis not in\n${html}`);
    }
  });
});

test("formulas are shown verbatim", async () => {
  await visit(daemon, "#/note?uri=math", async (page) => {
    await page.locator(".body").waitFor();
    assert.deepEqual(await page.locator(".body .math").allTextContents(), ["a_1 * b_1 * c", "x^2 < y_i", "a*b", "z", "\\sum_{i=1}^n *x*_i"]);
    const text = await page.locator(".body p").allTextContents();
    assert.ok(text[0].endsWith("it costs $5 and $6, or $7."), text[0]);
    assert.equal(await page.locator(".body em").textContent(), "Thin a*b text");
    assert.equal(text.at(-1), "After.");
  });
});

test("callouts are titled blocks, foldable if marked", async () => {
  await visit(daemon, "#/note?uri=callouts", async (page) => {
    await page.locator(".body").waitFor();
    const seen = await page.locator(".body > *").evaluateAll((blocks) =>
      blocks.map((block) => [block.tagName, block.className, block.querySelector(".title")?.textContent, block.open]),
    );
    assert.deepEqual(seen, [
      ["DIV", "callout callout-warning", "Mind this", undefined],
      ["DETAILS", "callout callout-note", "Folded", false],
      ["DETAILS", "callout callout-tip", "Tip", true],
      ["DIV", "callout callout-note", "What", undefined],
      ["DIV", "callout callout-quote", "Quote", undefined],
      ["BLOCKQUOTE", "", undefined, undefined],
    ]);
    for (const title of await page.locator(".callout .title").all()) assert.ok((await title.boundingBox()).height < 40, "a title is one line");
    assert.match(await page.locator(".callout-warning").textContent(), /It may\s+b\s*lock\.\s+one/);
    assert.equal(await page.locator(".callout .title").first().locator("em").count(), 1);
  });
});

test("right-to-left text is aligned right", async () => {
  await visit(daemon, "#/note?uri=rtl", async (page) => {
    await page.locator(".body").waitFor();
    const ways = await page.locator("h1, .body p, .body li").evaluateAll((blocks) => blocks.map((block) => getComputedStyle(block).direction));
    assert.deepEqual(ways, ["rtl", "rtl", "ltr", "rtl"]);
  });
});

test("list markers, quote bars and columns follow the text direction, inside the page", async () => {
  await visit(
    daemon,
    "#/note?uri=right",
    async (page) => {
      await page.locator(".body").waitFor();
      const ways = await page.locator(".body :is(ul, ol, blockquote, .callout, table)").evaluateAll((frames) => frames.map((frame) => [frame.localName, getComputedStyle(frame).direction]));
      assert.deepEqual(ways, [["ul", "rtl"], ["ol", "rtl"], ["blockquote", "rtl"], ["div", "rtl"], ["table", "rtl"], ["ul", "ltr"]]);
      const bar = await page.locator(".body blockquote").evaluate((quote) => [getComputedStyle(quote).borderRightWidth, getComputedStyle(quote).borderLeftWidth]);
      assert.deepEqual(bar, ["3px", "0px"]);
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0, "nothing overflows the page");
      for (const list of await page.locator(".body ul, .body ol").all()) {
        // The marker is outside its item, in the padding of the list or the item.
        const room = await list.evaluate((list) =>
          [...list.children].map((item) => {
            const [outer, inner] = [list.getBoundingClientRect(), item.getBoundingClientRect()];
            return getComputedStyle(item).direction === "rtl" ? outer.right - inner.right : inner.left - outer.left;
          }),
        );
        assert.ok(Math.min(...room) >= 20, room.join());
      }
    },
    { viewport: { width: 390, height: 800 } },
  );
});

test("a bidirectional control character in a name does not affect the text after it", async () => {
  await visit(daemon, "#/note?uri=right", async (page) => {
    // The text after a reversed text starts on its right.
    const after = (holder) =>
      page.locator(holder).evaluate((holder) => {
        const link = [...holder.querySelectorAll("a")].at(-1);
        const range = document.createRange();
        range.selectNodeContents(link.nextSibling);
        return range.getBoundingClientRect().left - link.getBoundingClientRect().right;
      });
    await page.locator("aside li", { hasText: "Over" }).waitFor();
    assert.ok(Math.abs(await after(".body > p:last-child")) < 3);
    assert.ok(Math.abs(await after("aside li >> nth=0")) < 8);
  });
});

test("hidden characters in a name are visible", async () => {
  await visit(daemon, "#/note?uri=over", async (page) => {
    await page.locator(".body").waitFor();
    assert.equal((await page.locator("h1#title").textContent())?.trim(), "Over \\u{202e}turn");
  });
});

test("a long title leaves room for the text on a small screen", async () => {
  await visit(
    daemon,
    "#/note?uri=long",
    async (page) => {
      const { height } = await page.locator("h1").boundingBox();
      assert.ok(height < 300, `the title takes ${height} pixels`);
      await page.goto(`http://${daemon.address}/#/search?q=long+title&mode=keyword`);
      const hit = await page.locator(".hit .head > a", { hasText: "Long title" }).first().boundingBox();
      assert.ok(hit.height < 110, `the hit's title takes ${hit.height} pixels`);
    },
    { viewport: { width: 360, height: 780 } },
  );
});

test("the preview shows the first lines of a long note", async () => {
  await visit(daemon, "#/search?q=links&mode=keyword", async (page) => {
    await page.locator(".preview .unresolved").first().waitFor();
    assert.ok((await page.locator(".preview .unresolved").count()) < 500);
    await page.locator(".preview").getByRole("link", { name: "Read more" }).click();
    await page.locator(".note .body .unresolved").nth(2999).waitFor();
  });
});

test("lists keep their numbers, and cells their alignment and spans", async () => {
  await visit(daemon, "#/note?uri=tables", async (page) => {
    await page.locator(".body").waitFor();
    const sides = await page.locator(".body table").first().locator("th, td").evaluateAll((cells) => cells.map((cell) => getComputedStyle(cell).textAlign.replace("-webkit-", "")));
    assert.deepEqual(sides, ["left", "right", "center", "left", "right", "center"]);
    assert.deepEqual(await page.locator(".body ol").evaluateAll((lists) => lists.map((list) => list.start)), [7, 1]);
    const spans = await page.locator(".body table").last().locator("th, td").evaluateAll((cells) => cells.map((cell) => [cell.colSpan, cell.rowSpan, cell.align]));
    assert.deepEqual(spans, [[2, 1, ""], [1, 2, "right"], [1, 1, ""], [1, 1, ""]]);
  });
});

test("a text that cannot be rendered is shown as plain text, without parts of another note", async () => {
  await visit(daemon, "#/note?uri=signs", async (page) => {
    await page.locator(".body mark").waitFor();
    await page.evaluate(() => (location.hash = "#/note?uri=deep"));
    await page.getByRole("heading", { level: 1, name: "Deep" }).waitFor();
    await page.locator(".note .notice", { hasText: "plain text" }).waitFor();
    assert.match(await page.locator(".body").textContent(), /^# Deep\n\n>{3000} ground\s*$/);
    await page.goBack();
    await page.locator(".body mark").waitFor();
    assert.equal(await page.locator(".notice").count(), 0);
  });
});

test("a text that takes too long to render is shown as plain text in time", async () => {
  for (const [name, said] of [
    ["ticks", "too long"],
    ["lists", "too long"],
    ["nested", "too deeply"],
  ]) {
    await visit(daemon, "#/note?uri=signs", async (page) => {
      await page.locator(".body mark").waitFor();
      const begun = performance.now();
      await page.evaluate((name) => (location.hash = `#/note?uri=${name}`), name);
      await page.locator(".note .notice", { hasText: said }).waitFor();
      assert.ok(performance.now() - begun < 10_000, `${name} took ${performance.now() - begun} ms`);
    });
  }
});

test("backtick runs of equal length delimit code, and others stay in the text", async () => {
  await visit(daemon, "#/note?uri=runs", async (page) => {
    await page.locator(".body").waitFor();
    assert.deepEqual(await page.locator(".body code").allTextContents(), ["b", "c`d", " e", "x", "y", "f ` g"]);
    assert.equal(await page.locator(".notice").count(), 0);
  });
});

test("any text is parsed quickly", async () => {
  const source = join(import.meta.dirname, "../src/syntax.ts");
  const { code } = await transformWithOxc(readFileSync(source, "utf8"), source);
  const { code: codespan, EXTENSIONS, withoutMath } = await import(`data:text/javascript,${encodeURIComponent(code)}`);
  const reader = new Marked({ gfm: true });
  reader.use({ extensions: [...EXTENSIONS], hooks: { emStrongMask: withoutMath }, tokenizer: { codespan } });
  // A parser with quadratic time would take more than a minute here.
  for (const sign of ["==", "==a=b", "$", "$a", "$$\n", "%%", "\n%%", "~", "~a", "[^", "[^a]: ", "![[", "[[#", "> [!a]\n", "a b\n"]) {
    const begun = performance.now();
    reader.parse(sign.repeat(10_000));
    assert.ok(performance.now() - begun < 6000, `${sign} took ${performance.now() - begun} ms`);
  }
});
