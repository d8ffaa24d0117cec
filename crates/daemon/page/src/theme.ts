// Light or dark: as the system says, until the reader says otherwise.

import { signal } from "@preact/signals";

const KEY = "weft-theme";
export type Theme = "system" | "light" | "dark";
const THEMES: readonly Theme[] = ["system", "light", "dark"];

/** The reader's choice. */
export const theme = signal<Theme>(THEMES.find((name) => name === localStorage.getItem(KEY)) ?? "system");

theme.subscribe((name) => {
  if (name === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = name;
});

/** Takes the next choice. */
export function turn(): void {
  const next = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? "system";
  localStorage.setItem(KEY, next);
  theme.value = next;
}

/** The value of a colour of the style sheet, as the canvas understands it. */
export function colour(name: string): string {
  const probe = document.createElement("i");
  probe.style.color = `var(--${name})`;
  // Where the reader forces the colours of text, a picture keeps its own: of one colour it would tell nothing.
  probe.style.setProperty("forced-color-adjust", "none");
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}
