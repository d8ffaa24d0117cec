// A slider for an integer parameter of the address.

import { updateParams, integerParam, type IntegerParam } from "../address";

/** `end` is the end of the slider, unless the address contains a greater value; `format` formats the value. */
export function Slider({ params, of, label, end, step = 1, format }: { params: URLSearchParams; of: IntegerParam; label: string; end: number; step?: number; format: (value: number) => string }) {
  const value = integerParam(params, of);
  return (
    <label class="slider">
      <span>{label}</span>
      <input type="range" min={of.min} max={Math.max(end, value ?? 0)} step={step} value={value ?? of.fallback} onInput={(event) => updateParams({ [of.name]: event.currentTarget.value })} />
      <output>{value === undefined ? "?" : format(value)}</output>
    </label>
  );
}
