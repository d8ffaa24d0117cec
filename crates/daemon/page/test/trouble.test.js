// Errors: invalid notes and requests, an unavailable daemon, and missing permissions.

import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { daemon, gone, LEAP, settled, visit } from "./stage.js";
import { browse, Daemon, EXAMPLE, manyNotes, vault } from "./weft.js";

test("the bundle is small", () => {
  const built = join(import.meta.dirname, "../built");
  const sizes = readdirSync(built).map((name) => gzipSync(readFileSync(join(built, name)), { level: 9 }).length);
  const sum = sizes.reduce((a, b) => a + b);
  assert.ok(sum <= 250_000, `${sum} bytes compressed`);
});

test("an invalid filter reports the field and the reason", async () => {
  await visit(daemon, "#/search?q=clock&path=[", async (page) => {
    await page.getByRole("alert").waitFor();
    assert.match(await page.getByRole("alert").textContent(), /paths/);
  });
});

test("an unknown name suggests similar ones", async () => {
  await visit(daemon, "#/note?uri=Leap+secnod", async (page) => {
    await page.getByRole("alert").waitFor();
    await page.locator(".failed a").first().click();
    await page.getByRole("heading", { level: 1 }).waitFor();
  });
});

test("a hostile note executes and loads nothing", async () => {
  const bait = [
    "# Bait",
    "<script>window.hacked = 1</script>",
    '<img src="http://127.0.0.1:1/spy.png" onerror="window.hacked = 2">',
    "![spy](http://127.0.0.1:1/spy.png)",
    "[press](javascript:window.hacked=3)",
    '<a href="javascript:window.hacked=4">press</a> <a href="data:text/html,x">press</a>',
    '<svg onload="window.hacked=5"><script>window.hacked=6</script></svg><math><mtext><style><img src=x onerror="window.hacked=7"></style></mtext></math>',
    '<iframe src="http://127.0.0.1:1/"></iframe><object data="http://127.0.0.1:1/"></object><form action="http://127.0.0.1:1/"><input name="q"><button>go</button></form>',
    "<style>body { display: none } .top { background: url(http://127.0.0.1:1/spy.png) }</style>",
    '<link rel="stylesheet" href="http://127.0.0.1:1/spy.css"><p style="background: url(http://127.0.0.1:1/spy.png)">painted</p>',
    '<img src="data:image/svg+xml,%3Csvg xmlns=%22http://www.w3.org/2000/svg%22 onload=%22alert(1)%22/%3E"> ![x](data:image/png;base64,AAAA) [x](data:text/html,<script>alert(1)</script>)',
    "[x](vbscript:alert) [x](java\tscript:alert(1)) [x](//127.0.0.1:1/) <a href=' javascript:alert(1)'>x</a> <a href='&#106;avascript:alert(1)'>x</a>",
    '<video src="http://127.0.0.1:1/a.mp4" autoplay></video><audio src="http://127.0.0.1:1/a.mp3"></audio><embed src="http://127.0.0.1:1/"><marquee onstart="alert(1)">x</marquee><details open ontoggle="alert(1)">x</details>',
    "</div></main></body></html><h1>Another page</h1>",
    "`</code><script>alert(1)</script>` and [[</a><script>alert(1)</script>]]",
    '<div class="top" id="page" style="position:fixed;inset:0">over everything</div>',
    '<base href="http://127.0.0.1:1/"><meta http-equiv="refresh" content="0;url=http://127.0.0.1:1/">',
    "[[a\"><img src=x onerror=window.hacked=8>|b\"><img src=x onerror=window.hacked=9>]]",
  ].join("\n\n");
  const titled = "---\ntitle: '<img src=x onerror=window.hacked=10>'\ntags: [\"<b onclick=alert(1)>\"]\n---\n# <svg onload=alert(1)>\n\n[[bait]]\n";
  const hostile = await Daemon.over(vault({ "bait.md": bait, "<script>alert(1)<.md": titled }));
  try {
    const strange = [];
    const watch = async (page) => {
      page.on("request", (request) => new URL(request.url()).host !== hostile.address && strange.push(request.url()));
      page.on("dialog", (dialog) => strange.push(dialog.message()));
      page.on("framenavigated", (frame) => new URL(frame.url()).host !== hostile.address && frame.url() !== "about:blank" && strange.push(frame.url()));
      await page.addInitScript(() => {
        window.violations = [];
        addEventListener("securitypolicyviolation", (event) => window.violations.push(`${event.effectiveDirective} ${event.blockedURI} ${event.sample}`));
      });
    };
    const views = [
      ["#/note?uri=bait&hops=2", ".graph canvas"],
      [`#/note?uri=${encodeURIComponent("<script>alert(1)<")}`, ".graph canvas"],
      ["#/search?q=bait&explain=1&not=bait", ".preview .body"],
      ["#/search?q=alert script bait", ".snippet mark"],
      ["#/context?q=bait", ".rendered"],
      ["#/index", ".files td"],
      ["#/note", ".columns a"],
    ];
    for (const [hash, shown] of views) {
      await visit(hostile, "", async (page) => {
        await watch(page);
        await page.goto(`http://${hostile.address}/${hash}`);
        await page.reload();
        await page.locator(shown).first().waitFor();
        await settled(page);
        for (const link of await page.locator(".body a:not(.outside)").all()) await link.dispatchEvent("click");
        await page.waitForTimeout(200);
        assert.equal(await page.evaluate(() => window.hacked), undefined);
        const forbidden = [
          "main :is(script, img, iframe, object, embed, video, audio, style, base, meta, link, svg, math, [onerror], [onload], [onclick], [href^=javascript], [href^=data])",
          ".body :is(form, input, [style], [class]:not(.outside, .unresolved, .scrolls), [id])",
        ];
        for (const what of forbidden) assert.equal(await page.locator(what).count(), 0, `${hash}: ${what}`);
        assert.deepEqual(await page.evaluate(() => window.violations), []);
        assert.deepEqual(strange, []);
        assert.equal(await page.locator(".top nav").isVisible(), true, "the page is unchanged");
      });
    }
  } finally {
    await hostile.end();
  }
});

test("the page reconnects to a restarted daemon without a reload", async () => {
  const mortal = await Daemon.over(EXAMPLE);
  try {
    await visit(
      mortal,
      LEAP,
      async (page) => {
        await page.locator(".hit").first().waitFor();
        await mortal.stop();
        await page.locator(".banner").waitFor();
        await mortal.start();
        await page.locator(".banner").waitFor({ state: "detached" });
        await page.locator("#query").fill("pendulum");
        await page.locator(".hits:not(.stale) .hit", { hasText: "Pendulum" }).first().waitFor();
      },
      { forgive: [/ERR_/] },
    );
  } finally {
    await mortal.end();
  }
});

test("a timeout is reported and can be retried", async () => {
  const views = [
    [LEAP, "Search", ".hit"],
    ["#/note?uri=Leap second", "GetNote", "h1"],
    ["#/context?q=leap second", "Assemble", ".ledger td"],
  ];
  for (const [hash, call, shown] of views) {
    await visit(daemon, "", async (page) => {
      await page.clock.install();
      let late = true;
      // The response is delayed beyond the deadline of the page's own clock.
      await page.route(`**/${call}`, (route) => (late ? undefined : route.continue()));
      await page.goto(`http://${daemon.address}/${hash}`);
      await page.reload();
      await page.clock.fastForward(1000);
      await page.getByRole("status", { name: "Loading" }).first().waitFor();
      await page.clock.fastForward(10_000);
      await page.getByText("Request timed out").waitFor();
      late = false;
      await page.getByRole("button", { name: "Retry" }).click();
      await page.clock.fastForward(1000);
      await page.locator(shown).first().waitFor();
    });
  }
});

/** Makes a request fail with an internal error. */
const fail = (route) => route.fulfill({ status: 200, headers: { "content-type": "application/grpc-web+proto", "grpc-status": "13", "grpc-message": "broken" }, body: "" });

test("a failed request leaves nothing of another request's response on the page", async () => {
  const wrong = (page, within) => page.locator(within).getByText("Something went wrong").waitFor();
  await visit(daemon, "#/note?uri=Leap second&hops=2", async (page) => {
    await page.locator(".ranked li").first().waitFor();
    await page.locator(".siblings summary").first().waitFor();
    await page.route("**/*GraphService/*", fail);
    await page.goto(`http://${daemon.address}/#/note?uri=Pendulum&hops=2`);
    await page.getByRole("heading", { level: 1, name: "Pendulum" }).waitFor();
    for (const part of [".around", ".related", "aside > .failed >> nth=0", "aside > .failed >> nth=1"]) await wrong(page, part);
    assert.equal(await page.locator(".graph, .ranked li, .siblings, aside li").count(), 0);
    await page.route("**/GetNote", fail);
    await page.goto(`http://${daemon.address}/#/note?uri=Sundial`);
    await wrong(page, "main > .failed");
    assert.deepEqual(await page.locator("h1").allTextContents(), ["Something went wrong"]);
  });
  await visit(daemon, "#/search?q=clock&mode=keyword", async (page) => {
    await page.locator(".preview h2").waitFor();
    await page.route("**/GetNote", fail);
    await page.keyboard.press("ArrowDown");
    await wrong(page, ".preview");
    assert.equal(await page.locator(".preview h2").count(), 0);
    await page.route("**/*SearchService/Search", fail);
    await page.locator("#query").fill("tide");
    await wrong(page, ".results");
    assert.equal(await page.locator(".hit, .summary").count(), 0);
  });
  await visit(daemon, "#/context?q=clock", async (page) => {
    await page.locator(".ledger td").first().waitFor();
    await page.route("**/Assemble", fail);
    await page.locator("#query").fill("tide");
    await wrong(page, ".context");
    assert.equal(await page.locator(".ledger, .summary").count(), 0);
  });
});

test("a failed reload keeps the old response, dimmed, below the error", async () => {
  const root = vault({ "a.md": "# A\n\nText.\n" });
  const living = await Daemon.over(root);
  try {
    await visit(living, "#/note?uri=a", async (page) => {
      await page.locator(".body").waitFor();
      // The page must know the current generation before the change.
      await page.locator(".pill", { hasText: "1 note" }).waitFor();
      await page.route("**/GetNote", fail);
      writeFileSync(join(root, "b.md"), "# B\n");
      await page.locator("main > .failed").waitFor();
      assert.equal(await page.locator(".note.stale h1").textContent(), "A");
      await page.unroute("**/GetNote");
      await page.locator("main > .failed").getByRole("button", { name: "Retry" }).click();
      await page.locator(".note:not(.stale) h1").waitFor();
      assert.equal(await page.locator(".failed").count(), 0);
    });
  } finally {
    await living.end();
  }
});

test("until the status is known the index does not count as ready, and later changes are requested again", async () => {
  const root = vault({ "a.md": "# A\n\nBefore.\n" });
  const living = await Daemon.over(root);
  try {
    await visit(living, "#/note?uri=a", async (page) => {
      let release;
      const released = new Promise((resolve) => (release = resolve));
      let n = 0;
      const requested = async (times) => {
        for (const end = Date.now() + 30_000; n < times; ) {
          assert.ok(Date.now() < end, `requested ${n} times`);
          await page.waitForTimeout(20);
        }
      };
      await page.route("**/*AdminService/Status", async (route) => {
        n += 1;
        await released;
        await route.continue();
      });
      await page.reload();
      await page.locator(".pill.loading").waitFor();
      await page.locator(".body", { hasText: "Before." }).waitFor();
      // Once on its own, and once per published generation: the current one and the next.
      await requested(2);
      writeFileSync(join(root, "a.md"), "# A\n\nAfter.\n");
      await requested(3);
      assert.equal(await page.locator(".body", { hasText: "After." }).count(), 0);
      release();
      await page.locator(".body", { hasText: "After." }).waitFor();
      await page.locator(".pill.ready").waitFor();
      assert.equal(await page.locator(".pill").textContent(), "1 note");
    });
  } finally {
    await living.end();
  }
});

test("an invalid address reports the parameter and the reason", async () => {
  for (const [hash, ...said] of [
    ["#/context?q=clock&budget=1.5", "budget must be a whole number", "1.5"],
    ["#/context?q=clock&budget=abc", "budget must be a whole number", "abc"],
    ["#/note?uri=Leap second&budget=10.5", "budget must be a whole number", "10.5"],
    ["#/note?uri=Leap second&hops=0", "hops must be a whole number from 1"],
    ["#/search?q=clock&limit=-5", "limit must be a whole number from 1 to 1,000", "-5"],
    ["#/search?q=clock&limit=2.5", "limit must be a whole number from 1 to 1,000"],
    ["#/search?q=clock&within=Leap second:99999999999", "Near accepts at most", "99999999999"],
    ["#/search?q=clock&w=0,0,0", "at least one weight must be above 0"],
    ["#/search?q=clock&where=draft", "Properties expects comparisons", "year >= 1700"],
    ["#/search?q=clock&where=year => 1700", "Properties expects comparisons", "year => 1700"],
    ["#/search?q=clock&w=1,2", "w must be three numbers", "1,2"],
  ]) {
    await visit(daemon, hash, async (page) => {
      const alert = page.getByRole("alert");
      await alert.waitFor();
      const text = await alert.textContent();
      for (const part of ["Invalid request", ...said]) assert.ok(text.includes(part), `${hash}: ${text}`);
      assert.equal(await page.getByRole("button", { name: "Retry" }).count(), 0, "retrying would not help");
      await gone(page, ".waiting");
    });
  }
  // A value beyond the end of the slider is valid.
  await visit(daemon, "#/context?q=clock&budget=20000", (page) => page.getByText("of 20,000 tokens").waitFor());
});

test("a daemon without a model reports keyword search, and that search by meaning is unavailable", async () => {
  await visit(daemon, "#/search?q=clock", async (page) => {
    await page.locator(".summary", { hasText: "no model: keywords and links only" }).waitFor();
    await page.getByText("Meaning", { exact: true }).click();
    const alert = page.getByRole("alert");
    await alert.getByText("Not available with the daemon's settings").waitFor();
    assert.match(await alert.textContent(), /no vectors/);
    assert.equal(await alert.getByRole("button").count(), 0);
  });
});

test("an empty vault and a query without hits are reported", async () => {
  const empty = await Daemon.over(vault({ "readme.txt": "no note" }));
  try {
    for (const [hash, said] of [
      ["#/search?q=anything", "No hits."],
      ["#/note", "The index contains no notes yet."],
      ["#/context?q=anything", "No notes found."],
      ["#/index", "There are no links yet."],
      ["#/index", "The vault contains no Markdown files."],
      ["#/index", "None published since this page was opened"],
    ]) {
      await visit(empty, hash, (page) => page.getByText(said).waitFor());
    }
  } finally {
    await empty.end();
  }
});

test("a browser logs in with a token; missing permissions are reported; another token can be used", async () => {
  const tokens = { read: "may-read-the-notes-only", write: "may-ask-for-everything" };
  const guarded = await Daemon.over(EXAMPLE, { tokens });
  const login = (password) => ({ httpCredentials: { username: "anybody", password }, forgive: [/40[13]/] });
  try {
    assert.equal((await fetch(`http://${guarded.address}/`)).status, 401);
    await visit(guarded, LEAP, async (page) => page.locator(".hit").first().waitFor(), login(tokens.write));
    await visit(
      guarded,
      LEAP,
      async (page) => {
        await page.locator(".hit").first().waitFor();
        await page.getByRole("link", { name: "Index", exact: true }).click();
        await page.getByText("Permission denied").waitFor();
        await page.getByRole("button", { name: "Use another token" }).click();
        for (const wrong of ["nobody-knows-this-token", "nobody-knows-this-token", "no töken"]) {
          await page.getByRole("textbox", { name: "Token" }).fill(wrong);
          await page.keyboard.press("Enter");
          await page.getByRole("dialog").getByText("The token was rejected").waitFor();
        }
        // A closed login dialog can be reopened, and does not open by itself.
        await page.keyboard.press("Escape");
        await page.getByRole("dialog").waitFor({ state: "hidden" });
        await page.locator("main").getByText("A token is required").waitFor();
        await page.locator(".pill", { hasText: "no token" }).waitFor();
        await page.getByRole("button", { name: "Enter a token" }).click();
        await page.getByRole("button", { name: "Cancel" }).click();
        await page.getByRole("dialog").waitFor({ state: "hidden" });
        // The first rejection has been processed when the second arrives.
        for (const _ of ["first", "second"]) {
          const refusal = page.waitForResponse("**/*.AdminService/Status");
          await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
          await refusal;
        }
        assert.equal(await page.getByRole("dialog").count(), 0, "the login dialog does not reopen by itself");
        await page.getByRole("button", { name: "Enter a token" }).click();
        await page.getByRole("textbox", { name: "Token" }).fill(` ${tokens.write} `);
        await page.keyboard.press("Enter");
        await page.locator(".numbers").waitFor();
        await page.reload();
        await page.locator(".numbers").waitFor();
      },
      login(tokens.read),
    );
  } finally {
    await guarded.end();
  }
});

test("a view follows changes for a client without permission for the status", async () => {
  const tokens = { read: "may-read-the-notes-only", write: "may-ask-for-everything" };
  const root = vault({ "a.md": "# A\n\nBefore.\n" });
  const guarded = await Daemon.over(root, { tokens });
  try {
    await visit(
      guarded,
      "#/note?uri=a",
      async (page) => {
        const observed = page.waitForResponse("**/ListNotes");
        await page.locator(".body", { hasText: "Before." }).waitFor();
        await observed;
        writeFileSync(join(root, "a.md"), "# A\n\nAfter.\n");
        await page.locator(".body", { hasText: "After." }).waitFor({ timeout: 20_000 });
      },
      { httpCredentials: { username: "anybody", password: tokens.read }, forgive: [/40[13]/] },
    );
  } finally {
    await guarded.end();
  }
});

test("many windows of one browser do not block each other, and each shows new generations", async () => {
  const root = vault({ "a.md": "# A\n" });
  const living = await Daemon.over(root);
  const browser = await browse();
  try {
    for (const locks of [true, false]) {
      const context = await browser.newContext();
      // As over plain HTTP from another machine.
      if (!locks) await context.addInitScript(() => Object.defineProperty(navigator, "locks", { value: undefined }));
      const pages = [];
      for (let nth = 0; nth < 8; nth += 1) {
        const page = await context.newPage();
        await page.goto(`http://${living.address}/#/index`);
        await page.locator(".generations li", { hasText: "before this page was opened" }).waitFor({ timeout: 10_000 });
        pages.push(page);
      }
      const showsGenerations = (pages, n) => Promise.all(pages.map((page) => page.locator(".generations time").nth(n - 1).waitFor({ timeout: 15_000 })));
      writeFileSync(join(root, "b.md"), `# B ${locks}\n`);
      await showsGenerations(pages, 1);
      // The leading window is closed.
      await pages.shift().close();
      await pages[0].waitForTimeout(1500);
      writeFileSync(join(root, "b.md"), `# B again ${locks}\n`);
      await showsGenerations(pages, 2);
      await context.close();
    }
  } finally {
    await browser.close();
    await living.end();
  }
});

test("while vectors are pending, progress and rate are shown, and responses carry a warning", async () => {
  const busy = await Daemon.over(manyNotes(5000), { model: "bundled-english" });
  try {
    await visit(busy, "#/index", async (page) => {
      await page.locator(".backlog", { hasText: /embedding: [\d,]+ of 5,000 chunks\d+ per second, .+ left/ }).waitFor();
      await page.locator(".generations li", { hasText: "pending vector" }).nth(1).waitFor();
      await page.goto(`http://${busy.address}/#/search?q=word42 common`);
      const warning = page.locator('.summary .warn[data-code=vectors_pending]');
      await warning.waitFor();
      await page.locator(".hit").first().waitFor();
      const before = await warning.textContent();
      await page.waitForFunction((before) => document.querySelector(".summary .warn").textContent !== before, before);
      assert.equal(await page.locator("[role=status] .warn, [aria-live] .warn").count(), 0, "a text that changes every second is not announced");
    });
  } finally {
    await busy.end();
  }
});

test("texts without a usable vector are counted as failed", async () => {
  // An endpoint whose vectors have no direction.
  const endpoint = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    const { input } = JSON.parse(body);
    const data = [input].flat().map((_, index) => ({ index, embedding: [0, 0, 0, 0], object: "embedding" }));
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ object: "list", data, model: "zero", usage: { prompt_tokens: 1, total_tokens: 1 } }));
  });
  await new Promise((listens) => endpoint.listen(0, "127.0.0.1", listens));
  const settings = [`embedding.remote.url=http://127.0.0.1:${endpoint.address().port}/v1`, "embedding.remote.dimension=4", "embedding.runner=openai"];
  const failing = await Daemon.over(vault({ "a.md": "# A\ngreen\n", "b.md": "# B\nsoft\n" }), { model: "zero", settings });
  try {
    await visit(failing, "#/index", async (page) => {
      const vectors = page.locator(".numbers div", { hasText: "Vectors" });
      await vectors.filter({ hasText: "0of 2 chunks, 2 failed" }).waitFor();
    });
  } finally {
    await failing.end();
    endpoint.close();
  }
});

test("without WebGL, the page reports it, and the lists contain the neighbors", async () => {
  await visit(daemon, "", async (page) => {
    await page.addInitScript(() => (HTMLCanvasElement.prototype.getContext = () => null));
    await page.goto(`http://${daemon.address}/#/note?uri=Leap second`);
    await page.reload();
    await page.getByText("This browser cannot draw the graph").waitFor();
    await page.locator("aside ul a").first().waitFor();
  });
});
