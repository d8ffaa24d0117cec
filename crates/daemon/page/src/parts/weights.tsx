// What each signal counts, as sliders that rank anew as they move.

import type { MessageInitShape } from "@bufbuild/protobuf";
import { amend } from "../address";
import { Profile, type WeightsSchema } from "../contract/noteweft/v1/search_pb";
import { part } from "../text";
import { MEANS, SIGNALS } from "./score";

const PROFILES = [
  ["", "As configured", Profile.UNSPECIFIED],
  ["bridge", "Bridge", Profile.BRIDGE],
  ["classic", "Classic", Profile.CLASSIC],
] as const;

/** The weights that an address holds, `w=similarity,centrality,activation`; none where the profile's own hold. */
export function weightsOf(asked: URLSearchParams): MessageInitShape<typeof WeightsSchema> | undefined {
  const [similarity, centrality, activation, more] = (asked.get("w") ?? "").split(",").map(Number);
  if (similarity === undefined || centrality === undefined || activation === undefined || more !== undefined) return undefined;
  const all = [similarity, centrality, activation];
  return all.every((weight) => weight >= 0) && all.some((weight) => weight > 0) ? { similarity, centrality, activation } : undefined;
}

/** The profile that an address holds. */
export const profileOf = (asked: URLSearchParams): Profile => (PROFILES.find(([name]) => name === asked.get("profile")) ?? PROFILES[0])[2];

/** Sliders for the weights; `used` are those of the last answer. */
export function Weights({ asked, used }: { asked: URLSearchParams; used: Record<(typeof SIGNALS)[number], number> | undefined }) {
  const own = weightsOf(asked);
  const shown = { similarity: own?.similarity ?? used?.similarity ?? 0, centrality: own?.centrality ?? used?.centrality ?? 0, activation: own?.activation ?? used?.activation ?? 0 };
  const isSet = own !== undefined || asked.has("profile");
  return (
    <details class="filters">
      <summary>Weights{isSet && <b> set</b>}</summary>
      <div class="fields">
        {SIGNALS.map((name) => (
          <label key={name} class="weight" title={MEANS[name]}>
            <span>
              <span class={`swatch ${name}`} aria-hidden="true" />
              {name} <b>{part(shown[name])}</b>
            </span>
            <input
              type="range"
              min="0"
              max="1"
              step="0.05"
              value={shown[name]}
              onInput={(event) => {
                const next = { ...shown, [name]: Number(event.currentTarget.value) };
                amend({ w: SIGNALS.map((each) => String(Math.round(next[each] * 1000) / 1000)).join(",") });
              }}
            />
          </label>
        ))}
        <label>
          <span>Profile</span>
          <select value={asked.get("profile") ?? ""} onChange={(event) => amend({ profile: event.currentTarget.value, w: null })}>
            {PROFILES.map(([name, label]) => (
              <option key={name} value={name}>
                {label}
              </option>
            ))}
          </select>
        </label>
        {isSet && (
          <button type="button" onClick={() => amend({ w: null, profile: null })}>
            Back to the usual
          </button>
        )}
      </div>
    </details>
  );
}
