// A score shown as the sum of its parts.

import { Connection, Origin, type Hit, type ScorePart, type Signals } from "../contract/noteweft/v1/search_pb";
import { part } from "../text";

/** The signals with weights, in the order of the sum. */
export const SIGNALS = ["similarity", "centrality", "activation"] as const;
export type SignalName = (typeof SIGNALS)[number];

/** The parts of a score, in the order of the sum; the last is that of a reranker. */
const PARTS = [...SIGNALS, "relevance"] as const;
export type PartName = (typeof PARTS)[number];

/** Meaning of each part. */
export const MEANS: Record<PartName, string> = {
  similarity: "match with the query",
  centrality: "number of links",
  activation: "connection with better hits",
  relevance: "judgment of the reranker",
};

const of = (signals: Signals | undefined, name: PartName): number => signals?.[name] ?? 0;

/** Returns the parts of the scores of some hits: without the relevance if they were not reranked. */
export const partsOf = (hits: readonly Hit[]): readonly PartName[] => (hits.some((hit) => of(hit.contributions, "relevance") > 0) ? PARTS : SIGNALS);

/** Returns how a hit was found, in words. */
export function originName(origin: Origin): string {
  switch (origin) {
    case Origin.BOTH:
      return "meaning and keyword";
    case Origin.VECTOR:
      return "meaning";
    case Origin.KEYWORD:
      return "keyword";
    case Origin.EXPANDED:
      return "connection";
    case Origin.UNSPECIFIED:
      return "";
  }
}

/** A bar as long as the score, divided by the contributions of the signals. */
export function ScoreBar({ hit }: { hit: Hit }) {
  const names = partsOf([hit]);
  const summary = `${names.map((name) => `${name} ${part(of(hit.contributions, name))}`).join(", ")}; vector ${part(hit.vectorScore)}, keyword ${part(hit.keywordScore)}`;
  return (
    <span class="score" role="img" aria-label={`Score ${part(hit.score)}: ${summary}`} title={summary}>
      <span class="track">
        {names.map((name) => (
          <span key={name} class={name} style={{ width: `${100 * of(hit.contributions, name)}%` }} />
        ))}
      </span>
      <b>{part(hit.score)}</b>
    </span>
  );
}

/** Returns the connection of a note with the hit that raises it, as the end of a sentence. */
export function connectionName(kind: Connection): string {
  switch (kind) {
    case Connection.LINK:
      return ", which links to it";
    case Connection.BACKLINK:
      return ", which it links to";
    case Connection.SHARED_WORDS:
      return " through shared rare words";
    case Connection.TOPIC:
      return " through a shared topic";
    case Connection.UNSPECIFIED:
      return "";
  }
}

/** The parts of a score as a table: raw value, normalized signal, weight and contribution. */
export function ScoreTable({ hit }: { hit: Hit }) {
  const parts = new Map<string, ScorePart>(hit.explanation?.parts.map((each) => [each.signal, each]));
  const names = parts.has("relevance") ? PARTS : partsOf([hit]);
  return (
    <div class="scrolls" tabIndex={0} role="region" aria-label="Parts of the score">
      <table class="parts">
        <thead>
          <tr>
            <th scope="col">Signal</th>
            <th scope="col">Raw</th>
            <th scope="col">Normalized</th>
            <th scope="col">× weight</th>
            <th scope="col">Contribution</th>
          </tr>
        </thead>
        <tbody>
          {names.map((name) => (
            <tr key={name}>
              <th scope="row">
                <span class={`swatch ${name}`} aria-hidden="true" /> {name}
                <small> {MEANS[name]}</small>
              </th>
              <td>{figure(parts.get(name)?.raw)}</td>
              <td>{part(of(hit.signals, name))}</td>
              <td>{figure(parts.get(name)?.weight)}</td>
              <td>{part(of(hit.contributions, name))}</td>
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">
              score{" "}
              <small>
                vector {part(hit.vectorScore)}, keyword {part(hit.keywordScore)}
                {hit.nameScore > 0 && `, name ${part(hit.nameScore)}`}
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

const figure = (value: number | undefined): string => (value === undefined ? "" : Number.isInteger(value) ? String(value) : part(value));
