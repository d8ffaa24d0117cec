// Notes that share a topic with one, topic by topic.

import { neighbourAddress } from "../address";
import { useAnswer } from "../asking";
import { Nearness } from "../contract/noteweft/v1/graph_pb";
import type { GetNoteResponse } from "../contract/noteweft/v1/note_pb";
import { graph } from "../daemon";
import { counted, part } from "../text";
import { Failed, Incomplete } from "./failure";

/** Notes asked for, neighbours included. */
const MOST = 300;

/** Notes of one topic up to which they are listed without being asked for. */
const FEW = 6;

export function Siblings({ note, asked }: { note: GetNoteResponse; asked: URLSearchParams }) {
  const { answer, failure, stale, again } = useAnswer(note.uri, (signal) => graph.topicSiblings({ note: note.uri, limit: MOST }, { signal }));
  if (answer === undefined) return failure === undefined ? null : <Failed failure={failure} again={again} />;
  const near = Map.groupBy(answer.siblings, (sibling) => sibling.kind);
  // A topic is a neighbour, so the answer says its title, where a note answers to it.
  const titles = new Map(near.get(Nearness.DIRECT)?.map((topic) => [topic.uri, topic.title]));
  const topics = Map.groupBy(near.get(Nearness.SIBLING) ?? [], (sibling) => sibling.via ?? "");
  if (topics.size === 0) return null;
  return (
    <section class={`siblings ${stale ? "stale" : ""}`}>
      <h2>
        Sharing a topic <small>{counted(near.get(Nearness.SIBLING)?.length ?? 0, "note")}</small>
      </h2>
      {[...topics].map(([topic, members]) => (
        <details key={topic} open={members.length <= FEW}>
          <summary>
            <span class={titles.has(topic) ? "" : "unresolved"}>{titles.get(topic) ?? topic}</span>{" "}
            <small>
              {counted(members.length, "note")}, near {part(members[0]?.score ?? 0)}
            </small>
          </summary>
          <ul class="plain">
            {members.map((sibling) => (
              <li key={sibling.uri}>
                <a href={neighbourAddress(sibling.uri, asked)} dir="auto">{sibling.title}</a>
              </li>
            ))}
          </ul>
        </details>
      ))}
      {answer.truncated && <p class="faint">and more</p>}
      <Incomplete degraded={answer.degraded} />
      {answer.capped.length > 0 && <p class="faint">Of {answer.capped.map((uri) => titles.get(uri) ?? uri).join(", ")} only some links were followed.</p>}
    </section>
  );
}
