// How an answer came about, stage by stage.

import { noteAddress } from "../address";
import { Profile, type Explanation } from "../contract/noteweft/v1/search_pb";
import { counted, part } from "../text";
import { originName, SIGNALS } from "./score";

/** Candidates drawn at once. */
const SHOWN = 200;

export function Explained({ explanation }: { explanation: Explanation }) {
  const { words, seeds, pool, stages, weights } = explanation;
  const total = stages.reduce((sum, stage) => sum + Number(stage.micros), 0);
  const best = [...pool].sort((a, b) => b.similarity - a.similarity).slice(0, SHOWN);
  return (
    <section class="explained" aria-label="How this answer came about">
      <dl>
        <div>
          <dt>Ranked by</dt>
          <dd>
            {SIGNALS.map((name) => `${name} × ${part(weights?.[name] ?? 0)}`).join(" + ")}
            <small>
              {" "}
              profile {(Profile[explanation.profile] ?? "").toLowerCase()}; similarity is {part(explanation.vectorShare)} meaning, {part(1 - explanation.vectorShare)} words
            </small>
          </dd>
        </div>
        <div>
          <dt>Words</dt>
          <dd>{words.length === 0 ? "none that count" : words.map((word) => `${word.word} (in ${counted(word.nNotes, "note")}, tells ${word.idf.toFixed(1)})`).join(", ")}</dd>
        </div>
        <div>
          <dt>Links followed</dt>
          <dd>
            {seeds.length === 0 && "from no hit"}
            {seeds.map((seed, at) => (
              <span key={seed.uri}>
                {at > 0 && ", "}
                <a href={noteAddress(seed.uri)}>{seed.uri}</a> <small>to {counted(seed.nReached, "note")}{seed.capped && ", not all"}</small>
              </span>
            ))}
            {explanation.nSeedsLeftOut > 0 && <small> and {counted(explanation.nSeedsLeftOut, "hit")} beyond the bound</small>}
          </dd>
        </div>
        <div>
          <dt>Took</dt>
          <dd>
            {(total / 1000).toFixed(1)} ms <small>{stages.map((stage) => `${stage.name} ${(Number(stage.micros) / 1000).toFixed(1)}`).join(", ")}</small>
          </dd>
        </div>
      </dl>
      <details>
        <summary>{counted(pool.length, "candidate")}, by similarity</summary>
        <ol class="pool">
          {best.map((candidate) => (
            <li key={candidate.uri}>
              <a href={noteAddress(candidate.uri)}>{candidate.uri}</a> <small>{part(candidate.similarity)} by {originName(candidate.origin)}</small>
            </li>
          ))}
        </ol>
      </details>
    </section>
  );
}
