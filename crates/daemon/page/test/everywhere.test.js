// What holds in every view: everybody can use it, and it bears a large vault.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import { daemon, LEAP, visit } from "./stage.js";
import { Daemon, manyNotes } from "./weft.js";

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

test("nothing serious is found by axe, in each view, light and dark, narrow and wide", async () => {
  const looks = [
    { colorScheme: "light", viewport: { width: 1280, height: 900 } },
    { colorScheme: "dark", viewport: { width: 360, height: 740 } },
  ];
  const views = [
    [`${LEAP}&explain=1`, ".explained"],
    ["#/note?uri=Leap second", ".graph canvas"],
    ["#/note", ".columns a"],
    ["#/context?q=leap second", ".ledger"],
    ["#/index", ".settings td"],
  ];
  for (const look of looks) {
    // axe is put in from outside, which the page's own policy rightly forbids.
    await visit(
      daemon,
      "",
      async (page) => {
        for (const [hash, shown] of views) {
          await page.goto(`http://${daemon.address}/${hash}`);
          await page.locator(shown).first().waitFor();
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

test("five thousand notes are listed, searched and drawn", async () => {
  const large = await Daemon.over(manyNotes(5000));
  try {
    await visit(large, "#/search?q=word42 common", async (page) => {
      await page.locator(".hit").nth(9).waitFor();
      await page.goto(`http://${large.address}/#/note?uri=Note 7&hops=6`);
      await page.locator(".graph canvas").first().waitFor();
      await page.locator(".around").getByText(/\d notes, /).waitFor();
      await page.goto(`http://${large.address}/#/index`);
      await page.locator(".files td").first().waitFor();
      await page.goto(`http://${large.address}/#/note`);
      await page.locator(".columns a").nth(4999).waitFor();
    });
  } finally {
    await large.end();
  }
});
