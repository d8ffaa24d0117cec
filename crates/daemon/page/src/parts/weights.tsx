// Weights of the signals, as sliders that update the ranking as they move.

import type { MessageInitShape } from "@bufbuild/protobuf";
import { updateParams, InvalidAddress } from "../address";
import { Profile, type WeightsSchema } from "../contract/noteweft/v1/search_pb";
import { part } from "../text";
import { MEANS, SIGNALS, type SignalName } from "./score";

const PROFILES = [
  ["", "As configured", Profile.UNSPECIFIED],
  ["bridge", "Bridge", Profile.BRIDGE],
  ["classic", "Classic", Profile.CLASSIC],
] as const;

/** Parses the weights in an address, `w=similarity,centrality,activation`; `undefined` if they are absent or invalid. */
function parsedWeights(params: URLSearchParams): Record<SignalName, number> | undefined {
  const [similarity = NaN, centrality = NaN, activation = NaN, ...more] = (params.get("w") ?? "").split(",").map(Number);
  return [similarity, centrality, activation].every(Number.isFinite) && more.length === 0 ? { similarity, centrality, activation } : undefined;
}

/** Returns the weights of a request; `undefined` for those of the profile. */
export function weightsOf(params: URLSearchParams): MessageInitShape<typeof WeightsSchema> | undefined {
  const weights = parsedWeights(params);
  if (weights === undefined && params.has("w")) throw new InvalidAddress(`\`w\` must be three numbers, for ${SIGNALS.join(", ")}; the address contains \`${params.get("w")}\`.`);
  return weights;
}

/** Returns the profile in an address. */
export const profileOf = (params: URLSearchParams): Profile => (PROFILES.find(([name]) => name === params.get("profile")) ?? PROFILES[0])[2];

/** Sliders for the weights; `used` are the weights of the last response. */
export function Weights({ params, used }: { params: URLSearchParams; used: Record<SignalName, number> | undefined }) {
  const shown = parsedWeights(params) ?? used ?? { similarity: 0, centrality: 0, activation: 0 };
  const isSet = params.has("w") || params.has("profile");
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
                updateParams({ w: SIGNALS.map((each) => String(Math.round(next[each] * 1000) / 1000)).join(",") });
              }}
            />
          </label>
        ))}
        <label>
          <span>Profile</span>
          <select value={params.get("profile") ?? ""} onChange={(event) => updateParams({ profile: event.currentTarget.value, w: null })}>
            {PROFILES.map(([name, label]) => (
              <option key={name} value={name}>
                {label}
              </option>
            ))}
          </select>
        </label>
        {isSet && (
          <button type="button" onClick={() => updateParams({ w: null, profile: null })}>
            Reset
          </button>
        )}
      </div>
    </details>
  );
}
