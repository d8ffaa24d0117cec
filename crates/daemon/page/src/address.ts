// The state of the page is its address: whoever opens the same address sees the same view.

import { signal } from "@preact/signals";
import { count } from "./text";

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

/** One of a list: a text in quotes, or one up to the next comma. A sign that compares may stand before the quotes, and a number of links behind. */
const ITEM = /\s*(?:[^,"]*[<>=]\s*)?"(?:[^"]|"")*"(?::\d+)?(?=\s*(?:,|$))|[^,]+/g;

/** The texts of a list, which commas set apart. */
export const listed = (text: string | null): string[] => (text ?? "").match(ITEM)?.map((item) => item.trim()).filter((item) => item !== "") ?? [];

/** A text without the quotes around it, in which a comma is a letter and a quote is written twice. */
export const unquoted = (text: string): string => (/^"(?:[^"]|"")*"$/.test(text) ? text.slice(1, -1).replaceAll('""', '"') : text);

/** A text as one of a list. */
export const quoted = (text: string): string => (/,|^"|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** What an address says by these names, as one text: equal texts ask the same. */
export const saidBy = (asked: URLSearchParams, names: readonly string[]): string => JSON.stringify(names.map((name) => asked.get(name)));

/** An address that cannot be asked as it is written. */
export class Unreadable extends Error {}

/** A whole number that an address may hold, and the one that is meant where it holds none. */
export interface Whole {
  readonly name: string;
  readonly usual: number;
  readonly least: number;
  readonly most: number;
}

/** The number that an address holds; nothing where what it holds is no such number. */
export function wholeOf(asked: URLSearchParams, { name, usual, least, most }: Whole): number | undefined {
  const text = asked.get(name);
  if (text === null) return usual;
  const number = /^\d+$/.test(text) ? Number(text) : NaN;
  return number >= least && number <= most ? number : undefined;
}

/** The same for a question, which needs one. */
export function needed(asked: URLSearchParams, whole: Whole): number {
  const number = wholeOf(asked, whole);
  if (number === undefined) throw new Unreadable(`\`${whole.name}\` must be a whole number from ${count(whole.least)} to ${count(whole.most)}; the address says \`${asked.get(whole.name)}\`.`);
  return number;
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

/** Changes what the present view is asked to show, without a step of its own; `null` takes a value away, a list puts each of its own. */
export function amend(changes: Record<string, string | readonly string[] | null>): void {
  const { view, asked } = place.value;
  const next = new URLSearchParams(asked);
  for (const [name, value] of Object.entries(changes)) {
    next.delete(name);
    for (const each of typeof value === "string" ? [value] : (value ?? [])) if (each !== "") next.append(name, each);
  }
  history.replaceState(history.state, "", address(view, next));
  place.value = { view, asked: next };
}
