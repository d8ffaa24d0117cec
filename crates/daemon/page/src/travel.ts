// Going from place to place: a step forward begins at the top of what it leads to, a step back returns to where it was left.

import { useLayoutEffect, useRef } from "preact/hooks";
import { place } from "./address";
import { DEADLINE } from "./daemon";

/** How far down each step of this tab's history was left, in pixels, under the name that the step carries. */
const KEY = "weft-places";
const left: Record<string, number> = JSON.parse(sessionStorage.getItem(KEY) ?? "{}");

/** How long a place may take until it is as long as it was, in milliseconds: its parts ask for themselves once it is shown. */
const PATIENCE = DEADLINE;

/** The name of the present step; a step that was not here before takes one, and begins at the top. */
function step(): string {
  const known: unknown = history.state?.step;
  if (typeof known === "string") return known;
  const fresh = crypto.getRandomValues(new Uint32Array(2)).join("-");
  history.replaceState({ step: fresh }, "");
  return fresh;
}

history.scrollRestoration = "manual";
let here = step();
let goal = left[here] ?? 0;
/** What is under way to `here`: an address that was opened, or a step that the reader made. */
let underWay: "opened" | "made" | undefined = "opened";
let settling = false;
let stop = () => {};

/** Remembers how far down the present step is, but not while it is on its way there. */
function remember(): void {
  if (underWay === undefined && !settling) left[here] = scrollY;
}

/** Goes to `goal` as soon as the page is long enough for it, unless the reader scrolls meanwhile. */
function settle(): void {
  const look = () => {
    scrollTo(0, goal);
    if (Math.abs(scrollY - goal) < 1) stop();
  };
  const grown = new ResizeObserver(look);
  const late = setTimeout(() => stop(), PATIENCE);
  const hands = ["wheel", "touchstart", "pointerdown", "keydown"];
  settling = true;
  stop = () => {
    settling = false;
    grown.disconnect();
    clearTimeout(late);
    for (const hand of hands) removeEventListener(hand, stop);
  };
  for (const hand of hands) addEventListener(hand, stop, { once: true, passive: true });
  grown.observe(document.body);
  look();
}

addEventListener("scroll", remember, { passive: true });
addEventListener("pagehide", () => {
  // The last scrolling may not have been told yet.
  remember();
  sessionStorage.setItem(KEY, JSON.stringify(left));
});
// The step is known as soon as the page is elsewhere, and so before anything is shown there.
place.subscribe(() => {
  const now = step();
  if (now === here) return;
  remember();
  stop();
  here = now;
  goal = left[here] ?? 0;
  underWay = "made";
});

/**
 * Takes the reader to what a step led to, once it is shown: `shown` names it, and is empty until then.
 *
 * The focus goes to the element that takes the answer, so that a screen reader begins there; an address that was opened leaves it where it is.
 */
export function useArrival<E extends HTMLElement>(shown: string) {
  const heading = useRef<E>(null);
  useLayoutEffect(() => {
    if (shown === "" || underWay === undefined) return;
    if (underWay === "made") heading.current?.focus({ preventScroll: true });
    underWay = undefined;
    settle();
    // Another step may show the same.
  }, [shown, here]);
  return heading;
}

/** Names the tab, no later than what it is named after is shown. */
export function useTitle(text: string): void {
  useLayoutEffect(() => {
    document.title = text === "" ? "Noteweft" : `${text} · Noteweft`;
  }, [text]);
}
