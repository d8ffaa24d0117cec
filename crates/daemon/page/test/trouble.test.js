// What the page does when something is wrong: with a note, a question, the daemon, or the reader's leave.

import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
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

test("a filter that cannot be read says which field and why", async () => {
  await visit(daemon, "#/search?q=clock&path=[", async (page) => {
    await page.getByRole("alert").waitFor();
    assert.match(await page.getByRole("alert").textContent(), /paths/);
  });
});

test("a name that nothing answers to brings near ones", async () => {
  await visit(daemon, "#/note?uri=Leap+secnod", async (page) => {
    await page.getByRole("alert").waitFor();
    await page.locator(".failed a").first().click();
    await page.getByRole("heading", { level: 1 }).waitFor();
  });
});

test("a hostile note does nothing", async () => {
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
        assert.equal(await page.locator(".top nav").isVisible(), true, "the page is as it was");
      });
    }
  } finally {
    await hostile.end();
  }
});

test("a daemon that goes away and comes back is met again without a reload", async () => {
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

test("a deadline that passes is said, and asked again on demand", async () => {
  const views = [
    [LEAP, "Search", ".hit"],
    ["#/note?uri=Leap second", "GetNote", "h1"],
    ["#/context?q=leap second", "Assemble", ".ledger td"],
  ];
  for (const [hash, call, shown] of views) {
    await visit(daemon, "", async (page) => {
      await page.clock.install();
      let late = true;
      // Held back for longer than anybody waits; the page's own clock decides.
      await page.route(`**/${call}`, (route) => (late ? undefined : route.continue()));
      await page.goto(`http://${daemon.address}/${hash}`);
      await page.reload();
      await page.clock.fastForward(1000);
      await page.getByRole("status", { name: "Loading" }).first().waitFor();
      await page.clock.fastForward(10_000);
      await page.getByText("That took too long").waitFor();
      late = false;
      await page.getByRole("button", { name: "Ask again" }).click();
      await page.clock.fastForward(1000);
      await page.locator(shown).first().waitFor();
    });
  }
});

/** A question that the daemon cannot answer, for no fault of the reader. */
const fail = (route) => route.fulfill({ status: 200, headers: { "content-type": "application/grpc-web+proto", "grpc-status": "13", "grpc-message": "broken" }, body: "" });

test("what fails leaves nothing of another question's answer on the page", async () => {
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

test("what fails to come anew leaves the old answer, dimmed, below the reason", async () => {
  const root = vault({ "a.md": "# A\n\nText.\n" });
  const living = await Daemon.over(root);
  try {
    await visit(living, "#/note?uri=a", async (page) => {
      await page.locator(".body").waitFor();
      // A change is one to those who know what was before.
      await page.locator(".pill", { hasText: "1 note" }).waitFor();
      await page.route("**/GetNote", fail);
      writeFileSync(join(root, "b.md"), "# B\n");
      await page.locator("main > .failed").waitFor();
      assert.equal(await page.locator(".note.stale h1").textContent(), "A");
      await page.unroute("**/GetNote");
      await page.locator("main > .failed").getByRole("button", { name: "Ask again" }).click();
      await page.locator(".note:not(.stale) h1").waitFor();
      assert.equal(await page.locator(".failed").count(), 0);
    });
  } finally {
    await living.end();
  }
});

test("until the index is known it does not count as up to date, and what changed meanwhile is asked again", async () => {
  const root = vault({ "a.md": "# A\n\nBefore.\n" });
  const living = await Daemon.over(root);
  try {
    await visit(living, "#/note?uri=a", async (page) => {
      let tell;
      const told = new Promise((resolve) => (tell = resolve));
      let n = 0;
      const asked = async (times) => {
        for (const end = Date.now() + 30_000; n < times; ) {
          assert.ok(Date.now() < end, `asked ${n} times`);
          await page.waitForTimeout(20);
        }
      };
      await page.route("**/*AdminService/Status", async (route) => {
        n += 1;
        await told;
        await route.continue();
      });
      await page.reload();
      await page.locator(".pill.asked").waitFor();
      await page.locator(".body", { hasText: "Before." }).waitFor();
      // Of its own accord, and for each generation that is published: the one that is there, and the next.
      await asked(2);
      writeFileSync(join(root, "a.md"), "# A\n\nAfter.\n");
      await asked(3);
      assert.equal(await page.locator(".body", { hasText: "After." }).count(), 0);
      tell();
      await page.locator(".body", { hasText: "After." }).waitFor();
      await page.locator(".pill.ready").waitFor();
      assert.equal(await page.locator(".pill").textContent(), "1 note");
    });
  } finally {
    await living.end();
  }
});

test("an address that cannot be asked says which part of it and why", async () => {
  for (const [hash, ...said] of [
    ["#/context?q=clock&budget=1.5", "budget must be a whole number", "1.5"],
    ["#/context?q=clock&budget=abc", "budget must be a whole number", "abc"],
    ["#/note?uri=Leap second&budget=10.5", "budget must be a whole number", "10.5"],
    ["#/note?uri=Leap second&hops=0", "hops must be a whole number from 1"],
    ["#/search?q=clock&limit=-5", "limit must be a whole number from 1 to 1,000", "-5"],
    ["#/search?q=clock&limit=2.5", "limit must be a whole number from 1 to 1,000"],
    ["#/search?q=clock&within=Leap second:99999999999", "Near counts up to", "99999999999"],
    ["#/search?q=clock&w=0,0,0", "at least one weight must be above 0"],
    ["#/search?q=clock&where=draft", "Properties compares", "year >= 1700"],
    ["#/search?q=clock&where=year => 1700", "Properties compares", "year => 1700"],
    ["#/search?q=clock&w=1,2", "w must be three numbers", "1,2"],
  ]) {
    await visit(daemon, hash, async (page) => {
      const alert = page.getByRole("alert");
      await alert.waitFor();
      const text = await alert.textContent();
      for (const part of ["That cannot be asked", ...said]) assert.ok(text.includes(part), `${hash}: ${text}`);
      assert.equal(await page.getByRole("button", { name: "Ask again" }).count(), 0, "asking the same again would help nobody");
      await gone(page, ".waiting");
    });
  }
  // What is only more than the slider shows is asked as it stands.
  await visit(daemon, "#/context?q=clock&budget=20000", (page) => page.getByText("of 20,000 tokens").waitFor());
});

test("a daemon without a model says what it finds notes by, and that it cannot find them by meaning", async () => {
  await visit(daemon, "#/search?q=clock", async (page) => {
    await page.locator(".summary", { hasText: "without a model: by words and links alone" }).waitFor();
    await page.getByText("Meaning", { exact: true }).click();
    const alert = page.getByRole("alert");
    await alert.getByText("Not as this daemon is set up").waitFor();
    assert.match(await alert.textContent(), /no vectors/);
    assert.equal(await alert.getByRole("button").count(), 0);
  });
});

test("an empty vault, and a query without answer, say so", async () => {
  const empty = await Daemon.over(vault({ "readme.txt": "no note" }));
  try {
    for (const [hash, said] of [
      ["#/search?q=anything", "Nothing found."],
      ["#/note", "The index holds no note yet."],
      ["#/context?q=anything", "No note was found."],
      ["#/index", "No note links to another yet."],
      ["#/index", "The vault holds no file that could be a note."],
      ["#/index", "None was published while this page looked"],
    ]) {
      await visit(empty, hash, (page) => page.getByText(said).waitFor());
    }
  } finally {
    await empty.end();
  }
});

test("a browser logs in with a token; what that may not ask is said; another takes its place", async () => {
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
        await page.getByText("This token does not allow it").waitFor();
        await page.getByRole("button", { name: "Use another token" }).click();
        for (const wrong of ["nobody-knows-this-token", "nobody-knows-this-token", "no töken"]) {
          await page.getByRole("textbox", { name: "Token" }).fill(wrong);
          await page.keyboard.press("Enter");
          await page.getByRole("dialog").getByText("It does not know the one you gave").waitFor();
        }
        // Whoever closes the login finds it again, and is not asked by itself.
        await page.keyboard.press("Escape");
        await page.getByRole("dialog").waitFor({ state: "hidden" });
        await page.locator("main").getByText("A token is needed").waitFor();
        await page.locator(".pill", { hasText: "no token" }).waitFor();
        await page.getByRole("button", { name: "Give a token" }).click();
        await page.getByRole("button", { name: "Not now" }).click();
        await page.getByRole("dialog").waitFor({ state: "hidden" });
        // The first refusal was taken in when the second arrives.
        for (const _ of ["first", "second"]) {
          const refusal = page.waitForResponse("**/*.AdminService/Status");
          await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
          await refusal;
        }
        assert.equal(await page.getByRole("dialog").count(), 0, "who does not want to log in is not asked again");
        await page.getByRole("button", { name: "Give a token" }).click();
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

test("a view follows changes also for a reader who may not ask for the status", async () => {
  const tokens = { read: "may-read-the-notes-only", write: "may-ask-for-everything" };
  const root = vault({ "a.md": "# A\n\nBefore.\n" });
  const guarded = await Daemon.over(root, { tokens });
  try {
    await visit(
      guarded,
      "#/note?uri=a",
      async (page) => {
        const heard = page.waitForResponse("**/ListNotes");
        await page.locator(".body", { hasText: "Before." }).waitFor();
        await heard;
        writeFileSync(join(root, "a.md"), "# A\n\nAfter.\n");
        await page.locator(".body", { hasText: "After." }).waitFor({ timeout: 20_000 });
      },
      { httpCredentials: { username: "anybody", password: tokens.read }, forgive: [/40[13]/] },
    );
  } finally {
    await guarded.end();
  }
});

test("many windows of one browser do not stand in each other's way, and each is told what is published", async () => {
  const root = vault({ "a.md": "# A\n" });
  const living = await Daemon.over(root);
  const browser = await browse();
  try {
    for (const locks of [true, false]) {
      const context = await browser.newContext();
      // As over plain http from another machine.
      if (!locks) await context.addInitScript(() => Object.defineProperty(navigator, "locks", { value: undefined }));
      const pages = [];
      for (let nth = 0; nth < 8; nth += 1) {
        const page = await context.newPage();
        await page.goto(`http://${living.address}/#/index`);
        await page.locator(".generations li", { hasText: "was there before" }).waitFor({ timeout: 10_000 });
        pages.push(page);
      }
      const told = (pages, n) => Promise.all(pages.map((page) => page.locator(".generations time").nth(n - 1).waitFor({ timeout: 15_000 })));
      writeFileSync(join(root, "b.md"), `# B ${locks}\n`);
      await told(pages, 1);
      // The window that follows for all goes away.
      await pages.shift().close();
      await pages[0].waitForTimeout(1500);
      writeFileSync(join(root, "b.md"), `# B again ${locks}\n`);
      await told(pages, 2);
      await context.close();
    }
  } finally {
    await browser.close();
    await living.end();
  }
});

test("while vectors are made, how far and how fast is told, and answers say what they lack", async () => {
  const busy = await Daemon.over(manyNotes(5000), { model: "bundled" });
  try {
    await visit(busy, "#/index", async (page) => {
      await page.locator(".backlog", { hasText: /making vectors: [\d,]+ of 5,000 pieces of text\d+ a second, .+ left/ }).waitFor();
      await page.locator(".generations li", { hasText: "wait for vectors" }).nth(1).waitFor();
      await page.goto(`http://${busy.address}/#/search?q=word42 common`);
      const lacks = page.locator(".summary .degraded", { hasText: "incomplete by meaning" });
      await lacks.waitFor();
      await page.locator(".hit").first().waitFor();
      const before = await lacks.textContent();
      await page.waitForFunction((before) => document.querySelector(".summary .degraded").textContent !== before, before);
      assert.equal(await page.locator("[role=status] .degraded, [aria-live] .degraded").count(), 0, "what changes every second is not spoken");
    });
  } finally {
    await busy.end();
  }
});

test("where nothing can be drawn, the page says so, and the lists tell the same", async () => {
  await visit(daemon, "", async (page) => {
    await page.addInitScript(() => (HTMLCanvasElement.prototype.getContext = () => null));
    await page.goto(`http://${daemon.address}/#/note?uri=Leap second`);
    await page.reload();
    await page.getByText("This browser cannot draw the graph").waitFor();
    await page.locator("aside ul a").first().waitFor();
  });
});
