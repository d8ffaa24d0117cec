// The views, in a real browser against the real daemon.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { clickDot, dotsAtRest, joinDots } from "./dots.js";
import { daemon, gone, LEAP, settled, visit } from "./stage.js";
import { Daemon, vault } from "./weft.js";

test("keyboard only: search, select hits, open a note, go back", async () => {
  await visit(daemon, "#/index", async (page) => {
    await page.locator(".numbers").waitFor();
    await page.keyboard.press("/");
    await page.locator("#query:focus").waitFor();
    await page.keyboard.type("leap second");
    // Responses to partial input arrive first.
    await page.waitForFunction(() => document.querySelector(".hits:not(.stale) .hit .head > a")?.textContent === "Leap second");
    await page.locator(".hit").nth(1).waitFor();
    assert.match(await page.evaluate(() => location.hash), /q=leap\+second/);
    const titles = await page.locator(".hit .head > a").allTextContents();
    assert.equal(titles[0], "Leap second");
    await page.keyboard.press("ArrowDown");
    assert.equal(await page.locator(".hit[aria-current] .head > a").textContent(), titles[1]);
    assert.equal(await page.locator("[role=status].unseen").textContent(), `2 of ${titles.length}: ${titles[1]}`, "the selected hit is announced");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Leap second" }).waitFor();
    await page.goBack();
    await page.locator(".hit").first().waitFor();
    assert.equal(await page.locator("#query").inputValue(), "leap second");
    await page.keyboard.press("Escape");
    assert.equal(await page.locator("#query").inputValue(), "leap second", "Esc keeps the text");
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await gone(page, "dialog[open]");
    await page.keyboard.press("ArrowDown");
    assert.equal(await page.locator(".hit[aria-current] .head > a").textContent(), titles[1]);
    await page.keyboard.press("4");
    await page.locator(".numbers").waitFor();
    await page.keyboard.press("3");
    await page.locator(".context").waitFor();
    await page.keyboard.press("/");
    await page.locator("#query:focus").waitFor();
    await page.keyboard.type("leap second");
    await page.locator(".ledger td").first().waitFor();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Home");
    await page.getByText("No note fits the budget.").waitFor();
    await page.keyboard.press("End");
    await page.locator(".ledger td").first().waitFor();
    await page.keyboard.press("Tab");
    await page.keyboard.press("ArrowRight");
    await page.waitForFunction(() => location.hash.includes("as=xml"));
    assert.equal(await page.evaluate(() => getComputedStyle(document.activeElement.nextElementSibling ?? document.activeElement).outlineStyle), "solid", "the focus is visible");
  });
  await visit(daemon, "#/note?uri=Leap second", async (page) => {
    await page.locator(".ranked li").first().waitFor();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.id), "main", "the first link skips the navigation");
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Keeping Time");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Keeping Time" }).waitFor();
  });
});

test("arrow keys in quick succession are all processed", async () => {
  await visit(daemon, LEAP, async (page) => {
    await page.locator(".hit").nth(2).waitFor();
    const third = await page.locator(".hit .head > a").nth(2).textContent();
    const chosen = await page.evaluate(async () => {
      document.activeElement.blur();
      for (let nth = 0; nth < 2; nth += 1) {
        document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true }));
        // The page is rendered again; nothing is painted yet.
        await null;
      }
      return document.querySelector(".hit[aria-current] .head > a").textContent;
    });
    assert.equal(chosen, third);
  });
});

test("keys of an input method are ignored during composition", async () => {
  await visit(daemon, LEAP, async (page) => {
    await page.locator(".hits:not(.stale) .hit").nth(2).waitFor();
    const press = (key, signs) =>
      page.evaluate(([key, signs]) => {
        const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...signs });
        document.querySelector("#query").dispatchEvent(event);
        return event.defaultPrevented;
      }, [key, signs]);
    for (const signs of [{ isComposing: true }, { keyCode: 229 }]) {
      for (const key of ["ArrowDown", "Enter", "Escape"]) assert.equal(await press(key, signs), false, key);
    }
    await page.waitForTimeout(300);
    assert.match(await page.evaluate(() => location.hash), /^#\/search\?q=leap/);
    assert.equal(await page.locator("#query:focus").count(), 1);
    assert.doesNotMatch(await page.evaluate(() => location.hash), /hit=/);
    assert.equal(await press("ArrowDown", {}), true);
  });
});

test("Enter right after typing opens the best hit once it arrives, unless another key is pressed first", async () => {
  await visit(daemon, "#/search?q=pendulum&mode=keyword", async (page) => {
    await page.locator(".hits:not(.stale) .hit").first().waitFor();
    let hold;
    await page.route("**/*SearchService/Search", async (route) => {
      await hold;
      await route.continue().catch(() => undefined);
    });
    for (const [key, opens] of [["End", false], ["Enter", true]]) {
      let answer;
      hold = new Promise((resolve) => (answer = resolve));
      await page.locator("#query").fill("");
      await page.keyboard.type("leap second");
      await page.keyboard.press("Enter");
      await page.keyboard.press(key);
      await page.waitForTimeout(300);
      assert.match(await page.evaluate(() => location.hash), /^#\/search/);
      answer();
      if (opens) await page.getByRole("heading", { level: 1, name: "Leap second" }).waitFor();
      else {
        await page.locator(".hits:not(.stale) .hit", { hasText: "Leap second" }).first().waitFor();
        assert.match(await page.evaluate(() => location.hash), /^#\/search/);
      }
    }
  });
});

test("Esc keeps the text of every field", async () => {
  for (const [hash, opens, label] of [
    ["#/search?q=clock", ".filters summary", "Tags"],
    ["#/search?q=clock&not=Pend", undefined, "Which note is missing?"],
    ["#/note?uri=Leap second", undefined, "Path from"],
    ["#/context?q=clock", undefined, "Question"],
    ["#/index", undefined, "Filter by path"],
  ]) {
    await visit(daemon, hash, async (page) => {
      if (opens !== undefined) await page.locator(opens).first().click();
      const box = page.getByLabel(label);
      await box.fill("clo");
      await page.keyboard.press("Escape");
      assert.equal(await box.inputValue(), "clo", label);
      assert.equal(await page.evaluate(() => document.activeElement.tagName), "BODY", label);
    });
  }
});

test("weights update the ranking, and the ranking is explained", async () => {
  await visit(daemon, "#/search?q=pendulum clock&mode=keyword&explain=1", async (page) => {
    await page.locator(".explained summary").waitFor();
    const scores = () => page.locator(".hit .score b").allTextContents();
    const before = await scores();
    await page.getByText("Weights", { exact: true }).click();
    const slider = page.getByRole("slider", { name: /activation/ });
    await slider.fill("1");
    await page.waitForFunction((old) => [...document.querySelectorAll(".hit .score b")].map((b) => b.textContent).join() !== old, before.join());
    assert.match(await page.evaluate(() => location.hash), /w=[\d.]+%2C[\d.]+%2C1/);
    await page.locator(".hit").first().getByRole("button", { name: /^why .+ was found$/ }).click();
    await page.locator(".hit .parts tfoot").first().waitFor();
    // Zero weights are rejected, not replaced.
    for (const signal of ["similarity", "centrality", "activation"]) await page.getByRole("slider", { name: new RegExp(signal) }).fill("0");
    await page.getByText("at least one weight must be above 0").waitFor();
    assert.deepEqual(await page.locator(".weight b").allTextContents(), ["0.00", "0.00", "0.00"]);
    await slider.fill("1");
    await page.locator(".hit").first().waitFor();
  });
});

test("? opens the shortcuts in an empty search box, and is text elsewhere", async () => {
  await visit(daemon, "#/search", async (page) => {
    await page.locator("#query:focus").waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await gone(page, "dialog[open]");
    await page.locator("#query").fill("why");
    await page.keyboard.press("?");
    assert.equal(await page.locator("#query").inputValue(), "why?");
    assert.equal(await page.locator("dialog[open]").count(), 0);
  });
});

test("property filters apply their operators", async () => {
  const years = Object.fromEntries([1650, 1700, 1750].map((year) => [`${year}.md`, `---\nyear: ${year}\nstatus: ${year > 1700 ? "Draft" : "done"}\n---\n# Clock ${year}\n`]));
  const dated = await Daemon.over(vault({ ...years, "none.md": "# Clock\n" }));
  try {
    for (const [where, expected] of [
      ["year >= 1700", ["1700", "1750"]],
      ["year<1700", ["1650"]],
      ["status = draft", ["1750"]],
      ["status != draft", ["1650", "1700"]],
      ["year > 1650, year <= 1700", ["1700"]],
    ]) {
      for (const [question, title] of [["", ".passing a"], ["q=clock&", ".hit .head > a"]]) {
        await visit(dated, `#/search?${question}where=${encodeURIComponent(where)}`, async (page) => {
          await page.locator(title).first().waitFor();
          const found = (await page.locator(title).allTextContents()).map((text) => text.trim().replace("Clock ", ""));
          assert.deepEqual(found.sort(), expected, where);
        });
      }
    }
  } finally {
    await dated.end();
  }
});

test("quoted filter values may contain commas, and links of the page quote them", async () => {
  const commas = await Daemon.over(
    vault({
      "A, B/one.md": '---\ntype: "Project, active"\ntags: ["one, two"]\ncity: "Paris, France"\n"of, by": ["[[Smith, John]]"]\n---\n# One\n\n[[Smith, John]]\n',
      "Smith, John.md": "---\ntype: Project\ntags: [one]\ncity: Paris\n---\n# Smith, John\n",
      "other.md": "---\ntype: active\ntags: [two]\n---\n# Other\n",
    }),
  );
  const passing = async (page) => (await page.locator(".passing a").allTextContents()).map((text) => text.trim()).sort();
  try {
    for (const [field, text, expected] of [
      ["type", '"Project, active"', ["One"]],
      ["type", "Project, active", ["Other", "Smith, John"]],
      ["tag", '"one, two"', ["One"]],
      ["path", '"A, B/**"', ["One"]],
      ["path", '"A, B"', ["One"]],
      ["where", 'city = "Paris, France"', ["One"]],
      ["where", "city = Paris", ["Smith, John"]],
      ["to", '"Smith, John"', ["One"]],
      ["from", " one ", ["Smith, John"]],
      ["within", '"Smith, John":1', ["One", "Smith, John"]],
    ]) {
      await visit(commas, `#/search?${field}=${encodeURIComponent(text)}`, async (page) => {
        await page.locator(".passing a").first().waitFor();
        assert.deepEqual(await passing(page), expected, `${field} ${text}`);
      });
    }
    await visit(commas, "#/note?uri=one", async (page) => {
      for (const name of ["Project, active", "#one, two"]) {
        await page.locator(".facts").getByRole("link", { name }).click();
        await page.getByText("1 note passes the filter").waitFor();
        assert.deepEqual(await passing(page), ["One"], name);
        await page.goBack();
      }
      const type = page.getByRole("checkbox", { name: "of, by" });
      await page.locator(".chips").getByText("of, by").click();
      await page.waitForFunction(() => location.hash.includes("without="));
      await page.reload();
      await type.waitFor({ state: "attached" });
      assert.equal(await type.isChecked(), false);
    });
  } finally {
    await commas.end();
  }
});

test("with several vaults, each note shows its vault", async () => {
  const roots = [vault({ "x/same.md": "# Same\n\n[[nowhere]]\n" }), vault({ "x/same.md": "# Same\n", "top.md": "# Same\n" })];
  const [one, other] = roots.map((root) => root.split("/").at(-1));
  const two = await Daemon.over(roots);
  const texts = async (page, selector, n) => {
    await page.locator(selector).nth(n - 1).waitFor();
    return (await page.locator(selector).allTextContents()).sort();
  };
  const places = [`${one} › x`, `${other} › x`, other].sort();
  try {
    await visit(two, "#/note", async (page) => assert.deepEqual(await texts(page, ".columns h2", 3), places));
    await visit(two, "#/search?q=same&mode=keyword", async (page) => assert.deepEqual(await texts(page, ".where > span:first-child", 3), places));
    await visit(two, "#/search?path=**", async (page) => assert.deepEqual(await texts(page, ".passing small", 3), places));
    await visit(two, "#/index", async (page) => {
      assert.deepEqual(await texts(page, ".files tbody th", 3), [`${one}/x/same.md`, `${other}/top.md`, `${other}/x/same.md`].sort());
      assert.deepEqual(await texts(page, ".unresolveds a", 1), [`${one}/x/same`]);
    });
    await visit(two, "#/context?q=same", async (page) => {
      await page.locator(".pill.ready").waitFor();
      assert.deepEqual((await texts(page, ".ledger:not(.out) tbody th small", 3)).map((text) => text.trim()), [one, other, other].sort());
    });
    await visit(two, `#/note?uri=${encodeURIComponent(`${one}:x/same`)}`, async (page) => assert.deepEqual(await texts(page, ".facts > span:first-child", 1), [`${one}/x/same.md`]));
    await visit(daemon, "#/note?uri=Leap second", async (page) => assert.match(await page.locator(".facts span").first().textContent(), /^[A-Z][\w ]+\/Leap second\.md$/));
  } finally {
    await two.end();
  }
});

test("the index lists broken links, suggested links, near-duplicates and stale notes", async () => {
  const text = Array.from({ length: 60 }, (_, at) => `word${at}`).join(" ");
  const tended = await Daemon.over(
    vault({
      "Water clock.md": "# Water clock\n\nIt drips.\n",
      "essay.md": `Every water clock drips. See [[Watr clock]].\n\n${text}\n`,
      "copy.md": `${text} and more\n`,
      "old.md": "---\nupdated: 2001-01-01\n---\nOld.\n",
      "one.md": "[[old]]\n",
      "two.md": "[[old]]\n",
    }),
  );
  try {
    await visit(tended, "#/index", async (page) => {
      for (const [list, expected] of [
        ["Broken links", /Watr clock.*essay:1.*Water clock.*similar name/],
        ["Suggested links", /essay:1 could link to Water clock.*Every water clock drips/],
        ["Near-duplicates", /essay and copy [\d.]+ % of the shorter one.*word0 word1/],
        ["Stale notes", /old score [\d.]+, unchanged since 2001-01-01, 2 notes link to it/],
      ]) {
        const card = page.locator(".hygiene details", { hasText: list });
        assert.equal(await card.locator("li").count(), 0, "a closed card asks nothing");
        await card.locator("summary").click();
        await card.locator("li").first().waitFor();
        assert.deepEqual(await card.locator("li").count(), 1, list);
        assert.match((await card.locator("li").textContent()).replace(/\s+/g, " "), expected);
        assert.equal((await card.locator("summary small").textContent()).trim(), "1");
      }
      await page.locator(".hygiene details", { hasText: "Suggested links" }).getByRole("link", { name: "Water clock" }).click();
      await page.getByRole("heading", { level: 1, name: "Water clock" }).waitFor();
    });
  } finally {
    await tended.end();
  }
});

test("a missing note shows the stage that dropped it", async () => {
  await visit(daemon, LEAP, async (page) => {
    await page.locator(".hit").first().waitFor();
    await page.getByRole("button", { name: "why not" }).click();
    await page.locator("#missing:focus").waitFor();
    await page.keyboard.type("Leap second");
    await page.locator(".verdict", { hasText: "The note is a hit" }).waitFor();
    await page.locator("#missing").fill("Leap secnod");
    await page.locator(".explained .failed a", { hasText: "Leap second" }).first().click();
    await page.locator(".verdict", { hasText: "The note is a hit" }).waitFor();
    for (const [query, reason, nth] of [
      ["q=leap second&not=Pendulum&path=Agreed*/**", "The filter excludes it", 1],
      ["q=watch -liver&not=Jet lag", "It contains an excluded term", 2],
      ["q=pendulum&not=Morning light", "Neither its terms", 3],
      ["q=leap second&not=second&limit=1", "It missed the threshold by", 4],
    ]) {
      await page.goto(`http://${daemon.address}/#/search?mode=keyword&${query}`);
      await page.locator(".verdict", { hasText: reason }).waitFor();
      const stages = await page.locator(".stages li").evaluateAll((stages) => stages.map((stage) => stage.className));
      assert.deepEqual([stages.indexOf("dropped"), stages.lastIndexOf("passed")], [nth, nth - 1], query);
    }
  });
});

test("notes that share a topic are grouped by topic", async () => {
  await visit(daemon, "#/note?uri=Leap second", async (page) => {
    const topic = page.locator(".siblings details", { hasText: "Astronomy" });
    await topic.locator("summary").click();
    await topic.getByRole("link", { name: "Sundial", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "Sundial" }).waitFor();
  });
});

test("a path joins two notes, and edge types can be excluded", async () => {
  await visit(daemon, "#/note?uri=Pendulum&start=Leap second&end=Pendulum", async (page) => {
    await page.locator(".steps a").nth(1).waitFor();
    assert.equal(await page.locator(".steps a").first().textContent(), "Leap second");
    await page.locator(".chips").getByText("related").click();
    await page.waitForFunction(() => location.hash.includes("without=related"));
  });
});

test("in the graph, a click opens a note and two shift-clicks find a path", async () => {
  const notes = { "a.md": "# A\n\n[[b]] [[Missing]]\n", "b.md": "# B\n\n[[c]]\n", "c.md": "# C\n\n[[a]]\n" };
  const small = await Daemon.over(vault(notes));
  const calm = { reducedMotion: "reduce" };
  const atRest = async (page, summary) => {
    await page.locator(".around").getByText(summary).waitFor();
    return dotsAtRest(page, "near");
  };
  try {
    await visit(small, "#/note?uri=b&hops=2", async (page) => {
      const [one, other] = await atRest(page, "3 notes");
      assert.ok(await page.locator(".signs .seen").isVisible(), "the legend explains a link to a note already reached");
      await joinDots(page, one, other);
      await clickDot(page, one);
      await page.waitForFunction(() => /^[AC]$/.test(document.querySelector("h1")?.textContent));
    }, calm);
    await visit(small, "#/note?uri=a&way=out", async (page) => {
      const found = await atRest(page, "2 notes");
      assert.deepEqual(found.map(({ filled }) => filled).sort(), [false, true], "an unresolved target is hollow");
      const full = found.find(({ filled }) => filled);
      await clickDot(page, full);
      await page.getByRole("heading", { level: 1, name: "B" }).waitFor();
    }, calm);
  } finally {
    await small.end();
  }
});

test("notes with special names are drawn and can be opened", async () => {
  const strange = await Daemon.over(vault({ "a.md": "# A\n\n[[?why]] [[why]]\n", "?why.md": "# Why\n", "__proto__.md": "# Proto\n\n[[constructor]]\n", "constructor.md": "# Constructor\n" }));
  const calm = { reducedMotion: "reduce" };
  try {
    for (const [from, to] of [["a", "Why"], ["__proto__", "Constructor"], ["constructor", "Proto"]]) {
      await visit(strange, `#/note?uri=${from}`, async (page) => {
        await page.locator(".around").getByText("2 notes").waitFor();
        const full = (await dotsAtRest(page, "near")).find(({ filled }) => filled);
        await clickDot(page, full);
        await page.getByRole("heading", { level: 1, name: to }).waitFor();
        await page.locator(".around").getByText("2 notes").waitFor();
      }, calm);
    }
  } finally {
    await strange.end();
  }
});

test("unresolved targets respect the hops and the limit, and are counted", async () => {
  const many = Array.from({ length: 20_000 }, (_, nth) => `[[Idea ${nth}]]`).join(" ");
  const crowded = await Daemon.over(vault({ "a.md": "# A\n\n[[b]]\n", "b.md": "# B\n\n[[One]] [[Two]] [[One]]\n", "inbox.md": `# Inbox\n\n${many}\n` }));
  try {
    for (const [query, summary, hollow] of [
      ["a&hops=1", /^2 notes, 1 link\. /, 0],
      ["a&hops=2", /^2 notes, 3 links, 2 unresolved targets\. /, 1],
      ["b&hops=1", /^2 notes, 3 links, 2 unresolved targets\. /, 1],
      ["b&hops=1&way=in", /^2 notes, 1 link\. /, 0],
      ["inbox&hops=2", /^1 note, 200 links, [\d,]+ unresolved targets, 200 of them drawn/, 1],
    ]) {
      await visit(crowded, `#/note?uri=${query}`, async (page) => {
        const status = page.locator(".around [role=status]");
        await status.waitFor();
        const text = await status.textContent();
        assert.match(text, summary, query);
        const words = text.slice(0, text.indexOf(". "));
        assert.ok((await page.locator(".graph").getAttribute("aria-label")).includes(words), "the accessible name contains the summary");
        assert.equal(await page.locator(".signs .hollow").count(), hollow, query);
      });
    }
    await visit(crowded, "#/note?uri=inbox", async (page) => {
      await page.getByText("and 19,900 more unresolved links").waitFor();
      assert.match(await page.locator("h2", { hasText: "Links" }).textContent(), /20,000/);
    });
  } finally {
    await crowded.end();
  }
});

test("a wide table does not break words and scrolls separately", async () => {
  const row = (cell) => `|${Array.from({ length: 40 }, (_, nth) => ` ${cell(nth)} `).join("|")}|`;
  const wide = `# Wide\n\n${row((nth) => `Column ${nth}`)}\n${row(() => "---")}\n${row((nth) => `Value ${nth}`)}\n\n| Name | Value | Note |\n|---|---|---|\n| BLS12_PAIRING_CHECK_GAS | 0x0000000000000000000000000000000000000f | what it costs |\n`;
  const small = await Daemon.over(vault({ "wide.md": wide }));
  try {
    for (const width of [360, 1280]) {
      await visit(
        small,
        "#/note?uri=wide",
        async (page) => {
          await page.locator(".body table").first().waitFor();
          const broken = await page.locator(".body :is(th, td)").evaluateAll((cells) =>
            cells.filter((cell) => {
              const range = document.createRange();
              range.selectNodeContents(cell);
              return range.getClientRects().length > cell.textContent.trim().split(" ").length;
            }).length,
          );
          assert.equal(broken, 0, `words of ${broken} cells are broken at ${width}`);
          const [frame] = await page.locator(".body .scrolls").evaluateAll((frames) => frames.map((frame) => frame.scrollWidth - frame.clientWidth));
          assert.ok(frame > 500, `the table is ${frame} pixels wider than its frame`);
        },
        { viewport: { width, height: 900 } },
      );
    }
  } finally {
    await small.end();
  }
});

test("links to headings of the same note are shown as text, next to code as well", async () => {
  const text = "# A\n\nSee [[#Clocks]], [[#Clocks|the *clocks*]], [[#<b>]] and `[[#Clocks]]`.\n\n## Clocks\n";
  const small = await Daemon.over(vault({ "a.md": text }));
  try {
    await visit(small, "#/note?uri=a", async (page) => {
      assert.equal(await page.locator(".body p").textContent(), "See Clocks, the *clocks*, <b> and [[#Clocks]].");
      assert.equal(await page.locator(".body code").textContent(), "[[#Clocks]]");
    });
  } finally {
    await small.end();
  }
});

test("related notes say what connects them", async () => {
  const two = await Daemon.over(vault({ "x/a.md": "# A\n\n[[b]]\n", "y/b.md": "# B\n", "z/c.md": "# C\n" }));
  try {
    await visit(two, "#/note?uri=x/a", (page) => page.locator(".related").getByText("linked from it").waitFor());
    await visit(two, "#/note?uri=y/b", (page) => page.locator(".related").getByText("links to it").waitFor());
    await visit(two, "#/note?uri=z/c", (page) => page.getByText("No note is linked with it").waitFor());
  } finally {
    await two.end();
  }
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
    "#/context?q=leap second&budget=500&packing=classic",
    async (page) => {
      await page.locator(".ledger td").first().waitFor();
      const widths = await page.locator(".accordion a").evaluateAll((pieces) => pieces.map((piece) => piece.getBoundingClientRect().width));
      const whole = (await page.locator(".accordion").boundingBox()).width;
      assert.ok(widths.length > 0 && widths.reduce((a, b) => a + b) <= whole + 1);
      // carry = share − cost, and the next share is the note's own share plus the carry.
      const rows = (await page.locator(".ledger tbody tr:has(td + td + td)").evaluateAll((rows) => rows.map((row) => [...row.cells].slice(-3).map((cell) => Number(cell.textContent.replaceAll(",", "")))))).filter(([share]) => !Number.isNaN(share));
      const own = Number(/each share is ([\d,]+)/.exec(await page.locator(".rule").textContent())[1].replaceAll(",", ""));
      let carry = 0;
      for (const [share, cost, next] of rows) {
        assert.deepEqual([share, share - cost], [own + carry, next]);
        carry = next;
      }
      // The message disappears after a moment.
      const copied = page.getByRole("button", { name: "Copied" }).waitFor();
      await page.getByRole("button", { name: "Copy" }).click();
      await copied;
      assert.equal(await page.evaluate(() => navigator.clipboard.readText()), await page.locator(".rendered").textContent());
    },
    { permissions: ["clipboard-read", "clipboard-write"] },
  );
});

test("each segment of the budget is as wide as its cost", async () => {
  const many = await Daemon.over(vault(Object.fromEntries(Array.from({ length: 150 }, (_, nth) => [`n${nth}.md`, `# Clock ${nth}\n\nA clock, ${"and more ".repeat(nth % 7)}.\n`]))));
  try {
    await visit(many, "#/context?q=clock&budget=5000", async (page) => {
      await page.locator(".ledger td").first().waitFor();
      const off = await page.locator(".accordion").evaluate((bar) => {
        const whole = bar.clientWidth;
        return [...bar.children].map((piece) => {
          const [, tokens] = / ([\d,]+) tokens$/.exec(piece.title);
          return Math.abs(piece.getBoundingClientRect().width - (Number(tokens.replaceAll(",", "")) / 5000) * whole);
        });
      });
      assert.equal(off.length, 50, "as many as the context considers");
      assert.ok(Math.max(...off) < 1, `${Math.max(...off)} pixels off`);
    });
  } finally {
    await many.end();
  }
});

/** Returns the number at the start of a text. */
const number = (text) => Number(/-?[\d,]+/.exec(text)[0].replaceAll(",", ""));

test("the ledger shows shares with the profile classic only, and passages with the others", async () => {
  for (const [packing, profile, columns] of [
    ["", "evidence", ["Note", "Score", "Mode", "Tokens", "Passages"]],
    ["evidence", "evidence", ["Note", "Score", "Mode", "Tokens", "Passages"]],
    ["plain", "plain", ["Note", "Score", "Mode", "Tokens", "Passages"]],
    ["classic", "classic", ["Note", "Score", "Mode", "Tokens", "Share", "Cost", "Carry"]],
    ["no-such-profile", "evidence", ["Note", "Score", "Mode", "Tokens", "Passages"]],
  ]) {
    await visit(daemon, `#/context?q=leap second&budget=1000&packing=${packing}`, async (page) => {
      await page.getByText(`packed by the profile ${profile}`).waitFor();
      assert.deepEqual(await page.locator(".ledger:not(.out) thead th").allTextContents(), columns, packing);
      assert.equal(await page.locator(".rule").count(), packing === "classic" ? 1 : 0, packing);
      assert.equal(await page.locator(".passages").count(), packing === "classic" ? 0 : 1, packing);
      assert.equal(await page.locator(".legend").getByText(packing === "classic" ? "the text from its start" : "the whole text").count(), 1, packing);
    });
  }
});

test("the packing profile is chosen in the form and kept in the address", async () => {
  await visit(daemon, "#/context?q=leap second&budget=1000", async (page) => {
    const choice = page.getByLabel("Packing");
    await page.getByText("packed by the profile evidence").waitFor();
    assert.equal(await choice.inputValue(), "");
    await choice.selectOption("classic");
    await page.getByText("packed by the profile classic").waitFor();
    assert.match(await page.evaluate(() => location.hash), /packing=classic/);
    await page.reload();
    await page.getByText("packed by the profile classic").waitFor();
    assert.equal(await choice.inputValue(), "classic");
    await choice.selectOption("");
    await page.getByText("packed by the profile evidence").waitFor();
    assert.doesNotMatch(await page.evaluate(() => location.hash), /packing/);
  });
});

test("passages show their evidence, their price and whether the context contains them", async () => {
  await visit(daemon, "#/context?q=leap second&budget=500", async (page) => {
    await page.locator(".passages .chosen").first().waitFor();
    const counts = /^([\d,]+) passages of ([\d,]+) notes considered, ([\d,]+) in the context$/.exec((await page.locator("h2", { hasText: "Passages" }).locator("small").textContent()).trim());
    const [, passages, notes, included] = counts.map(number);
    await page.getByRole("button", { name: `Show all ${notes} notes` }).click();
    const folds = page.locator(".passages .fold");
    assert.equal(await folds.count(), notes);
    const press = (selector) => page.locator(selector).evaluateAll((buttons) => buttons.forEach((button) => button.click()));
    await press(".passages .fold[aria-expanded=false]");
    await gone(page, ".passages .fold[aria-expanded=false]");
    await press(".passages .actions button");
    await page.locator(".passages tr:has(.evidence)").nth(passages - 1).waitFor();
    const rows = await page.locator(".passages tr:has(.evidence)").evaluateAll((rows) =>
      rows.map((row) => {
        const [, evidence, , tokens, outcome] = [...row.cells].map((cell) => cell.textContent);
        const [track, bar] = [".track", ".track span"].map((selector) => row.querySelector(selector).getBoundingClientRect().width);
        return { evidence: Number(evidence), tokens: Number(tokens), outcome, chosen: row.className === "chosen", quoted: row.querySelector("q") !== null, off: Math.abs(bar / track - Number(evidence)) };
      }),
    );
    assert.equal(rows.length, passages);
    for (const row of rows) {
      assert.ok(row.evidence >= 0 && row.evidence <= 1 && row.tokens > 0 && row.off < 0.02, JSON.stringify(row));
      assert.ok(["included", "cut", "does not fit", "duplicate"].includes(row.outcome), row.outcome);
      assert.equal(row.chosen, row.outcome === "included" || row.outcome === "cut", JSON.stringify(row));
      assert.equal(row.quoted, row.chosen, JSON.stringify(row));
    }
    assert.equal(rows.filter((row) => row.chosen).length, included);
    // The ledger counts the same passages.
    const counted = await page.locator(".ledger:not(.out) tbody td:last-child").allTextContents();
    assert.equal(counted.map(number).reduce((a, b) => a + b), included);
    await page.getByRole("button", { name: "Show the first 10 notes" }).click();
    assert.equal(await folds.count(), 10);
  });
});

test("the passages of a note are opened and closed with the keyboard", async () => {
  await visit(daemon, "#/context?q=leap second&budget=500", async (page) => {
    const folds = page.locator(".passages .fold");
    await folds.nth(3).waitFor();
    assert.deepEqual(await folds.evaluateAll((folds) => folds.map((fold) => fold.ariaExpanded)), [...Array(3).fill("true"), ...Array(7).fill("false")]);
    const listed = () => page.locator(".passages tbody").nth(3).locator(".evidence").count();
    assert.equal(await listed(), 0);
    await folds.nth(3).focus();
    await page.keyboard.press("Enter");
    await page.locator(".passages tbody").nth(3).locator(".evidence").first().waitFor();
    await page.keyboard.press("Space");
    await page.locator(".passages tbody").nth(3).locator(".evidence").first().waitFor({ state: "detached" });
    assert.equal(await page.evaluate(() => document.activeElement.className), "fold", "the focus stays");
  });
});

/** Returns words that occur in one paragraph only; repeated text would be a duplicate. */
const own = (nth) => Array.from({ length: 60 }, (_, at) => `word${nth}x${at}`).join(" ");

test("a long note lists the passages in the context and the best others first", async () => {
  const sections = Array.from({ length: 40 }, (_, nth) => `## Part ${nth}\n\nA paragraph ${nth === 30 ? "about the okapi, which eats leaves" : `with ${own(nth)}`}.\n`);
  const long = await Daemon.over(vault({ "zoo.md": `# Zoo\n\n${sections.join("\n")}` }));
  try {
    await visit(long, "#/context?q=okapi leaves&budget=150", async (page) => {
      await page.locator(".passages .chosen q", { hasText: "about the okapi" }).waitFor();
      const rows = page.locator(".passages tr:has(.evidence)");
      const before = await rows.count();
      const all = page.getByRole("button", { name: /^Show all \d+ passages$/ });
      const n = number((await all.textContent()).replace("Show all ", ""));
      assert.ok(before === 12 && n > 12, `${before} of ${n}`);
      await all.press("Enter");
      await rows.nth(n - 1).waitFor();
      await page.getByRole("button", { name: "Show fewer passages" }).press("Enter");
      await rows.nth(12).waitFor({ state: "detached" });
    });
  } finally {
    await long.end();
  }
});

/** Counts the requests for contexts. */
function requestsOf(page) {
  const sent = [];
  page.on("request", (request) => request.url().endsWith("/Assemble") && sent.push(request));
  return sent;
}

test("what each further 500 tokens would add is requested on demand, and equals the difference of the contexts", async () => {
  const title = "What each further 500 tokens would add";
  await visit(daemon, "#/context?q=leap second&budget=500", async (page) => {
    const sent = requestsOf(page);
    const shown = async (budget) => {
      await page.goto(`http://${daemon.address}/#/context?q=leap second&budget=${budget}`);
      await page.getByText(`of ${count(budget)} tokens`, { exact: false }).first().waitFor();
      await settled(page);
      return page.locator(".ledger:not(.out) tbody th > a").allTextContents();
    };
    const count = (n) => n.toLocaleString("en");
    const budgets = [500, 1000, 1500, 2000];
    const titles = [];
    for (const budget of budgets) titles.push(await shown(budget));
    await shown(500);
    const before = sent.length;
    await page.getByText(title).click();
    await page.locator(".gains > li").first().waitFor();
    assert.equal(sent.length - before, 4);
    assert.match(await page.evaluate(() => location.hash), /more=1/);
    const steps = page.locator(".columns-3 > li");
    assert.equal(await steps.count(), 3);
    for (const [nth, smaller] of titles.slice(0, 3).entries()) {
      const step = steps.nth(nth);
      assert.match(await step.locator("h3").textContent(), new RegExp(`From ${count(budgets[nth])} to ${count(budgets[nth + 1])} tokens`));
      const added = await step.locator(".gains > li").evaluateAll((notes) => notes.filter((note) => note.querySelector(":scope > small").textContent.includes("new")).map((note) => note.querySelector("a").textContent));
      assert.deepEqual(added.sort(), titles[nth + 1].filter((each) => !smaller.includes(each)).sort());
    }
    await page.getByText(title).click();
    await page.locator(".gains").first().waitFor({ state: "detached" });
    assert.doesNotMatch(await page.evaluate(() => location.hash), /more=/);
  });
});

test("a further 500 tokens name the passages that appear, also with the profile classic", async () => {
  const paragraph = (nth) => `Paragraph ${nth} tells of clocks, ${own(nth)}.`;
  const long = await Daemon.over(vault({ "clocks.md": `# Clocks\n\n${Array.from({ length: 30 }, (_, nth) => paragraph(nth)).join("\n\n")}\n` }));
  try {
    for (const packing of ["evidence", "classic"]) {
      await visit(long, `#/context?q=clocks&budget=500&packing=${packing}&more=1`, async (page) => {
        await page.locator(".gains > li").first().waitFor();
        assert.ok((await page.locator(".columns-3 > li").first().locator(".gains li q").count()) > 0, packing);
        const shown = await page.locator(".halves .rendered").textContent();
        if (packing === "evidence") {
          for (const words of await page.locator(".columns-3 > li").first().locator(".gains li q").allTextContents()) {
            const first = /Paragraph \d+ /.exec(words)?.[0];
            if (first !== undefined) assert.ok(!shown.includes(first), `${first} is in the smaller context`);
          }
        }
      });
    }
    // Everything is in.
    await visit(long, "#/context?q=clocks&budget=15000&more=1", async (page) => {
      await page.getByText("Nothing is added.").first().waitFor();
      assert.equal(await page.getByText("Nothing is added.").count(), 3);
    });
  } finally {
    await long.end();
  }
});

test("a change cancels pending requests for greater budgets", async () => {
  await visit(
    daemon,
    "#/context?q=leap second&budget=500",
    async (page) => {
      await page.locator(".ledger td").first().waitFor();
      await settled(page);
      const cancelled = [];
      page.on("requestfailed", (request) => request.url().endsWith("/Assemble") && cancelled.push(request.failure().errorText));
      let held = true;
      await page.route("**/Assemble", (route) => (held ? undefined : route.continue()));
      const sent = requestsOf(page);
      await page.getByText("What each further 500 tokens would add").click();
      await page.waitForFunction(() => document.querySelector("details.part .waiting") !== null);
      while (sent.length < 4) await page.waitForTimeout(20);
      held = false;
      await page.getByRole("slider", { name: "Budget" }).fill("700");
      await page.getByText("From 700 to 1,200 tokens").waitFor();
      assert.deepEqual(cancelled, Array(4).fill("net::ERR_ABORTED"));
      await settled(page);
    },
    { forgive: [/ERR_/] },
  );
});

test("the packing profiles are shown side by side, and below each other on a narrow screen", async () => {
  await visit(daemon, "#/context?q=leap second&budget=500", async (page) => {
    await page.locator(".ledger td").first().waitFor();
    const sent = requestsOf(page);
    await page.getByText("The packing profiles side by side").click();
    await page.locator(".variant .rendered").nth(2).waitFor();
    assert.equal(sent.length, 3);
    const names = await page.locator(".variant h3").allTextContents();
    assert.deepEqual(names.map((name) => name.split(" ")[0]), ["Evidence", "Classic", "Plain"]);
    for (const summary of await page.locator(".variant > p").allTextContents()) assert.match(summary, /^\d+ notes?, \d+ of 500 used$/);
    assert.equal(await page.locator(".variant .rendered").first().textContent(), await page.locator(".halves .rendered").textContent());
    const boxes = async () => page.locator(".variant").evaluateAll((columns) => columns.map((column) => column.getBoundingClientRect()).map(({ x, y }) => [Math.round(x), Math.round(y)]));
    const [left, middle, right] = await boxes();
    assert.ok(left[0] < middle[0] && middle[0] < right[0] && left[1] === right[1], JSON.stringify([left, middle, right]));
    await page.setViewportSize({ width: 360, height: 780 });
    const [top, between, bottom] = await boxes();
    assert.ok(top[0] === bottom[0] && top[1] < between[1] && between[1] < bottom[1], JSON.stringify([top, between, bottom]));
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0);
    await page.getByRole("region", { name: "Classic: rendered text" }).focus();
    assert.equal(await page.locator(".variant .rendered").nth(1).evaluate((text) => text === document.activeElement), true);
    // Another format applies to all.
    await page.getByText("JSON", { exact: true }).click();
    await page.waitForFunction(() => [...document.querySelectorAll(".rendered")].every((text) => /^\s*[[{]/.test(text.textContent)));
  });
});

test("without clipboard access, a context is copied by the deprecated API, or selected", async () => {
  const permissions = ["clipboard-read", "clipboard-write"];
  for (const [name, spoil] of [
    ["missing", () => Object.defineProperty(navigator, "clipboard", { value: undefined })],
    ["refused", () => (navigator.clipboard.writeText = () => Promise.reject(new DOMException("no", "NotAllowedError")))],
  ]) {
    await visit(
      daemon,
      "#/context?q=leap second&budget=500",
      async (page) => {
        await page.locator(".ledger td").first().waitFor();
        const read = await page.evaluateHandle(() => navigator.clipboard);
        await page.evaluate(() => navigator.clipboard.writeText("nothing yet"));
        await page.evaluate(spoil);
        const copied = page.getByRole("button", { name: "Copied" }).waitFor();
        await page.getByRole("button", { name: "Copy" }).click();
        await copied;
        const text = await page.locator(".rendered").textContent();
        assert.equal(await read.evaluate((clipboard) => clipboard.readText()), text, name);
        await page.evaluate(() => (document.execCommand = () => false));
        await page.getByRole("button", { name: "Copy", exact: true }).click();
        await page.getByRole("button", { name: "press Ctrl C" }).waitFor();
        assert.equal((await page.evaluate(() => getSelection().toString())).trim(), text.trim(), name);
      },
      { permissions },
    );
  }
});

test("a saved file appears when its generation is published", async () => {
  const root = vault({ "a.md": "# A\n\nsee [[b]]\n" });
  const living = await Daemon.over(root);
  try {
    await visit(living, "#/index", async (page) => {
      await page.locator(".generations li", { hasText: "before this page was opened" }).waitFor();
      assert.equal(await page.locator(".generations time").count(), 0, "its time of publication is unknown");
      await page.getByText("Unresolved links").waitFor();
      const before = await page.locator(".generations li").count();
      writeFileSync(join(root, "b.md"), "# B\n");
      await page.locator(".generations li").nth(before).waitFor();
      await page.getByText("All links are resolved.").waitFor();
    });
  } finally {
    await living.end();
  }
});

test("an unchanged note keeps its state when another is saved, and updates with its own links", async () => {
  const root = vault({ "a.md": "# A\n\n> [!tip]- Folded\n> Hidden.\n\nsee [[c]] okapi\n", "b.md": "# B\n" });
  const living = await Daemon.over(root);
  try {
    for (const [hash, within] of [["#/note?uri=a", ".note"], ["#/search?q=okapi&mode=keyword", ".preview"]]) {
      await visit(living, hash, async (page) => {
        await page.locator(`${within} .body summary`).click();
        await page.locator(".pill", { hasText: "notes" }).waitFor();
        await page.evaluate((within) => getSelection().selectAllChildren(document.querySelector(`${within} .body > p`)), within);
        const reloaded = page.waitForResponse("**/GetNote");
        writeFileSync(join(root, "b.md"), `# B\n\n${within}\n`);
        await reloaded;
        await settled(page);
        assert.equal(await page.locator(`${within} .body details[open]`).count(), 1, within);
        assert.equal(await page.evaluate(() => getSelection().toString()), "see c okapi", within);
      });
    }
    await visit(living, "#/note?uri=a", async (page) => {
      await page.locator(".pill", { hasText: "notes" }).waitFor();
      await page.locator(".body .unresolved").waitFor();
      writeFileSync(join(root, "c.md"), "# C\n");
      await page.locator(".body").getByRole("link", { name: "c" }).waitFor();
    });
  } finally {
    await living.end();
  }
});

test("an address restores its view", async () => {
  await visit(daemon, "#/search?q=clock&mode=keyword&path=Calendars&limit=20", async (page) => {
    await page.locator(".hit").first().waitFor();
    assert.equal(await page.locator("#query").inputValue(), "clock");
    assert.ok(await page.getByRole("radio", { name: "Keywords", exact: true }).isChecked());
    for (const where of await page.locator(".hit .where > span:first-child").allTextContents()) assert.match(where, /^Calendars/);
  });
});

test("a note shows its position, text and graph; links open other notes", async () => {
  await visit(daemon, "#/note?uri=Leap second&hops=2", async (page) => {
    await page.getByRole("heading", { level: 1, name: "Leap second" }).waitFor();
    assert.match(await page.locator(".crumbs").textContent(), /Agreed Time/);
    await page.locator(".graph canvas").first().waitFor();
    await page.locator(".body a").first().click();
    await page.waitForFunction(() => ![undefined, "Leap second"].includes(document.querySelector("h1")?.textContent));
  });
});
