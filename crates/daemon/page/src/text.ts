// Numbers and texts as people read them.

const whole = new Intl.NumberFormat("en");

/** A count with thousands set apart. */
export const count = (n: number | bigint): string => whole.format(n);

/** A count with its noun. */
export const counted = (n: number | bigint, one: string, many = `${one}s`): string => `${count(n)} ${Number(n) === 1 ? one : many}`;

/** A part of a score, to two places. */
export const part = (value: number): string => value.toFixed(2);

/** A share as a percentage; only the whole reads as 100 %. */
export const percent = (share: number): string => (share === 1 || share === 0 ? `${100 * share} %` : `${(Math.floor(1000 * share) / 10).toFixed(1)} %`);

/** Bytes in the unit that suits them. */
export function bytes(n: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const at = n < 1000 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(n) / 3));
  return `${(n / 1000 ** at).toFixed(at === 0 ? 0 : 1)} ${units[at]}`;
}

/** A span of time in the unit that suits it. */
export function duration(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  if (seconds < 5400) return `${Math.ceil(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

/** The folders of a path, outermost first, without the file. */
const folders = (path: string): string[] => path.split("/").slice(0, -1);

/** Where a note lies: its folders, outermost first, below its vault where several are served; its uri then begins with that. */
export const lies = ({ uri, vault, path }: { uri: string; vault: string; path: string }): string[] => [...(uri.startsWith(`${vault}:`) ? [vault] : []), ...folders(path)];
