// What each signal counts, as sliders that rank anew as they move.

import type { MessageInitShape } from "@bufbuild/protobuf";
import { amend, Unreadable } from "../address";
import { Profile, type WeightsSchema } from "../contract/noteweft/v1/search_pb";
import { part } from "../text";
import { MEANS, SIGNALS, type SignalName } from "./score";

const PROFILES = [
  ["", "As configured", Profile.UNSPECIFIED],
  ["bridge", "Bridge", Profile.BRIDGE],
  ["classic", "Classic", Profile.CLASSIC],
] as const;

/** The weights that an address holds, `w=similarity,centrality,activation`; nothing where it holds none, or no such. */
function written(asked: URLSearchParams): Record<SignalName, number> | undefined {
  const [similarity = NaN, centrality = NaN, activation = NaN, ...more] = (asked.get("w") ?? "").split(",").map(Number);
  return [similarity, centrality, activation].every(Number.isFinite) && more.length === 0 ? { similarity, centrality, activation } : undefined;
}

/** The same for a question; none where the profile's own hold. */
export function weightsOf(asked: URLSearchParams): MessageInitShape<typeof WeightsSchema> | undefined {
  const weights = written(asked);
  if (weights === undefined && asked.has("w")) throw new Unreadable(`\`w\` must be three numbers, for ${SIGNALS.join(", ")}; the address says \`${asked.get("w")}\`.`);
  return weights;
}

/** The profile that an address holds. */
export const profileOf = (asked: URLSearchParams): Profile => (PROFILES.find(([name]) => name === asked.get("profile")) ?? PROFILES[0])[2];

/** Sliders for the weights; `used` are those of the last answer. */
export function Weights({ asked, used }: { asked: URLSearchParams; used: Record<SignalName, number> | undefined }) {
  const shown = written(asked) ?? used ?? { similarity: 0, centrality: 0, activation: 0 };
  const isSet = asked.has("w") || asked.has("profile");
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
