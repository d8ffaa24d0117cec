// A score drawn as the sum of its parts.

import { Connection, Origin, type Hit, type Part, type Signals } from "../contract/noteweft/v1/search_pb";
import { part } from "../text";

/** The signals in the order in which they are added up. */
export const SIGNALS = ["similarity", "centrality", "activation"] as const;
export type SignalName = (typeof SIGNALS)[number];

/** What each signal says, for people. */
export const MEANS: Record<SignalName, string> = {
  similarity: "its text answers",
  centrality: "it is much linked",
  activation: "other hits lead to it",
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
  const said = `${SIGNALS.map((name) => `${name} ${part(of(hit.contributions, name))}`).join(", ")}; by meaning ${part(hit.vectorScore)}, by word ${part(hit.keywordScore)}`;
  return (
    <span class="score" role="img" aria-label={`Score ${part(hit.score)}: ${said}`} title={said}>
      <span class="track">
        {SIGNALS.map((name) => (
          <span key={name} class={name} style={{ width: `${100 * of(hit.contributions, name)}%` }} />
        ))}
      </span>
      <b>{part(hit.score)}</b>
    </span>
  );
}

/** How a note is connected with the hit that lifts it, as the end of a sentence. */
export function connectionName(kind: Connection): string {
  switch (kind) {
    case Connection.LINK:
      return ", which links to it";
    case Connection.BACKLINK:
      return ", to which it links";
    case Connection.SHARED_WORDS:
      return " by rare words both hold";
    case Connection.TOPIC:
      return " by a topic they share";
    case Connection.UNSPECIFIED:
      return "";
  }
}

/** The same as a table: what was seen, the signal made of it, its weight, and what it brings. */
export function ScoreTable({ hit }: { hit: Hit }) {
  const parts = new Map<string, Part>(hit.explanation?.parts.map((each) => [each.signal, each]));
  return (
    <div class="scrolls" tabIndex={0} role="region" aria-label="The parts of the score">
      <table class="parts">
        <thead>
          <tr>
            <th scope="col">Part</th>
            <th scope="col">Seen</th>
            <th scope="col">Signal</th>
            <th scope="col">× weight</th>
            <th scope="col">Brings</th>
          </tr>
        </thead>
        <tbody>
          {SIGNALS.map((name) => (
            <tr key={name}>
              <th scope="row">
                <span class={`swatch ${name}`} aria-hidden="true" /> {name}
                <small> {MEANS[name]}</small>
              </th>
              <td>{seen(parts.get(name)?.raw)}</td>
              <td>{part(of(hit.signals, name))}</td>
              <td>{seen(parts.get(name)?.weight)}</td>
              <td>{part(of(hit.contributions, name))}</td>
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">
              score{" "}
              <small>
                by meaning {part(hit.vectorScore)}, by word {part(hit.keywordScore)}
                {hit.nameScore > 0 && `, by name ${part(hit.nameScore)}`}
              </small>
            </th>
            <td colSpan={3} />
            <td>{part(hit.score)}</td>
          </tr>
        </tfoot>
      </table>
    </div>
  );
}

const seen = (value: number | undefined): string => (value === undefined ? "" : Number.isInteger(value) ? String(value) : part(value));
