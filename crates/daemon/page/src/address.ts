// The state of the page is its address: the same address always shows the same view.

import { signal } from "@preact/signals";
import { count } from "./text";

/** The views, in the order of the navigation. */
export const VIEWS = ["search", "note", "context", "index"] as const;
export type View = (typeof VIEWS)[number];

/** A view and its parameters. */
export interface Place {
  readonly view: View;
  readonly params: URLSearchParams;
}

/** Parses the part of an address after `#`; an unknown view becomes the search. */
export function read(hash: string): Place {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const view = VIEWS.find((name) => name === path) ?? "search";
  return { view, params: new URLSearchParams(query) };
}

/** Returns the address of a view; empty parameters are omitted. */
export function address(view: View, params: Iterable<[string, string]> | Record<string, string>): string {
  const pairs = Symbol.iterator in params ? [...(params as Iterable<[string, string]>)] : Object.entries(params);
  const query = new URLSearchParams(pairs.filter(([, value]) => value !== "")).toString();
  return `#/${view}${query === "" ? "" : `?${query}`}`;
}

/** Returns the address of a note, or of the heading or block of it that a link names after `#`. */
export function noteAddress(uri: string, part = ""): string {
  return address("note", { uri, at: part });
}

/** Returns the address of another note with the same view parameters, except the ends of a path. */
export function neighborAddress(uri: string, params: URLSearchParams, part = ""): string {
  const kept = [...params].filter(([name]) => !["uri", "at", "start", "end"].includes(name));
  return address("note", [["uri", uri], ["at", part], ...kept]);
}

/** An item of a list: a quoted text, or a text up to the next comma. A comparison operator may precede the quotes, and a number of links may follow them. */
const ITEM = /\s*(?:[^,"]*[<>=]\s*)?"(?:[^"]|"")*"(?::\d+)?(?=\s*(?:,|$))|[^,]+/g;

/** Splits a comma-separated list. */
export const listed = (text: string | null): string[] => (text ?? "").match(ITEM)?.map((item) => item.trim()).filter((item) => item !== "") ?? [];

/** Removes the quotes around a text; inside them, commas are literal and quotes are doubled. */
export const unquoted = (text: string): string => (/^"(?:[^"]|"")*"$/.test(text) ? text.slice(1, -1).replaceAll('""', '"') : text);

/** Quotes a list item if needed. */
export const quoted = (text: string): string => (/,|^"|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** Serializes the named parameters; equal results mean equal requests. */
export const paramsKey = (params: URLSearchParams, names: readonly string[]): string => JSON.stringify(names.map((name) => params.get(name)));

/** Thrown for an address with an invalid parameter. */
export class InvalidAddress extends Error {}

/** An integer parameter of an address, with its default and range. */
export interface IntegerParam {
  readonly name: string;
  readonly fallback: number;
  readonly min: number;
  readonly max: number;
}

/** Returns the value of an integer parameter; `undefined` if it is not a valid number. */
export function integerParam(params: URLSearchParams, { name, fallback, min, max }: IntegerParam): number | undefined {
  const text = params.get(name);
  if (text === null) return fallback;
  const number = /^\d+$/.test(text) ? Number(text) : NaN;
  return number >= min && number <= max ? number : undefined;
}

/** Returns the value of an integer parameter; throws if it is invalid. */
export function requiredInteger(params: URLSearchParams, param: IntegerParam): number {
  const number = integerParam(params, param);
  if (number === undefined) throw new InvalidAddress(`\`${param.name}\` must be a whole number from ${count(param.min)} to ${count(param.max)}; the address contains \`${params.get(param.name)}\`.`);
  return number;
}

/** Current view and parameters. */
export const place = signal<Place>(read(location.hash));
addEventListener("hashchange", () => {
  place.value = read(location.hash);
});

/** Navigates to an address, with a new entry in the browser's history. */
export function navigate(hash: string): void {
  location.hash = hash;
}

/** Changes parameters of the current view without a new history entry; `null` removes a parameter, a list repeats it. */
export function updateParams(changes: Record<string, string | readonly string[] | null>): void {
  const { view, params } = place.value;
  const next = new URLSearchParams(params);
  for (const [name, value] of Object.entries(changes)) {
    next.delete(name);
    for (const each of typeof value === "string" ? [value] : (value ?? [])) if (each !== "") next.append(name, each);
  }
  history.replaceState(history.state, "", address(view, next));
  place.value = { view, params: next };
}
