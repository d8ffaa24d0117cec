// All views: every control works on a small and a large vault, and the page is accessible.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import * as controls from "./controls.js";
import { daemon, LEAP, settled, visit } from "./stage.js";
import { Daemon, manyNotes, vault } from "./weft.js";

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

test("axe finds no serious problem in any view, theme or width", async () => {
  const looks = [
    { colorScheme: "light", viewport: { width: 1280, height: 900 } },
    { colorScheme: "dark", viewport: { width: 360, height: 740 } },
    { colorScheme: "light", viewport: { width: 360, height: 740 } },
    { colorScheme: "dark", viewport: { width: 2560, height: 1300 } },
  ];
  const views = [
    ["#/search", ".welcome"],
    [`${LEAP}&explain=1&not=Pendulum`, ".verdict"],
    ["#/search?q=clock&path=[", ".failed"],
    ["#/note?uri=Leap second", ".siblings summary"],
    ["#/note", ".columns a"],
    ["#/context?q=leap second&more=1&compare=1", ".variant"],
    ["#/context?q=leap second&packing=classic", ".ledger"],
    ["#/index", ".settings td"],
  ];
  for (const look of looks) {
    // axe is injected, which the page's content security policy forbids.
    await visit(
      daemon,
      "",
      async (page) => {
        for (const [hash, shown] of views) {
          await page.goto(`http://${daemon.address}/${hash}`);
          await page.locator(shown).first().waitFor();
          await settled(page);
          await page.addScriptTag({ path: AXE });
          const { violations } = await page.evaluate(() => window.axe.run());
          const grave = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
          assert.deepEqual(grave.map(({ id, nodes }) => [id, nodes.map((node) => node.html).slice(0, 3)]), [], `${hash} ${look.colorScheme} ${look.viewport.width}`);
          const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
          assert.ok(over <= 0, `${hash} is ${over} pixels too wide at ${look.viewport.width}`);
        }
      },
      { ...look, bypassCSP: true },
    );
  }
});

/** Uses every control of every view of a daemon over a vault. */
async function everyControl(at, vault) {
  const views = [
    ["#/search", controls.search],
    [`#/note?uri=${vault.note}&budget=0`, controls.note],
    ["#/context", controls.context],
    ["#/index", controls.index],
    ["#/search", controls.frame],
  ];
  for (const [hash, use] of views) await visit(at, hash, (page) => use(page, vault), { reducedMotion: "reduce" });
}

test("each view has one heading with its name, and navigation moves the focus there", async () => {
  for (const [hash, name] of [
    ["#/search", "Search"],
    [LEAP, "Search"],
    ["#/note", "Notes"],
    ["#/note?uri=Leap second", "Leap second"],
    ["#/note?uri=Nobody", "Not found"],
    ["#/context?q=clock", "Context"],
    ["#/index", "Index"],
  ]) {
    await visit(daemon, "#/context", async (page) => {
      await page.evaluate((hash) => (location.hash = hash), hash);
      await page.getByRole("heading", { level: 1, name, exact: true }).waitFor({ state: "attached" });
      await settled(page);
      assert.equal(await page.locator("h1").count(), 1, hash);
      const at = await page.evaluate(() => [document.activeElement.id || document.activeElement.textContent.trim(), document.activeElement.tagName]);
      assert.ok(at[0] === "query" || (at[0] === name && at[1] === "H1") || at[0] === "title", `${hash}: ${at}`);
    });
  }
});

test("meanings shown by color are also visible with forced colors", async () => {
  const looks = (page, some, other) =>
    page.evaluate(
      (selectors) =>
        selectors.map((selector) => {
          const style = getComputedStyle(document.querySelector(selector));
          return [style.backgroundColor, style.color, style.outlineStyle].join();
        }),
      [some, other],
    );
  for (const colorScheme of ["light", "dark"]) {
    await visit(
      daemon,
      LEAP,
      async (page) => {
        await page.locator(".hit").nth(1).waitFor();
        for (const [some, other] of [
          [".top nav a[aria-current]", ".top nav a:not([aria-current])"],
          [".choice input:checked + span", ".choice input:not(:checked) + span"],
          [".hit[aria-current]", ".hit:not([aria-current])"],
          [".track .similarity", ".track .centrality"],
        ]) {
          const [one, another] = await looks(page, some, other);
          assert.notEqual(one, another, some);
        }
        await page.goto(`http://${daemon.address}/#/note?uri=Leap second`);
        await page.locator(".signs .near").waitFor();
        const [near, here] = await looks(page, ".signs .near", ".signs .dot:not(.near)");
        assert.notEqual(near, here);
        await page.goto(`http://${daemon.address}/#/context?q=leap second&budget=500`);
        await page.locator(".passages .chosen").first().waitFor();
        const edges = await page.evaluate(() => [".chosen", "tr:not(.chosen, .note-row)"].map((row) => getComputedStyle(document.querySelector(`.passages tbody ${row} > :first-child`)).borderLeftStyle));
        assert.notEqual(edges[0], edges[1]);
        const [bar, track] = await looks(page, ".evidence .track span", ".evidence .track");
        assert.notEqual(bar, track);
      },
      { forcedColors: "active", colorScheme },
    );
  }
});

test("in print everything is dark on light, and nothing is cut or overlaps the text", async () => {
  const row = (cell) => `|${Array.from({ length: 14 }, (_, nth) => ` ${cell(nth)} `).join("|")}|`;
  const wide = `# Wide\n\n${row((nth) => `Column ${nth}`)}\n${row(() => "---")}\n${row((nth) => `A longer value ${nth}`)}\n\n\`\`\`\n${"code that goes on and on ".repeat(20)}\n\`\`\`\n`;
  const files = Object.fromEntries(Array.from({ length: 80 }, (_, nth) => [`n${nth}.md`, `# Note ${nth}\n`]));
  const printed = await Daemon.over(vault({ ...files, "wide.md": wide }));
  try {
    for (const [hash, shown] of [
      ["#/note?uri=wide", ".body pre"],
      ["#/index", ".files td"],
      ["#/context?q=note&more=1&compare=1", ".variant .rendered"],
      ["#/search?q=note&mode=keyword", ".hit"],
    ]) {
      await visit(
        printed,
        hash,
        async (page) => {
          await page.locator(shown).first().waitFor();
          await settled(page);
          // Width of a paper page between its margins.
          await page.setViewportSize({ width: 718, height: 1000 });
          await page.emulateMedia({ media: "print", colorScheme: "dark" });
          const seen = await page.evaluate(() => {
            const cut = [...document.querySelectorAll("main *")].filter((each) => each.checkVisibility() && !each.matches(".unseen, .unseen *, .accordion *, .hit .head > a") && getComputedStyle(each).overflow !== "visible" && (each.scrollWidth > each.clientWidth + 1 || each.scrollHeight > each.clientHeight + 1));
            return { cut: cut.map((each) => each.className), over: document.documentElement.scrollWidth - innerWidth, ink: getComputedStyle(document.body).color, skip: document.querySelector(".skip").checkVisibility() };
          });
          assert.deepEqual(seen, { cut: [], over: 0, ink: "rgb(34, 40, 43)", skip: false }, hash);
        },
        { colorScheme: "dark" },
      );
    }
  } finally {
    await printed.end();
  }
});

test("every control of every view works, on the example vault", () =>
  everyControl(daemon, { query: "clock", note: "Leap second", far: "Pendulum", folder: "Instruments", file: "Leap second.md" }));

test("every control works on 5,000 notes, which are all listed", async () => {
  const large = await Daemon.over(manyNotes(5000));
  try {
    await everyControl(large, { query: "word42 common", note: "Note 7", far: "Note 49", folder: "f7", file: "Note 4999.md" });
    await visit(large, "#/note", (page) => page.locator(".columns a").nth(4999).waitFor());
    await visit(large, "#/note?uri=Note 7&hops=6", (page) => page.locator(".around").getByText(/\d notes, /).waitFor());
  } finally {
    await large.end();
  }
});
