// The state of the page is its address: whoever opens the same address sees the same view.

import { signal } from "@preact/signals";

/** The views, in the order of the navigation. */
export const VIEWS = ["search", "note", "context", "index"] as const;
export type View = (typeof VIEWS)[number];

/** A view with what it is asked to show. */
export interface Place {
  readonly view: View;
  readonly asked: URLSearchParams;
}

/** Reads the part of an address after `#`; an unknown view is the search. */
export function read(hash: string): Place {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const view = VIEWS.find((name) => name === path) ?? "search";
  return { view, asked: new URLSearchParams(query) };
}

/** The address of a view; what is empty is left out. */
export function address(view: View, asked: Iterable<[string, string]> | Record<string, string>): string {
  const pairs = Symbol.iterator in asked ? [...(asked as Iterable<[string, string]>)] : Object.entries(asked);
  const query = new URLSearchParams(pairs.filter(([, value]) => value !== "")).toString();
  return `#/${view}${query === "" ? "" : `?${query}`}`;
}

/** The address of a note. */
export function noteAddress(uri: string): string {
  return address("note", { uri });
}

/** The address of another note, looked at as `asked` looks at one; a path that was marked stays behind. */
export function neighbourAddress(uri: string, asked: URLSearchParams): string {
  const kept = [...asked].filter(([name]) => !["uri", "start", "end"].includes(name));
  return address("note", [["uri", uri], ...kept]);
}

/** Where the page is. */
export const place = signal<Place>(read(location.hash));
addEventListener("hashchange", () => {
  place.value = read(location.hash);
});

/** Goes to an address, as a step that the browser's back button takes back. */
export function visit(hash: string): void {
  location.hash = hash;
}

/** Changes what the present view is asked to show, without a step of its own; `null` takes a value away. */
export function amend(changes: Record<string, string | null>): void {
  const { view, asked } = place.value;
  const next = new URLSearchParams(asked);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === "") next.delete(name);
    else next.set(name, value);
  }
  history.replaceState(null, "", address(view, next));
  place.value = { view, asked: next };
}
