// Takes the pictures of docs/page: node test/shots.js

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { browse, Daemon, EXAMPLE } from "./weft.js";

const home = join(import.meta.dirname, "../../../../docs/page");
mkdirSync(home, { recursive: true });

const QUESTION = "why+did+sailors+need+a+clock";
const VIEWS = [
  ["search", `#/search?q=${QUESTION}`, ".hit"],
  ["note", "#/note?uri=Leap second&hops=2", ".graph canvas"],
  ["context", `#/context?q=${QUESTION}&budget=1500`, ".ledger td"],
  ["index", "#/index", ".files td"],
];
const LOOKS = [
  ["wide", { colorScheme: "light", viewport: { width: 1440, height: 900 } }],
  ["narrow", { colorScheme: "dark", viewport: { width: 360, height: 780 } }],
];

const [daemon, browser] = await Promise.all([Daemon.over(EXAMPLE, { model: "bundled" }), browse()]);
for (const [look, options] of LOOKS) {
  for (const [view, hash, shown] of VIEWS) {
    const page = await browser.newPage({ ...options, reducedMotion: "reduce" });
    await page.goto(`http://${daemon.address}/${hash}`);
    await page.locator(shown).first().waitFor();
    await page.locator(".pill.ready").waitFor();
    await page.waitForTimeout(2500);
    await page.screenshot({ path: join(home, `${view}-${look}.png`) });
    await page.close();
  }
}
await browser.close();
await daemon.end();
