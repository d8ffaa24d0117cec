// A score drawn as the sum of its parts.

import type { Hit, Signals } from "../contract/noteweft/v1/search_pb";
import { Origin } from "../contract/noteweft/v1/search_pb";
import { part } from "../text";

/** The signals in the order in which they are added up. */
export const SIGNALS = ["similarity", "centrality", "activation"] as const;
export type SignalName = (typeof SIGNALS)[number];

/** What each signal says, for people. */
export const MEANS: Record<SignalName, string> = {
  similarity: "how well the text answers",
  centrality: "how connected the note is",
  activation: "how strongly other hits link to it",
};

const of = (signals: Signals | undefined, name: SignalName): number => signals?.[name] ?? 0;

/** How a hit came into the list, in words. */
export function originName(origin: Origin): string {
  switch (origin) {
    case Origin.BOTH:
      return "meaning and words";
    case Origin.VECTOR:
      return "meaning";
    case Origin.KEYWORD:
      return "words";
    case Origin.EXPANDED:
      return "a link";
    case Origin.UNSPECIFIED:
      return "";
  }
}

/** A bar as long as the score, cut into what each signal brings. */
export function ScoreBar({ hit }: { hit: Hit }) {
  const said = SIGNALS.map((name) => `${name} ${part(of(hit.contributions, name))}`).join(", ");
  return (
    <span class="score" role="img" aria-label={`Score ${part(hit.score)}: ${said}`} title={`${said}; by meaning ${part(hit.vectorScore)}, by word ${part(hit.keywordScore)}`}>
      <span class="track">
        {SIGNALS.map((name) => (
          <span key={name} class={name} style={{ width: `${100 * of(hit.contributions, name)}%` }} />
        ))}
      </span>
      <b>{part(hit.score)}</b>
    </span>
  );
}

/** The same as a table: signal, weight, what it brings; and the two legs. */
export function ScoreTable({ hit }: { hit: Hit }) {
  return (
    <table class="parts">
      <thead>
        <tr>
          <th scope="col">Part</th>
          <th scope="col">Signal</th>
          <th scope="col">Weight</th>
          <th scope="col">Brings</th>
        </tr>
      </thead>
      <tbody>
        {SIGNALS.map((name) => {
          const signal = of(hit.signals, name);
          const brings = of(hit.contributions, name);
          return (
            <tr key={name}>
              <th scope="row">
                <span class={`swatch ${name}`} aria-hidden="true" /> {name}
                <small> {MEANS[name]}</small>
              </th>
              <td>{part(signal)}</td>
              <td>{signal > 0 ? part(brings / signal) : "–"}</td>
              <td>{part(brings)}</td>
            </tr>
          );
        })}
      </tbody>
      <tfoot>
        <tr>
          <th scope="row">
            score <small> by meaning {part(hit.vectorScore)}, by word {part(hit.keywordScore)}</small>
          </th>
          <td />
          <td />
          <td>{part(hit.score)}</td>
        </tr>
      </tfoot>
    </table>
  );
}
