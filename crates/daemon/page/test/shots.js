// Takes the screenshots in docs/page: node test/shots.js

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { browse, Daemon, EXAMPLE } from "./weft.js";

const home = join(import.meta.dirname, "../../../../docs/page");
mkdirSync(home, { recursive: true });

const QUESTION = "why+did+sailors+need+a+clock";
const VIEWS = [
  ["search", `#/search?q=${QUESTION}`, ".preview .body"],
  ["note", "#/note?uri=Leap second&hops=2", ".siblings summary"],
  ["context", `#/context?q=${QUESTION}&budget=1500`, ".ledger td"],
  ["index", "#/index", ".settings td"],
];
const SCHEMES = ["light", "dark"];
const SIZES = [
  ["wide", { width: 1440, height: 900 }],
  ["narrow", { width: 360, height: 780 }],
];

/** Image quality in percent: text stays sharp at a small size. */
const QUALITY = 85;

const [daemon, browser] = await Promise.all([Daemon.over(EXAMPLE, { model: "bundled-english" }), browse()]);
for (const colorScheme of SCHEMES) {
  for (const [size, viewport] of SIZES) {
    for (const [view, hash, shown] of VIEWS) {
      const page = await browser.newPage({ colorScheme, viewport, reducedMotion: "reduce" });
      await page.goto(`http://${daemon.address}/${hash}`);
      await page.locator(shown).first().waitFor({ state: "attached" });
      await page.locator(".pill.ready").waitFor();
      // The layout of the graph finishes.
      await page.waitForTimeout(2000);
      const screen = await page.context().newCDPSession(page);
      const { data } = await screen.send("Page.captureScreenshot", { format: "webp", quality: QUALITY });
      writeFileSync(join(home, `${view}-${size}-${colorScheme}.webp`), Buffer.from(data, "base64"));
      await page.close();
    }
  }
}
await browser.close();
await daemon.end();
