// Color theme: that of the system, unless the user selects another.

import { signal } from "@preact/signals";

const KEY = "weft-theme";
export type Theme = "system" | "light" | "dark";
const THEMES: readonly Theme[] = ["system", "light", "dark"];

/** The user's choice. */
export const theme = signal<Theme>(THEMES.find((name) => name === localStorage.getItem(KEY)) ?? "system");

theme.subscribe((name) => {
  if (name === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = name;
});

/** Selects the next theme. */
export function nextTheme(): void {
  const next = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? "system";
  localStorage.setItem(KEY, next);
  theme.value = next;
}

/** Returns a color of the style sheet as a value for the canvas. */
export function color(name: string): string {
  const probe = document.createElement("i");
  probe.style.color = `var(--${name})`;
  // With forced colors, a picture keeps its own colors, because it would be meaningless in a single one.
  probe.style.setProperty("forced-color-adjust", "none");
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}
