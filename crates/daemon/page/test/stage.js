// A browser and a daemon for the example vault, shared by the tests of one file.

import assert from "node:assert/strict";
import { after, before } from "node:test";
import { browse, Daemon, EXAMPLE } from "./weft.js";

let browser;

/** Daemon for the example vault, without a model. */
export let daemon;

before(async () => {
  [browser, daemon] = await Promise.all([browse(), Daemon.over(EXAMPLE)]);
});
after(async () => {
  await browser?.close();
  await daemon?.end();
});

/** A keyword search whose first hit is the note of that name. */
export const LEAP = "#/search?q=leap+second&mode=keyword";

/** Waits until no element matches. */
export const gone = (page, selector) => page.waitForFunction((selector) => document.querySelector(selector) === null, selector);

/** Waits until all responses of a view have arrived and none is outdated. */
export const settled = (page) => gone(page, ".waiting, .stale");

/** Opens a view of a daemon, passes it to `look`, and fails on errors in the page. */
export async function visit(at, hash, look, options = {}) {
  const { forgive = [], ...rest } = options;
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, ...rest });
  page.setDefaultTimeout(60_000);
  const wrongs = [];
  page.on("pageerror", (error) => wrongs.push(error.message));
  page.on("console", (message) => {
    const text = message.text();
    if (message.type() === "error" && !forgive.some((pattern) => pattern.test(text))) wrongs.push(text);
  });
  try {
    await page.goto(`http://${at.address}/${hash}`);
    await look(page);
    assert.deepEqual(wrongs, []);
  } finally {
    await page.close();
  }
}
