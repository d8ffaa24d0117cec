// The page in a real browser, over the real program.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { browse, Daemon, EXAMPLE, vault } from "./weft.js";

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

let browser;
let daemon;
before(async () => {
  [browser, daemon] = await Promise.all([browse(), Daemon.over(EXAMPLE)]);
});
after(async () => {
  await browser?.close();
  await daemon?.end();
});

/** Opens a view of a daemon, hands it to `look`, and fails on whatever went wrong in the page meanwhile. */
async function visit(at, hash, look, options = {}) {
  const { forgive = [], ...rest } = options;
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, ...rest });
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

const LEAP = "#/search?q=leap+second&mode=keyword";

test("the bundle is small", () => {
  const built = join(import.meta.dirname, "../built");
  const sizes = readdirSync(built).map((name) => gzipSync(readFileSync(join(built, name)), { level: 9 }).length);
  const sum = sizes.reduce((a, b) => a + b);
  assert.ok(sum <= 250_000, `${sum} bytes compressed`);
});

test("by keyboard alone: ask, walk the hits, open a note, come back", async () => {
  await visit(daemon, "#/index", async (page) => {
    await page.locator(".numbers").waitFor();
    await page.keyboard.press("/");
    await page.locator("#query:focus").waitFor();
    await page.keyboard.type("leap second");
    // Answers to what was typed halfway come first.
    await page.waitForFunction(() => document.querySelector(".hits:not(.stale) .hit .head > a")?.textContent === "Leap second");
    await page.locator(".hit").nth(1).waitFor();
    assert.match(page.url(), /q=leap\+second/);
    const titles = await page.locator(".hit .head > a").allTextContents();
    assert.equal(titles[0], "Leap second");
    await page.keyboard.press("ArrowDown");
    assert.equal(await page.locator(".hit[aria-current] .head > a").textContent(), titles[1]);
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Leap second" }).waitFor();
    await page.goBack();
    await page.locator(".hit").first().waitFor();
    assert.equal(await page.locator("#query").inputValue(), "leap second");
    await page.keyboard.press("Escape");
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("4");
    await page.locator(".numbers").waitFor();
  });
});

test("weights rank anew as they move, and the answer explains itself", async () => {
  await visit(daemon, "#/search?q=pendulum clock&mode=keyword&explain=1", async (page) => {
    await page.locator(".explained summary").waitFor();
    const scores = () => page.locator(".hit .score b").allTextContents();
    const before = await scores();
    await page.getByText("Weights", { exact: true }).click();
    const slider = page.getByRole("slider", { name: /activation/ });
    await slider.fill("1");
    await page.waitForFunction((old) => [...document.querySelectorAll(".hit .score b")].map((b) => b.textContent).join() !== old, before.join());
    assert.match(page.url(), /w=[\d.]+%2C[\d.]+%2C1/);
    await page.locator(".hit").first().getByRole("button", { name: "why" }).click();
    await page.locator(".hit .parts tfoot").first().waitFor();
  });
});

test("a missing note is told where it was lost", async () => {
  await visit(daemon, LEAP, async (page) => {
    await page.locator(".hit").first().waitFor();
    await page.getByRole("button", { name: "why not" }).click();
    await page.locator("#missing:focus").waitFor();
    await page.keyboard.type("Leap second");
    await page.locator(".told", { hasText: "It is a hit" }).waitFor();
    await page.locator("#missing").fill("Leap secnod");
    await page.locator(".explained .failed a", { hasText: "Leap second" }).first().click();
    await page.locator(".told", { hasText: "It is a hit" }).waitFor();
    for (const [asked, said, nth] of [
      ["q=leap second&not=Pendulum&path=Agreed*/**", "The filter keeps it out", 1],
      ["q=watch -liver&not=Jet lag", "The query excludes a word", 2],
      ["q=pendulum&not=Morning light", "None of its words", 3],
      ["q=leap second&not=second&limit=1", "It missed by", 4],
    ]) {
      await page.goto(`http://${daemon.address}/#/search?mode=keyword&${asked}`);
      await page.locator(".told", { hasText: said }).waitFor();
      const stages = await page.locator(".stages li").evaluateAll((stages) => stages.map((stage) => stage.className));
      assert.deepEqual([stages.indexOf("lost"), stages.lastIndexOf("passed")], [nth, nth - 1], asked);
    }
  });
});

test("notes that share a topic are told topic by topic", async () => {
  await visit(daemon, "#/note?uri=Leap second", async (page) => {
    const topic = page.locator(".siblings details", { hasText: "Astronomy" });
    await topic.locator("summary").click();
    await topic.getByRole("link", { name: "Sundial", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "Sundial" }).waitFor();
  });
});

test("two notes are joined by a path, and edge types can be left out", async () => {
  await visit(daemon, "#/note?uri=Pendulum&start=Leap second&end=Pendulum", async (page) => {
    await page.locator(".steps a").nth(1).waitFor();
    assert.equal(await page.locator(".steps a").first().textContent(), "Leap second");
    await page.locator(".chips").getByText("related").click();
    await page.waitForFunction(() => location.hash.includes("without=related"));
  });
});

test("related notes grow with their budget", async () => {
  await visit(daemon, "#/note?uri=Leap second&budget=0", async (page) => {
    await page.locator(".related").getByText("0 notes").waitFor();
    await page.getByRole("slider", { name: "Tokens" }).fill("3000");
    await page.locator(".ranked li").nth(5).waitFor();
  });
});

test("a context stays within its budget and can be copied", async () => {
  await visit(
    daemon,
    "#/context?q=leap second&budget=500",
    async (page) => {
      await page.locator(".ledger td").first().waitFor();
      const widths = await page.locator(".accordion a").evaluateAll((pieces) => pieces.map((piece) => piece.getBoundingClientRect().width));
      const whole = (await page.locator(".accordion").boundingBox()).width;
      assert.ok(widths.length > 0 && widths.reduce((a, b) => a + b) <= whole + 1);
      await page.getByRole("button", { name: "Copy" }).click();
      await page.getByRole("button", { name: "Copied" }).waitFor();
      assert.equal(await page.evaluate(() => navigator.clipboard.readText()), await page.locator(".rendered").textContent());
    },
    { permissions: ["clipboard-read", "clipboard-write"] },
  );
});

test("a saved file is told of as it is published", async () => {
  const root = vault({ "a.md": "# A\n\nsee [[b]]\n" });
  const living = await Daemon.over(root);
  try {
    await visit(living, "#/index", async (page) => {
      await page.locator(".generations li").first().waitFor();
      await page.getByText("Links that lead nowhere").waitFor();
      const before = await page.locator(".generations li").count();
      writeFileSync(join(root, "b.md"), "# B\n");
      await page.locator(".generations li").nth(before).waitFor();
      await page.getByText("Every link finds its note.").waitFor();
    });
  } finally {
    await living.end();
  }
});

test("an address brings the same view back", async () => {
  await visit(daemon, "#/search?q=clock&mode=keyword&path=Calendars&limit=20", async (page) => {
    await page.locator(".hit").first().waitFor();
    assert.equal(await page.locator("#query").inputValue(), "clock");
    assert.ok(await page.getByRole("radio", { name: "Words", exact: true }).isChecked());
    for (const where of await page.locator(".hit .where span:first-child").allTextContents()) assert.match(where, /^Calendars/);
  });
});

test("a filter that cannot be read says which field and why", async () => {
  await visit(daemon, "#/search?q=clock&path=[", async (page) => {
    await page.getByRole("alert").waitFor();
    assert.match(await page.getByRole("alert").textContent(), /paths/);
  });
});

test("a note shows its place, its text and the graph; a click in the lists walks", async () => {
  await visit(daemon, "#/note?uri=Leap second&hops=2", async (page) => {
    await page.getByRole("heading", { level: 1, name: "Leap second" }).waitFor();
    assert.match(await page.locator(".crumbs").textContent(), /Agreed Time/);
    await page.locator(".graph canvas").first().waitFor();
    await page.locator(".body a").first().click();
    await page.waitForFunction(() => document.querySelector("h1")?.textContent !== "Leap second");
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
    "<style>body { display: none }</style>",
    '<div class="top" id="page" style="position:fixed;inset:0">over everything</div>',
    '<base href="http://127.0.0.1:1/"><meta http-equiv="refresh" content="0;url=http://127.0.0.1:1/">',
    "[[a\"><img src=x onerror=window.hacked=8>|b\"><img src=x onerror=window.hacked=9>]]",
  ].join("\n\n");
  const hostile = await Daemon.over(vault({ "bait.md": bait }));
  try {
    const strange = [];
    const watch = (page) => page.on("request", (request) => new URL(request.url()).host !== hostile.address && strange.push(request.url()));
    for (const hash of ["#/note?uri=bait", "#/search?q=bait"]) {
      await visit(hostile, "", async (page) => {
        watch(page);
        await page.goto(`http://${hostile.address}/${hash}`);
        await page.locator(".body").waitFor();
        for (const link of await page.locator(".body a:not(.outside)").all()) await link.dispatchEvent("click");
        await page.waitForTimeout(200);
        assert.equal(await page.evaluate(() => window.hacked), undefined);
        const forbidden = ".body :is(script, img, iframe, object, form, input, style, base, meta, svg, [style], [class]:not(.outside, .unresolved, .scrolls), [id], [onerror])";
        assert.equal(await page.locator(forbidden).count(), 0);
        assert.deepEqual(strange, []);
      }, { forgive: [/Content Security Policy/] });
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
        await page.locator(".hit", { hasText: "Pendulum" }).first().waitFor();
      },
      { forgive: [/ERR_/] },
    );
  } finally {
    await mortal.end();
  }
});

/** Answers a call in the daemon's place, with a status alone. */
const refuse = (route, code, message) => route.fulfill({ status: 200, headers: { "content-type": "application/grpc-web+proto", "grpc-status": String(code), "grpc-message": message } });

test("a deadline that passes is said, and asked again on demand", async () => {
  await visit(daemon, "", async (page) => {
    let late = true;
    await page.route("**/Search", (route) => (late ? refuse(route, 4, "late") : route.continue()));
    await page.goto(`http://${daemon.address}/${LEAP}`);
    await page.getByText("That took too long").waitFor();
    late = false;
    await page.getByRole("button", { name: "Ask again" }).click();
    await page.locator(".hit").first().waitFor();
  });
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
        await page.getByRole("textbox", { name: "Token" }).fill("nobody-knows-this-token");
        await page.keyboard.press("Enter");
        await page.getByRole("textbox", { name: "Token" }).fill(tokens.write);
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
    for (const [hash, shown] of views) {
      // axe is put in from outside, which the page's own policy rightly forbids.
      await visit(
        daemon,
        hash,
        async (page) => {
          await page.locator(shown).first().waitFor();
          await page.addScriptTag({ path: AXE });
          const { violations } = await page.evaluate(() => window.axe.run());
          const grave = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
          assert.deepEqual(grave.map(({ id, nodes }) => [id, nodes.map((node) => node.html).slice(0, 3)]), [], `${hash} ${look.colorScheme}`);
          const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
          assert.ok(over <= 0, `${hash} is ${over} pixels too wide at ${look.viewport.width}`);
        },
        { ...look, bypassCSP: true },
      );
    }
  }
});

test("five thousand notes are listed, searched and drawn", async () => {
  const n = 5000;
  const text = (nth) => `# Note ${nth}\n\nWord${nth % 97} common [[Note ${(nth * 7) % n}]] and [[Note ${(nth * 13 + 1) % n}]].\n`;
  const large = await Daemon.over(vault(Object.fromEntries(Array.from({ length: n }, (_, nth) => [`f${nth % 50}/Note ${nth}.md`, text(nth)]))));
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
