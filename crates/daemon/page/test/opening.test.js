// Opening notes, their images, named parts, facets and recent searches.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { gone, settled, visit } from "./stage.js";
import { Daemon, vault } from "./weft.js";

const filler = Array.from({ length: 80 }, (_, nth) => `Line ${nth} of the soft moss.`).join("\n\n");
const NOTES = {
  "plants/fern.md": `---\ntags: [green, green/dark]\n---\n# Fern\n\n![A frond](../files/dot.png) and ![[dot.png|40]]\n\n![Gone](none.png) and ![Far](https://example.invalid/x.png)\n\n![[script.svg]]\n\n${filler}\n\n## Spores\n\nThey fly. ^fly\n\n- one\n- two ^b15695\n\nSee [[#Spores]] and [[#^fly|the flight]], 2^10.\n`,
  "plants/wet/moss.md": "---\ntags: [Green]\n---\n# Moss\n\nSoft. See [[fern#Spores]], [[fern#^b15695]] and [[fern#Nowhere]].\n",
  "stones/stone.md": "# Stone\n\nHard moss #grey\n",
};
/** A red dot of 2 × 2 pixels. */
const DOT = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGP4z8AARAwQCgAf7gP9i18U1AAAAABJRU5ErkJggg==", "base64");
const SCRIPT = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>window.hurt = true; parent.hurt = true</script><rect width="9" height="9" onload="window.hurt = true"/></svg>';

const root = vault({ ...NOTES, "files/dot.png": "", "files/script.svg": SCRIPT });
writeFileSync(join(root, "files/dot.png"), DOT);

let daemon;
let guarded;
before(async () => {
  [daemon, guarded] = await Promise.all([Daemon.over(root), Daemon.over(root, { tokens: { read: "a-token-that-may-read", write: "a-token-that-may-write" } })]);
});
after(() => Promise.all([daemon?.end(), guarded?.end()]));

const loaded = (page, alt) => page.waitForFunction((alt) => [...document.images].some((image) => image.alt === alt && image.complete && image.naturalWidth > 0), alt);

test("images of the vault are shown and others are not loaded", async () => {
  const foreign = [];
  await visit(
    daemon,
    "#/note?uri=plants/fern",
    async (page) => {
      page.on("request", (request) => !request.url().includes(daemon.address) && !request.url().startsWith("blob:") && foreign.push(request.url()));
      await loaded(page, "A frond");
      await loaded(page, "dot.png");
      assert.equal(await page.locator('img[alt="dot.png"]').evaluate((image) => image.width), 40, "a label that is a size sets the width");
      await loaded(page, "script.svg");
      assert.equal(await page.evaluate(() => window.hurt), undefined, "a script in an SVG does not run");
      await page.locator(".body .file", { hasText: "Gone" }).waitFor();
      assert.equal(await page.locator(".body a.outside").getAttribute("href"), "https://example.invalid/x.png");
      assert.deepEqual(foreign, []);
    },
    { forgive: [/404/] },
  );
});

test("names of blocks are hidden and links lead to parts", async () => {
  await visit(
    daemon,
    "#/note?uri=plants/wet/moss",
    async (page) => {
      await page.getByRole("link", { name: "fern › Spores" }).click();
      await page.getByRole("heading", { level: 1, name: "Fern" }).waitFor();
      const spores = page.getByRole("heading", { name: "Spores" });
      await page.waitForFunction(() => document.getElementById("named-part")?.getBoundingClientRect().top < innerHeight);
      const box = await spores.boundingBox();
      assert.ok(box.y >= 0 && box.y < 600, `the heading is in view: ${box.y}`);
      const text = await page.locator(".body").innerText();
      assert.doesNotMatch(text, /\^fly|\^b15695/);
      assert.match(text, /2\^10/, "other carets stay");
      assert.equal(await page.getByRole("link", { name: "the flight" }).getAttribute("href"), "#/note?uri=plants%2Ffern&at=%5Efly");
      await page.goBack();
      await page.getByRole("link", { name: "b15695" }).click();
      await page.waitForFunction(() => document.getElementById("named-part")?.closest("li")?.textContent.includes("two"));
      await page.goBack();
      await page.getByRole("link", { name: "Nowhere" }).click();
      await page.locator(".notice", { hasText: "Nowhere" }).waitFor();
    },
    { forgive: [/404/, /grpc/i] },
  );
});

test("a note opens in the programs of the settings and its link is copied", async () => {
  await visit(
    daemon,
    "#/note?uri=plants/fern&at=Spores",
    async (page) => {
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      const code = await page.getByRole("link", { name: "VS Code" }).getAttribute("href");
      assert.match(code, /^vscode:\/\/file\/.*\/plants\/fern\.md:1\d\d:1$/);
      assert.match(await page.getByRole("link", { name: "Obsidian" }).getAttribute("href"), /^obsidian:\/\/open\?path=.*fern\.md%23Spores$/);
      await page.getByRole("button", { name: "copy [[link]]" }).click();
      await page.getByRole("button", { name: "copied" }).waitFor();
      assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "[[plants/fern|Fern]]");
    },
    { forgive: [/404/] },
  );
});

test("a reader sees images but not where files are", async () => {
  await visit(
    guarded,
    "#/search",
    async (page) => {
      await page.evaluate(() => sessionStorage.setItem("weft-token", "a-token-that-may-read"));
      await page.reload();
      await page.goto(`http://${guarded.address}/#/note?uri=plants/fern`);
      await loaded(page, "A frond");
      await settled(page);
      assert.equal(await page.getByRole("link", { name: "VS Code" }).count(), 0);
      assert.equal(await page.getByRole("button", { name: "copy [[link]]" }).count(), 1);
      assert.ok(!(await page.content()).includes(root), "no path of the machine");
    },
    { forgive: [/401|403|404|grpc/i], httpCredentials: { username: "x", password: "a-token-that-may-read" } },
  );
});

test("folders and tags with their counts narrow a search", async () => {
  await visit(daemon, "#/search?q=moss&mode=keyword", async (page) => {
    const facet = (name) => page.locator(".facets button", { hasText: name });
    await facet("#green").first().waitFor();
    assert.deepEqual(await page.locator(".facets fieldset").first().locator("button").allInnerTexts(), ["plants 2", "plants/wet 1", "stones 1"]);
    await facet("plants/wet").click();
    await page.waitForFunction(() => document.querySelectorAll(".hits:not(.stale) .hit").length === 1);
    assert.match(await page.evaluate(() => location.hash), /path=plants%2Fwet/);
    await facet("plants/wet").click();
    await page.waitForFunction(() => document.querySelectorAll(".hits:not(.stale) .hit").length === 3);
    await facet("#grey").click();
    await page.waitForFunction(() => document.querySelectorAll(".hits:not(.stale) .hit").length === 1);
    assert.equal(await facet("#grey").getAttribute("aria-pressed"), "true");
  });
});

test("searches whose hits were opened are listed until they are cleared", async () => {
  await visit(daemon, "#/search", async (page) => {
    assert.equal(await page.locator(".recent").count(), 0);
    await page.keyboard.type("stone");
    await page.locator(".hits:not(.stale) .hit").first().waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Stone" }).waitFor();
    await page.goto(`http://${daemon.address}/#/search`);
    await page.locator(".recent a", { hasText: "stone" }).click();
    await page.locator(".hits:not(.stale) .hit").first().waitFor();
    assert.equal(await page.locator("#query").inputValue(), "stone");
    await page.goto(`http://${daemon.address}/#/search`);
    await page.locator(".recent button").click();
    await gone(page, ".recent");
    assert.equal(await page.evaluate(() => localStorage.getItem("weft-recent")), null);
  });
});
