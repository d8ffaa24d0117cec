// Measures the performance budgets of the page, on an idle machine, with a release build:
//
//     cargo build --release -p weft && WEFT=target/release/weft node crates/daemon/page/test/budgets.js
//
// Prints one line per budget, and exits with 1 if one is exceeded.

import { cpus, loadavg } from "node:os";
import { resolve } from "node:path";
import { browse, Daemon, manyNotes } from "./weft.js";

if (process.env.WEFT) process.env.WEFT = resolve(process.env.WEFT);

const NOTES = 5000;
const DRAWN = 2000;
const RUNS = 5;

const sorted = (numbers) => [...numbers].sort((a, b) => a - b);
const quantile = (numbers, share) => sorted(numbers)[Math.min(numbers.length - 1, Math.floor(share * numbers.length))] ?? 0;

const daemon = await Daemon.over(manyNotes(NOTES));
const browser = await browse();
const at = (hash) => `http://${daemon.address}/${hash}`;
const open = async (prepare) => {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  await page.addInitScript(prepare);
  return page;
};

/** Returns the time from the first request to the first painted hit with an empty browser cache, in milliseconds. */
async function firstAnswer() {
  const page = await open(() => {
    const look = new MutationObserver(() => {
      if (document.querySelector(".hit") === null) return;
      look.disconnect();
      // The hit is painted when the frame after the next one begins.
      requestAnimationFrame(() => requestAnimationFrame(() => (window.painted = performance.now())));
    });
    look.observe(document, { childList: true, subtree: true });
  });
  await page.goto(at("#/search?q=word42 common"));
  const painted = await page.waitForFunction(() => window.painted);
  const took = await painted.jsonValue();
  await page.context().close();
  return took;
}

/** Returns the durations of tasks longer than 50 ms while a query is typed, in milliseconds. */
async function longTasks() {
  const page = await open(() => {
    window.tasks = [];
    new PerformanceObserver((list) => window.tasks.push(...list.getEntries().map((task) => task.duration))).observe({ type: "longtask" });
  });
  await page.goto(at("#/search?q=word1"));
  await page.locator(".hit").first().waitFor();
  await page.waitForTimeout(500);
  await page.evaluate(() => (window.tasks.length = 0));
  await page.locator("#query").focus();
  await page.keyboard.type(" word42 common note word7 word11", { delay: 90 });
  await page.waitForTimeout(1000);
  const tasks = await page.evaluate(() => window.tasks);
  await page.context().close();
  return tasks;
}

/** Returns the times between frames while `DRAWN` notes are laid out, and while the picture is then moved, in milliseconds. */
async function frames() {
  const page = await open(() => {
    window.frames = [];
    let before = performance.now();
    const tick = (now) => {
      window.frames.push(now - before);
      before = now;
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  });
  await page.goto(at("#/note?uri=Note 7&hops=6"));
  const summary = page.locator(".around").getByText(/notes, /);
  await summary.waitFor();
  const drawn = Number(/^[\d,]+/.exec(await summary.textContent())[0].replaceAll(",", ""));
  const during = async (act) => {
    await page.evaluate(() => (window.frames.length = 0));
    await act();
    return page.evaluate(() => window.frames);
  };
  const settling = await during(() => page.waitForTimeout(5000));
  await page.waitForTimeout(5000);
  const box = await page.locator(".graph").boundingBox();
  const moved = await during(async () => {
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await page.mouse.down();
    for (let nth = 0; nth < 60; nth += 1) await page.mouse.move(box.x + box.width / 2 + 80 * Math.sin(nth / 8), box.y + box.height / 2 + nth);
    await page.mouse.up();
  });
  await page.context().close();
  return { drawn, settling, moved };
}

let allMet = true;
function budget(what, value, max, unit = "ms") {
  allMet &&= value <= max;
  console.log(`${value <= max ? "met     " : "EXCEEDED"} ${what.padEnd(58)} ${value.toFixed(0).padStart(6)} ${unit}, maximum ${max}`);
}

console.log(`${NOTES} notes, ${cpus().length} processors, load ${loadavg()[0].toFixed(1)}, ${process.env.WEFT ?? "target/debug/weft"}`);
const answers = [];
for (let run = 0; run < RUNS; run += 1) answers.push(await firstAnswer());
budget(`first answer painted, median of ${RUNS}`, quantile(answers, 0.5), 1000);
budget("longest task while typing", Math.max(0, ...(await longTasks())), 50);
const { drawn, settling, moved } = await frames();
budget("notes not drawn, of 2,000", DRAWN - drawn, 0, "");
budget("time between frames during layout, p95", quantile(settling, 0.95), 50);
budget("time between frames while moving, p95", quantile(moved, 0.95), 50);

await browser.close();
await daemon.end();
process.exitCode = allMet ? 0 : 1;
