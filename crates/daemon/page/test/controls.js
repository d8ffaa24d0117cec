// Uses every control of every view once.

import assert from "node:assert/strict";
import { clickDot, dotsAtRest, joinDots } from "./dots.js";

/** Moves a slider to a value. */
const slide = (page, name, value) => page.getByRole("slider", { name }).fill(String(value));

const count = async (page, selector) => page.locator(selector).count();

/** Uses the search of a daemon without a model: `query` finds more than ten notes, including `note` in `folder`. */
export async function search(page, { query, note, folder }) {
  const fresh = page.locator(".hits:not(.stale) .hit");
  await page.locator("#query").fill(query);
  await fresh.nth(9).waitFor();
  for (const [mode, shown] of [["Meaning", page.locator(".failed")], ["Keywords", fresh.first()], ["Meaning", page.locator(".failed")], ["Meaning and keywords", fresh.first()]]) {
    await page.getByText(mode, { exact: true }).click();
    await shown.waitFor();
  }
  await page.getByRole("button", { name: "More" }).click();
  await fresh.nth(10).waitFor();
  assert.match(await page.locator(".hit .score").first().getAttribute("title"), /vector \d.*keyword \d/);

  await page.getByText("Filter", { exact: true }).click();
  await page.getByLabel("Folder or glob").fill(folder);
  await page.waitForFunction((name) => {
    const places = [...document.querySelectorAll(".hits:not(.stale) .where > span:first-child")];
    return places.length > 0 && places.every((where) => where.textContent.startsWith(name));
  }, folder);
  for (const [label, value] of [["Tags", "no-such-tag"], ["Type", "no-such-type"], ["Properties", "no = such, year >= 1700"], ["Dated from", "2999-01-01"], ["Dated before", "1000-01-01"], ["Links to", note], ["Linked from", note], ["Near", `${note}:1`]]) {
    await page.getByLabel(label, { exact: true }).fill(value);
  }
  await page.locator(".results:has(.hits:not(.stale))").getByText("No hits that pass the filter.").waitFor();
  await page.getByRole("button", { name: "Clear the filter" }).click();
  await fresh.nth(9).waitFor();

  await page.getByText("Weights", { exact: true }).click();
  for (const weight of ["similarity", "centrality", "activation"]) await slide(page, new RegExp(weight), 0.5);
  await page.waitForFunction(() => location.hash.includes("w=0.5%2C0.5%2C0.5"));
  await page.getByLabel("Profile").selectOption("classic");
  await page.waitForFunction(() => location.hash.includes("profile=classic") && !location.hash.includes("w="));
  await page.getByRole("button", { name: "Reset" }).click();
  await fresh.first().waitFor();

  await page.getByRole("button", { name: "explain" }).click();
  await page.locator(".explained summary").click();
  await page.locator(".explained .candidates li").first().waitFor();
  await page.locator(".hit").first().getByRole("button", { name: /^why .+ was found$/ }).click();
  await page.locator(".hit .parts tfoot").waitFor();
  await page.locator(".preview .body").waitFor();
}

/** Uses the view of `note`, which has a path to `far`. */
export async function note(page, { far, note }) {
  const summary = page.locator(".around > :not(.stale)").getByText(/^[\d,]+ notes?, [\d,]+ links?/);
  await summary.waitFor();
  const before = await summary.textContent();
  await slide(page, "Hops", 2);
  await page.waitForFunction((old) => document.querySelector(".around [role=status]").textContent !== old, before);
  for (const way of ["Outgoing links", "Incoming links", "Both directions"]) {
    await page.getByText(way, { exact: true }).click();
    await summary.waitFor();
  }
  await page.getByText("folder hierarchy").click();
  await page.waitForFunction(() => location.hash.includes("folders=1"));
  // The response determines the edge types.
  await summary.waitFor();
  await page.locator(".chips span").first().click();
  await page.waitForFunction(() => location.hash.includes("without="));
  await page.locator(".chips span").first().click();
  await page.waitForFunction(() => !location.hash.includes("without="));
  await page.getByLabel("Path from").fill(far);
  await page.getByRole("button", { name: "Find" }).click();
  await page.locator(".steps a").nth(1).waitFor();
  assert.equal(await page.locator(".steps a").last().textContent(), far);
  await page.getByRole("button", { name: "Clear" }).click();
  await page.locator(".steps").waitFor({ state: "detached" });
  const related = await count(page, ".ranked li");
  await slide(page, "Tokens", 8000);
  await page.waitForFunction((n) => document.querySelectorAll(".ranked li").length > n, related);
  await page.locator(".siblings summary").first().waitFor();
  await slide(page, "Hops", 1);
  const full = async () => (await dotsAtRest(page, "near")).filter(({ filled }) => filled);
  const [one, other] = await full();
  await joinDots(page, one, other);
  // A path may contain notes that were not drawn before.
  const [near] = await full();
  await clickDot(page, near);
  const elsewhere = (from) => page.waitForFunction((name) => document.querySelector("h1") !== null && document.querySelector("h1").textContent !== name, from);
  await elsewhere(note);
  const there = await page.locator("h1").textContent();
  // Links of the previous note may still be shown.
  await page.locator("aside > section:not(.stale) > ul a").first().click();
  await elsewhere(there);
}

/** Uses the context of `query`. */
export async function context(page, { query }) {
  await page.locator("#query").fill(query);
  await page.locator(".ledger td").first().waitFor();
  // Not enough for all notes.
  await slide(page, "Budget", 500);
  await page.getByText(/ of 500 tokens/).waitFor();
  for (const [rendering, begins] of [["JSON", /^\s*[[{]/], ["XML", /^\s*</], ["Markdown", /^\s*#/]]) {
    await page.getByText(rendering, { exact: true }).click();
    await page.waitForFunction((pattern) => new RegExp(pattern).test(document.querySelector(".rendered").textContent), begins.source);
  }
  for (const packing of ["classic", "plain", ""]) {
    await page.getByLabel("Packing").selectOption(packing);
    await page.getByText(`packed by the profile ${packing || "evidence"}`).waitFor();
  }
  const fold = page.locator(".passages .fold").first();
  for (const open of ["false", "true"]) {
    await fold.click();
    assert.equal(await fold.getAttribute("aria-expanded"), open);
  }
  await page.getByRole("button", { name: /^Show all [\d,]+ notes$/ }).click();
  await page.locator(".passages .fold").nth(10).waitFor();
  await page.getByText("What each further 500 tokens would add").click();
  await page.getByText("From 500 to 1,000 tokens").waitFor();
  await page.getByText("The packing profiles side by side").click();
  await page.locator(".variant").nth(2).waitFor();
  for (const title of ["What each further 500 tokens would add", "The packing profiles side by side"]) await page.getByText(title).click();
  await page.locator(".columns-3").first().waitFor({ state: "detached" });
  await page.locator("details", { hasText: "omitted" }).locator("summary").click();
  await page.getByText("Filter", { exact: true }).click();
  await page.getByLabel("Tags").fill("no-such-tag");
  await page.getByText("No notes found.").or(page.getByText("No note fits the budget.")).waitFor();
  await page.getByRole("button", { name: "Clear the filter" }).click();
  await page.locator(".ledger td").first().waitFor();
}

/** Uses the index, of which `file` is a file. */
export async function index(page, { file }) {
  await page.locator(".files td").first().waitFor();
  for (const state of ["Indexed", "Pending", "Skipped", "Failed", "With diagnostics", "All"]) {
    await page.locator(".index .choice").getByText(state).click();
    await page.waitForFunction((name) => document.querySelector(".index .choice :checked + span").textContent.startsWith(name), state);
  }
  await page.getByLabel("Filter by path").fill(file);
  await page.waitForFunction((name) => {
    const rows = [...document.querySelectorAll(".files tbody th")];
    return rows.length === 1 && rows[0].textContent.includes(name);
  }, file);
  await page.locator("summary", { hasText: "defaults" }).click();
  await page.locator(".settings").getByText("search.snippets", { exact: true }).waitFor();
  await page.locator(".generations li").first().waitFor();
  await page.locator(".unresolveds .unresolved").first().waitFor();
  for (const list of ["Broken links", "Suggested links", "Near-duplicates", "Stale notes"]) {
    const card = page.locator(".hygiene details", { hasText: list });
    await card.locator("summary").click();
    await card.locator("summary small").waitFor();
  }
}

/** Changes the theme three times, and opens and closes the help. */
export async function frame(page) {
  const shown = () => page.evaluate(() => document.documentElement.dataset.theme);
  const looks = [];
  for (let nth = 0; nth < 3; nth += 1) {
    await page.getByRole("button", { name: /^Colors/ }).click();
    looks.push(await shown());
  }
  assert.deepEqual(looks, ["light", "dark", undefined]);
  await page.getByRole("button", { name: "Keyboard shortcuts" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
  await page.getByRole("dialog").waitFor({ state: "hidden" });
}
