// Notes that share a topic with a note, by topic.

import { neighborAddress } from "../address";
import { useAnswer } from "../use-answer";
import { SiblingKind } from "../contract/noteweft/v1/graph_pb";
import type { GetNoteResponse } from "../contract/noteweft/v1/note_pb";
import { graph } from "../daemon";
import { counted, part } from "../text";
import { Failed, Warnings } from "./failure";

/** Maximum number of notes to request, neighbors included. */
const LIMIT = 300;

/** Maximum number of notes of a topic whose list is open by default. */
const MAX_OPEN = 6;

export function Siblings({ note, params }: { note: GetNoteResponse; params: URLSearchParams }) {
  const { answer, failure, stale, again } = useAnswer(note.uri, (signal) => graph.topicSiblings({ note: note.uri, limit: LIMIT }, { signal }));
  if (answer === undefined) return failure === undefined ? null : <Failed failure={failure} again={again} />;
  const byKind = Map.groupBy(answer.siblings, (sibling) => sibling.kind);
  // A topic is a neighbor, so the response contains its title if the note exists.
  const titles = new Map(byKind.get(SiblingKind.DIRECT)?.map((topic) => [topic.uri, topic.title]));
  const topics = Map.groupBy(byKind.get(SiblingKind.SIBLING) ?? [], (sibling) => sibling.via ?? "");
  if (topics.size === 0) return null;
  return (
    <section class={`siblings ${stale ? "stale" : ""}`}>
      <h2>
        Notes with a shared topic <small>{counted(byKind.get(SiblingKind.SIBLING)?.length ?? 0, "note")}</small>
      </h2>
      {[...topics].map(([topic, members]) => (
        <details key={topic} open={members.length <= MAX_OPEN}>
          <summary>
            <span class={titles.has(topic) ? "" : "unresolved"}>{titles.get(topic) ?? topic}</span>{" "}
            <small>
              {counted(members.length, "note")}, closeness {part(members[0]?.score ?? 0)}
            </small>
          </summary>
          <ul class="plain">
            {members.map((sibling) => (
              <li key={sibling.uri}>
                <a href={neighborAddress(sibling.uri, params)} dir="auto">{sibling.title}</a>
              </li>
            ))}
          </ul>
        </details>
      ))}
      {answer.truncated && <p class="faint">and more</p>}
      <Warnings warnings={answer.warnings} />
      {answer.fanoutLimited.length > 0 && <p class="faint">Fan-out limit: only some links were followed from {answer.fanoutLimited.map((uri) => titles.get(uri) ?? uri).join(", ")}.</p>}
    </section>
  );
}
