// Formatting of numbers and texts for people.

const whole = new Intl.NumberFormat("en");

/** Formats a count with thousands separators. */
export const count = (n: number | bigint): string => whole.format(n);

/** Formats a count with its noun. */
export const counted = (n: number | bigint, one: string, many = `${one}s`): string => `${count(n)} ${Number(n) === 1 ? one : many}`;

/** Formats a part of a score with two decimals. */
export const part = (value: number): string => value.toFixed(2);

/** Formats a share as a percentage; rounded down, so that only 1 reads as 100 %. */
export const percent = (share: number): string => (share === 1 || share === 0 ? `${100 * share} %` : `${(Math.floor(1000 * share) / 10).toFixed(1)} %`);

/** Formats bytes in a suitable unit. */
export function bytes(n: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const at = n < 1000 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(n) / 3));
  return `${(n / 1000 ** at).toFixed(at === 0 ? 0 : 1)} ${units[at]}`;
}

/** Formats a duration in a suitable unit. */
export function duration(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  if (seconds < 5400) return `${Math.ceil(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

/** Returns the folders of a path, outermost first. */
const folders = (path: string): string[] => path.split("/").slice(0, -1);

/** Returns the folders of a note, outermost first, preceded by its vault if several are served; its uri then starts with the vault. */
export const folderPath = ({ uri, vault, path }: { uri: string; vault: string; path: string }): string[] => [...(uri.startsWith(`${vault}:`) ? [vault] : []), ...folders(path)];

/** Control characters, and marks that override the order of bidirectional text, except line breaks and tabs, which HTML shows as spaces. */
const HIDDEN = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Makes hidden characters of a name visible, in the form of the command line: `\u{202e}`. */
export const visible = (text: string): string => text.replace(HIDDEN, (sign) => `\\u{${sign.charCodeAt(0).toString(16)}}`);
