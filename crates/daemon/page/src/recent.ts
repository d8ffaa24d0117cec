// Recent searches, kept in this browser only.

import { signal } from "@preact/signals";

const KEY = "weft-recent";

/** Maximum number of searches kept. */
const MOST = 8;

/** Maximum length of a search that is kept, in characters. */
const LONGEST = 200;

function stored(): readonly string[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(found) ? found.filter((query) => typeof query === "string").slice(0, MOST) : [];
  } catch {
    return [];
  }
}

/** Recent searches, the last one first. */
export const recent = signal<readonly string[]>(stored());

function keep(queries: readonly string[]): void {
  recent.value = queries;
  try {
    if (queries.length === 0) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, JSON.stringify(queries));
  } catch {
    // Without storage, they last as long as the page.
  }
}

/** Adds a search whose hit was opened. */
export function remember(query: string): void {
  const text = query.trim();
  if (text === "" || text.length > LONGEST) return;
  keep([text, ...recent.value.filter((other) => other !== text)].slice(0, MOST));
}

/** Removes all recent searches. */
export const forget = (): void => keep([]);
