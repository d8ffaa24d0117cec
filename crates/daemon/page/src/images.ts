// Images of the vault, loaded from the daemon with the token of the page.

import { token } from "./daemon";

/** Path of the daemon's endpoint for images. */
const ENDPOINT = "/image";

/** Distance from the visible part at which an image is loaded. */
const MARGIN = "600px";

/**
 * Loads the images below `home` as they come near the visible part; returns the function that stops loading and releases them.
 *
 * A browser sends no token with an image of a page, so each is requested by the page and shown from memory. An image of SVG executes nothing there.
 */
export function loadImages(home: HTMLElement, note: { readonly vault: string; readonly path: string }): () => void {
  const stop = new AbortController();
  const loaded: string[] = [];
  const load = async (image: HTMLImageElement) => {
    const query = new URLSearchParams({ vault: note.vault, note: note.path, target: image.dataset["target"] ?? "" });
    const { secret } = token.value;
    const headers: Record<string, string> = secret === "" ? {} : { authorization: `Bearer ${secret}` };
    try {
      const response = await fetch(`${ENDPOINT}?${query}`, { headers, signal: stop.signal });
      if (!response.ok) throw new Error((await response.text()).trim());
      const address = URL.createObjectURL(await response.blob());
      // The note may have been left meanwhile.
      if (stop.signal.aborted) return URL.revokeObjectURL(address);
      loaded.push(address);
      image.src = address;
    } catch (why) {
      if (stop.signal.aborted) return;
      const missing = document.createElement("span");
      missing.className = "file";
      missing.textContent = image.alt;
      missing.title = why instanceof Error ? why.message : "The image cannot be loaded.";
      image.replaceWith(missing);
    }
  };
  const watcher = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        if (!isIntersecting || !(target instanceof HTMLImageElement)) continue;
        watcher.unobserve(target);
        void load(target);
      }
    },
    { rootMargin: MARGIN },
  );
  for (const image of home.querySelectorAll<HTMLImageElement>("img[data-target]")) watcher.observe(image);
  return () => {
    watcher.disconnect();
    stop.abort();
    for (const address of loaded) URL.revokeObjectURL(address);
  };
}
