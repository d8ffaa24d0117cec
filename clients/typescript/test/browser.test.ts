import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type * as Client from "@noteweft/client/web";
import { connect, NoteweftError } from "@noteweft/client/web";
import { build } from "esbuild";
import { chromium } from "playwright-core";
import { Daemon, PACKAGE, READ_TOKEN } from "./daemon.js";

const BROWSER = process.env["CHROMIUM"] ?? "/usr/bin/chromium";

let daemon: Daemon;
before(async () => {
  daemon = await Daemon.open();
});
after(() => daemon.end());

test("a page asks the daemon that serves it", async () => {
  const bundled = await build({
    stdin: { contents: 'export * from "@noteweft/client";', resolveDir: PACKAGE },
    bundle: true,
    format: "iife",
    globalName: "noteweft",
    metafile: true,
    write: false,
  });
  const inputs = Object.keys(bundled.metafile.inputs);
  assert.ok(inputs.some((path) => path.endsWith("dist/web.js")));
  assert.ok(!inputs.some((path) => /connect-node|smol-toml|dist\/node\.js/.test(path)), inputs.join("\n"));

  const browser = await chromium.launch({ executablePath: BROWSER, args: ["--no-sandbox"] });
  try {
    const page = await browser.newPage();
    await page.goto(`http://${daemon.address}/`);
    await page.evaluate(bundled.outputFiles[0]?.text ?? "");
    const found = await page.evaluate(async () => {
      const { connect, pages, NoteweftError } = (globalThis as unknown as { noteweft: typeof Client }).noteweft;
      const notes = connect();
      const { hits } = await notes.search({ query: "leap second", limit: 1 });
      let count = 0;
      for await (const { notes: listed } of pages(notes.listNotes, { pageSize: 50 })) count += listed.length;
      let watched = 0n;
      for await (const { noteCount } of notes.watchGenerations({})) {
        watched = noteCount;
        break;
      }
      const wrong = await notes.getNote({ name: "Leap secnd" }).catch((thrown: unknown) => thrown);
      const late = await notes
        .search({ query: "leap", minGeneration: 1n << 40n }, { timeoutMs: 200 })
        .catch((thrown: unknown) => thrown);
      return {
        title: hits[0]?.title,
        count,
        watched: Number(watched),
        reason: wrong instanceof NoteweftError ? wrong.reason : String(wrong),
        late: late instanceof NoteweftError ? late.code : String(late),
      };
    });
    assert.equal(found.title, "Leap second");
    assert.ok(found.count > 50);
    assert.equal(found.watched, found.count);
    assert.equal(found.reason, "UNKNOWN_NOTE");
    assert.equal(found.late, 4);
  } finally {
    await browser.close();
  }
});

test("the entry for browsers also runs where fetch does", async () => {
  const notes = connect({ address: `http://${daemon.address}`, token: READ_TOKEN });
  assert.ok((await notes.search({ query: "leap second" })).hits.length > 0);
  await assert.rejects(notes.getNote({ name: "Leap secnd" }), (thrown) => {
    return thrown instanceof NoteweftError && thrown.similar[0] === "Agreed Time/Leap second";
  });
  notes.close();
});
