// Explanation of a ranking.

import { noteAddress } from "../address";
import { Profile, type Explanation } from "../contract/noteweft/v1/search_pb";
import { counted, part } from "../text";
import { originName, SIGNALS } from "./score";

/** Maximum number of candidates shown. */
const SHOWN = 200;

export function RankingExplanation({ explanation }: { explanation: Explanation }) {
  const { words, seeds, candidates, stages, weights, reranking } = explanation;
  const total = stages.reduce((sum, stage) => sum + Number(stage.micros), 0);
  const best = [...candidates].sort((a, b) => b.similarity - a.similarity).slice(0, SHOWN);
  return (
    <section class="explained" aria-label="Ranking explanation">
      <dl>
        <div>
          <dt>Score</dt>
          <dd>
            {SIGNALS.map((name) => `${name} × ${part(weights?.[name] ?? 0)}`).join(" + ")}
            {reranking !== undefined && ` + relevance × ${part(reranking.weight)}`}
            <small>
              {" "}
              profile {(Profile[explanation.profile] ?? "").toLowerCase()}; similarity = {part(explanation.vectorShare)} vector + {part(1 - explanation.vectorShare)} keyword
              {reranking !== undefined && `; the best ${counted(reranking.noteCount, "note")} reranked by ${reranking.reranker?.name ?? ""}`}
            </small>
          </dd>
        </div>
        <div>
          <dt>Terms</dt>
          <dd>{words.length === 0 ? "none" : words.map((word) => `${word.word} (in ${counted(word.noteCount, "note")}, idf ${word.idf.toFixed(1)})`).join(", ")}</dd>
        </div>
        <div>
          <dt>Connections followed</dt>
          <dd>
            {seeds.length === 0 && "from no hit"}
            {seeds.map((seed, at) => (
              <span key={seed.uri}>
                {at > 0 && ", "}
                <a href={noteAddress(seed.uri)}>{seed.uri}</a> <small>to {counted(seed.reachedCount, "note")}{seed.fanoutLimited && ", fan-out limit"}</small>
              </span>
            ))}
            {explanation.omittedSeedCount > 0 && <small> and {counted(explanation.omittedSeedCount, "more hit")} omitted by the seed limit</small>}
          </dd>
        </div>
        <div>
          <dt>Time</dt>
          <dd>
            {(total / 1000).toFixed(1)} ms <small>{stages.map((stage) => `${stage.name} ${(Number(stage.micros) / 1000).toFixed(1)}`).join(", ")}</small>
          </dd>
        </div>
      </dl>
      <details>
        <summary>{counted(candidates.length, "candidate")}, by similarity</summary>
        <ol class="candidates">
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
