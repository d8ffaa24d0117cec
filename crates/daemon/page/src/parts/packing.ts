// Packing profiles of a context, and the words for its parts.

import { ContextMode, PackingProfile, type ContextItem } from "../contract/noteweft/v1/context_pb";
import { passage } from "../passage";
import { textOf, type Range } from "../spans";

/** One row per profile: its name in the address, its label, its meaning. */
export const PACKINGS = [
  ["evidence", "Evidence", PackingProfile.EVIDENCE, "the passages that answer best"],
  ["classic", "Classic", PackingProfile.CLASSIC, "a tenth of the budget for each note"],
  ["plain", "Plain", PackingProfile.PLAIN, "whole passages in the order of their evidence"],
] as const;

/** Returns the packing profile in an address; without one, the daemon's setting applies. */
export const packingOf = (params: URLSearchParams): PackingProfile => PACKINGS.find(([name]) => name === params.get("packing"))?.[2] ?? PackingProfile.UNSPECIFIED;

/** Returns the name of a packing profile. */
export const packingName = (profile: PackingProfile): string => PACKINGS.find(([, , value]) => value === profile)?.[0] ?? "";

export function modeName(mode: ContextMode): string {
  switch (mode) {
    case ContextMode.FULL:
      return "full";
    case ContextMode.SNIPPET:
      return "snippet";
    case ContextMode.STRUCTURAL:
      return "structural";
    case ContextMode.UNSPECIFIED:
      return "";
  }
}

/** Maximum length of the first words of a passage, in UTF-16 units. */
const MAX_WORDS = 110;

/** Heading lines at the start of a text. */
const LEADING_HEADINGS = /^(?:\s*#{1,6}[ \t].*(?:\n|$))+/;

/** Returns whether an item contains more of a range than headings and white space. */
export const hasProse = (item: ContextItem, range: Range): boolean => textOf(item.text, item.blocks, range).replace(LEADING_HEADINGS, "").trim() !== "";

/** Returns the first words of a range of a body as plain text, without headings; empty if the item does not contain the range. */
export function firstWords(item: ContextItem, range: Range): string {
  // Words of a body are short; twice the length leaves room for Markdown syntax.
  const written = textOf(item.text, item.blocks, range).slice(0, 4 * MAX_WORDS);
  const prose = written.replace(LEADING_HEADINGS, "");
  const [text, start] = prose.trim() === "" ? [written, range.start] : [prose, prose === written ? range.start : 0];
  const words = passage(text, start, [])
    .map((piece) => piece.text)
    .join("")
    .replace(/\s+/g, " ")
    .trim();
  if (words.length <= MAX_WORDS) return words;
  // A cut inside a word removes that word, unless the text has no spaces.
  return `${words.slice(0, MAX_WORDS).replace(/(?<=\s)\S*$/, "").replace(/[\s\ud800-\udbff]+$/, "")} …`;
}

/** Returns the headings above a passage without the title of its note. */
export const belowTitle = (headingPath: readonly string[], title: string): string => (headingPath[0] === title ? headingPath.slice(1) : headingPath).join(" › ");
