// Scroll position and focus on navigation: a new history entry starts at the top, an earlier one is restored.

import { useLayoutEffect, useRef } from "preact/hooks";
import { place } from "./address";
import { DEADLINE } from "./daemon";

/** Scroll position of each history entry of this tab, in pixels, by the entry's id. */
const KEY = "weft-places";
const positions: Record<string, number> = JSON.parse(sessionStorage.getItem(KEY) ?? "{}");

/** Maximum time until a page reaches its former length, in milliseconds; its parts send their own requests after it is shown. */
const RESTORE_TIMEOUT = DEADLINE;

/** Time without a change of the page's length after which an earlier entry counts as restored, in milliseconds: its parts arrive one after the other. */
const RESTORED_AFTER = 1000;

/** Returns the id of the current history entry; a new entry gets an id and starts at the top. */
function entryId(): string {
  const known: unknown = history.state?.step;
  if (typeof known === "string") return known;
  const fresh = crypto.getRandomValues(new Uint32Array(2)).join("-");
  history.replaceState({ step: fresh }, "");
  return fresh;
}

history.scrollRestoration = "manual";
let current = entryId();
let goal = positions[current] ?? 0;
/** Navigation in progress: an opened address, or a step by the user. */
let navigation: "opened" | "step" | undefined = "opened";
let settling = false;
let stop = () => {};

/** Records the scroll position of the current entry, except while it is being restored. */
function recordPosition(): void {
  if (navigation === undefined && !settling) positions[current] = scrollY;
}

/** Scrolls to `goal` as soon as the page is long enough, and again while parts of it arrive, unless the user scrolls first. */
function settle(): void {
  let restored: ReturnType<typeof setTimeout> | undefined;
  const restore = () => {
    clearTimeout(restored);
    scrollTo(0, goal);
    if (Math.abs(scrollY - goal) >= 1) return;
    if (goal === 0) stop();
    else restored = setTimeout(() => stop(), RESTORED_AFTER);
  };
  const grown = new ResizeObserver(restore);
  const late = setTimeout(() => stop(), RESTORE_TIMEOUT);
  const inputs = ["wheel", "touchstart", "pointerdown", "keydown"];
  settling = true;
  stop = () => {
    settling = false;
    grown.disconnect();
    clearTimeout(late);
    clearTimeout(restored);
    for (const input of inputs) removeEventListener(input, stop);
  };
  for (const input of inputs) addEventListener(input, stop, { once: true, passive: true });
  grown.observe(document.body);
  restore();
}

addEventListener("scroll", recordPosition, { passive: true });
addEventListener("pagehide", () => {
  // The last scroll event may not have arrived yet.
  recordPosition();
  sessionStorage.setItem(KEY, JSON.stringify(positions));
});
// The entry changes before anything of the new page is shown.
place.subscribe(() => {
  const now = entryId();
  if (now === current) return;
  recordPosition();
  stop();
  current = now;
  goal = positions[current] ?? 0;
  navigation = "step";
});

/**
 * Restores scroll position and focus once the target of a navigation is shown: `shown` identifies it, and is empty until then.
 *
 * The returned ref marks the element that gets the focus, so that a screen reader starts there; opening an address does not move the focus.
 */
export function useArrival<E extends HTMLElement>(shown: string) {
  const heading = useRef<E>(null);
  useLayoutEffect(() => {
    if (shown === "" || navigation === undefined) return;
    if (navigation === "step") heading.current?.focus({ preventScroll: true });
    navigation = undefined;
    settle();
    // Another history entry may show the same content.
  }, [shown, current]);
  return heading;
}

/** Sets the title of the tab together with the content. */
export function useTitle(text: string): void {
  useLayoutEffect(() => {
    document.title = text === "" ? "Noteweft" : `${text} · Noteweft`;
  }, [text]);
}
