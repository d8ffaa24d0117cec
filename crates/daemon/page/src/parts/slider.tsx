// A whole number of the address as a slider.

import { amend, wholeOf, type Whole } from "../address";

/** `end` is where the slider ends, unless the address asks for more; `said` is how people read the number. */
export function Slider({ asked, of, label, end, step = 1, said }: { asked: URLSearchParams; of: Whole; label: string; end: number; step?: number; said: (value: number) => string }) {
  const value = wholeOf(asked, of);
  return (
    <label class="slider">
      <span>{label}</span>
      <input type="range" min={of.least} max={Math.max(end, value ?? 0)} step={step} value={value ?? of.usual} onInput={(event) => amend({ [of.name]: event.currentTarget.value })} />
      <output>{value === undefined ? "?" : said(value)}</output>
    </label>
  );
}
