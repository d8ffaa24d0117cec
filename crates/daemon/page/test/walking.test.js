// Navigation: scroll position and focus on arrival, and their restoration.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { daemon, settled, visit } from "./stage.js";
import { Daemon, vault } from "./weft.js";

/** Notes of many lines, each with a link to the other at its end. */
let long;
before(async () => {
  const lines = Array.from({ length: 200 }, (_, nth) => `Line ${nth} of a long note.\n`).join("\n");
  long = await Daemon.over(vault({ "a.md": `# A\n\n${lines}\n[[b]]\n`, "b.md": `# B\n\n${lines}\n[[a]]\n` }));
});
after(() => long?.end());

const scrolledTo = (page, y) => page.waitForFunction((y) => Math.abs(scrollY - y) < 2, y);

test("opening a note starts at its top with the focus on its title; going back restores the position", async () => {
  await visit(long, "#/note?uri=a&hops=2&budget=500", async (page) => {
    // The sections below the text still change their size, and with it the length of the page.
    await page.locator(".body").waitFor();
    await settled(page);
    await page.locator(".body a").last().scrollIntoViewIfNeeded();
    const before = await page.evaluate(() => scrollY);
    assert.ok(before > 1000, `${before}`);
    await page.locator(".body a").last().click();
    await page.getByRole("heading", { level: 1, name: "B" }).waitFor();
    await scrolledTo(page, 0);
    assert.equal(await page.evaluate(() => document.activeElement.textContent.trim()), "B");
    assert.match(await page.title(), /^B · /);
    assert.match(await page.evaluate(() => location.hash), /hops=2/, "the next note keeps the view parameters");
    await page.goBack();
    await page.getByRole("heading", { level: 1, name: "A" }).waitFor();
    await scrolledTo(page, before);
    await page.reload();
    await page.getByRole("heading", { level: 1, name: "A" }).waitFor();
    await scrolledTo(page, before);
  });
});

test("another view of the same note is a history entry, and the position left at that moment is kept", async () => {
  await visit(long, "#/note?uri=a&hops=1&budget=500", async (page) => {
    await page.locator(".body").waitFor();
    await settled(page);
    await page.evaluate(() => {
      scrollTo(0, 1500);
      location.hash = "#/note?uri=a&hops=2&budget=500";
    });
    await scrolledTo(page, 0);
    assert.equal(await page.evaluate(() => document.activeElement.textContent.trim()), "A");
    await page.goBack();
    await scrolledTo(page, 1500);
  });
});

test("going back to the hits restores the selected hit, its position and open details", async () => {
  await visit(daemon, "#/search?q=clock&limit=50&mode=keyword", async (page) => {
    await page.locator(".hit").nth(20).waitFor();
    const title = await page.locator(".hit .head > a").nth(20).textContent();
    await page.locator(".hit").nth(20).getByRole("button", { name: /^why/ }).click();
    await page.locator(".hit .parts").waitFor();
    await settled(page);
    await page.locator(".hit .head > a").nth(20).scrollIntoViewIfNeeded();
    const before = await page.evaluate(() => scrollY);
    await page.locator(".hit .head > a").nth(20).click();
    await page.getByRole("heading", { level: 1, name: title }).waitFor();
    await scrolledTo(page, 0);
    await page.goBack();
    await page.locator(".hit").nth(20).waitFor();
    // Facets arrive after the hits, and move them.
    await page.locator(".facets").waitFor();
    await scrolledTo(page, before);
    assert.equal(await page.locator(".hit[aria-current] .head > a").textContent(), title);
    assert.equal(await page.locator(".hit .parts").count(), 1);
    // A new query resets them.
    await page.locator("#query").fill("pendulum");
    await page.waitForFunction(() => !/hit=|why=/.test(location.hash));
  });
});

test("the end of a path is in its field, after going back as well", async () => {
  await visit(daemon, "#/note?uri=Pendulum", async (page) => {
    const box = page.getByLabel("Path from");
    await box.fill("Leap second");
    await page.getByRole("button", { name: "Find" }).click();
    await page.locator(".steps a").last().click();
    await page.getByRole("heading", { level: 1, name: "Leap second" }).waitFor();
    assert.equal(await box.inputValue(), "", "a path belongs to the note where it was requested");
    await page.goBack();
    await page.getByRole("heading", { level: 1, name: "Pendulum" }).waitFor();
    await page.locator(".steps a").last().waitFor();
    assert.equal(await box.inputValue(), "Leap second");
    await page.getByRole("button", { name: "Clear" }).click();
    assert.equal(await box.inputValue(), "");
  });
});

test("a view takes the focus on arrival only", async () => {
  await visit(daemon, "#/index", async (page) => {
    await page.locator(".numbers").waitFor();
    await page.evaluate(() => (location.hash = "#/context"));
    await page.locator("#query:focus").waitFor();
    await page.keyboard.press("Tab");
    await page.locator("input[type=range]:focus").waitFor();
    // A later response is not an arrival.
    await page.evaluate(() => {
      const field = document.querySelector("#query");
      field.value = "clock";
      field.dispatchEvent(new Event("input", { bubbles: true }));
    });
    await page.locator(".ledger td").first().waitFor();
    assert.equal(await page.evaluate(() => document.activeElement.type), "range");
  });
});

test("type and tags of a note link to the notes that share them", async () => {
  await visit(daemon, "#/note?uri=Leap second", async (page) => {
    for (const name of [/^event$/, /^#/]) {
      await page.locator(".facts").getByRole("link", { name }).first().click();
      await page.getByText(/\d+ notes pass the filter/).waitFor();
      await page.locator(".passing").getByRole("link", { name: "Leap second", exact: true }).waitFor();
      assert.equal(await page.locator(".filters[open] input").evaluateAll((fields) => fields.filter((field) => field.value !== "").length), 1, "the filter is open and visible");
      await page.goBack();
    }
  });
});
