// Finds and clicks the dots of the graph in its picture.

import { settled } from "./stage.js";

/** Maximum time between the clicks of a double click. */
const DOUBLE_CLICK_MS = 400;

/** Returns the positions of filled and hollow dots of a color in the graph, in page coordinates. */
async function dots(page, color) {
  const graph = page.locator(".graph");
  await graph.scrollIntoViewIfNeeded();
  const frame = await graph.boundingBox();
  const picture = (await graph.screenshot()).toString("base64");
  const found = await page.evaluate(
    async ([picture, color]) => {
      const probe = document.createElement("i");
      probe.style.color = `var(--${color})`;
      document.body.append(probe);
      const wanted = getComputedStyle(probe).color.match(/\d+/g).map(Number);
      probe.remove();
      const image = await createImageBitmap(new Blob([Uint8Array.from(atob(picture), (sign) => sign.charCodeAt(0))]));
      const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
      canvas.drawImage(image, 0, 0);
      const { data } = canvas.getImageData(0, 0, image.width, image.height);
      const fits = (at) => wanted.every((value, channel) => Math.abs(data[4 * at + channel] - value) < 25);
      const seen = new Set();
      const found = [];
      for (let start = 0; start < image.width * image.height; start += 1) {
        if (seen.has(start) || !fits(start)) continue;
        const spot = [start];
        seen.add(start);
        for (const at of spot) {
          for (const next of [at - 1, at + 1, at - image.width, at + image.width]) {
            if (!seen.has(next) && fits(next)) {
              seen.add(next);
              spot.push(next);
            }
          }
        }
        const mean = (of) => spot.reduce((sum, at) => sum + of(at), 0) / spot.length;
        const [x, y] = [mean((at) => at % image.width), mean((at) => Math.floor(at / image.width))];
        if (spot.length > 6) found.push({ x, y, filled: fits(Math.round(y) * image.width + Math.round(x)) });
      }
      return found;
    },
    [picture, color],
  );
  return found.map(({ x, y, filled }) => ({ x: frame.x + x, y: frame.y + y, filled }));
}

/** Returns the dots once the latest response is drawn and the layout has finished. */
export async function dotsAtRest(page, color) {
  await settled(page);
  await page.locator(".graph[aria-busy=false]").waitFor();
  let before = "";
  for (let tries = 0; tries < 30; tries += 1) {
    const found = await dots(page, color);
    const now = JSON.stringify(found);
    if (found.length > 0 && now === before) return found;
    before = now;
    await page.waitForTimeout(200);
  }
  throw new Error(`the dots do not come to rest: ${before}`);
}

/** Clicks a dot after a delay by the page's clock, because two quick clicks count as a double click. */
export async function clickDot(page, { x, y }) {
  await page.evaluate((ms) => new Promise((over) => setTimeout(over, ms)), DOUBLE_CLICK_MS);
  await page.mouse.click(x, y);
}

/** Selects two dots as the ends of a path, and waits until it is shown. */
export async function joinDots(page, one, other) {
  await page.keyboard.down("Shift");
  await clickDot(page, one);
  await page.locator(".around").getByText("shift-click the end of the path").waitFor();
  await clickDot(page, other);
  await page.keyboard.up("Shift");
  await page.locator(".steps a").nth(1).waitFor();
}
