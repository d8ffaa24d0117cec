// The notes most worth reading around one, as many as a budget of tokens allows.

import { amend, noteAddress } from "../address";
import { useAnswer } from "../asking";
import { Relation, type RelatedNote } from "../contract/noteweft/v1/graph_pb";
import { graph } from "../daemon";
import { news } from "../pulse";
import { count, counted } from "../text";
import { Failed, Waiting } from "./failure";

/** The slider's end and step, and where it stands at first, in tokens. */
const MOST = 8000;
const STEP = 100;
const USUAL = 2000;

/** A relation to the focus note, as people say it. */
function relationName(relation: Relation): string {
  switch (relation) {
    case Relation.UNSPECIFIED:
    case Relation.SELF:
      return "";
    case Relation.PARENT:
      return "parent";
    case Relation.OBJECT:
      return "object";
    case Relation.CHILD:
      return "child";
    case Relation.PRIOR_SIBLING:
      return "prior sibling";
    case Relation.YOUNGER_SIBLING:
      return "younger sibling";
    case Relation.REFERRING_NOTE:
      return "refers to it";
    case Relation.NOTE_IN_CONTEXTUAL_PATH:
      return "above it";
    case Relation.NOTE_IN_OBJECT_CONTEXTUAL_PATH:
      return "above its object";
    case Relation.REIFIED_CHILD_OBJECT:
      return "object of a child";
    case Relation.PARENT_SIBLING:
      return "sibling of the parent";
    case Relation.OBJECT_PARENT_SIBLING:
      return "sibling of the object’s parent";
    case Relation.REFERRING_SUBJECT:
      return "parent of what refers to it";
    case Relation.SIBLING_OF_TARGET:
      return "has the same object";
    case Relation.PARENT_SIBLING_CHILD:
      return "child of the parent’s sibling";
    case Relation.OBJECT_PARENT_SIBLING_CHILD:
      return "child of the object’s parent’s sibling";
    case Relation.NOTE_IN_REFERRING_CONTEXTUAL_PATH:
      return "above what refers to it";
    case Relation.REFERRING_COUSIN:
      return "beside what refers to it";
  }
}

export function Related({ uri, asked }: { uri: string; asked: URLSearchParams }) {
  const budget = Math.min(MOST, Math.max(0, Number(asked.get("budget") ?? USUAL) || 0));
  const key = `${uri} ${budget} ${news.value}`;
  const { answer, failure, waiting, again } = useAnswer(key, (signal) => graph.related({ focus: uri, budget: BigInt(budget) }, { signal }), 40);
  return (
    <section class="related">
      <h2>Worth reading with it</h2>
      <div class="row">
        <label class="slider">
          <span>Tokens</span>
          <input type="range" min="0" max={MOST} step={STEP} value={budget} onInput={(event) => amend({ budget: event.currentTarget.value })} />
          <output>{count(budget)}</output>
        </label>
        {answer !== undefined && (
          <small>
            {counted(answer.relatedNotes.length, "note")}, {count(answer.used)} used
          </small>
        )}
      </div>
      {failure !== undefined && <Failed failure={failure} again={again} />}
      {answer === undefined && failure === undefined && <Waiting />}
      {answer !== undefined && (
        <>
          {answer.relatedNotes.length > 0 && <Shares notes={answer.relatedNotes} budget={Number(answer.budget)} />}
          <ol class={`plain ranked ${waiting ? "stale" : ""}`}>
            {answer.relatedNotes.map((note, nth) => (
              <li key={note.uri}>
                <small>{note.relation === answer.relatedNotes[nth - 1]?.relation ? "" : relationName(note.relation)}</small>
                <span>
                  <a href={noteAddress(note.uri)}>{note.title}</a>
                  {note.alsoRelations.length > 0 && <small> also {note.alsoRelations.map(relationName).join(", ")}</small>}
                </span>
                <small title={note.truncated ? "Its text was cut" : undefined}>
                  {count(note.tokens)}
                  {note.truncated && " ✂"}
                </small>
              </li>
            ))}
          </ol>
          {answer.skipped.length > 0 && (
            <p class="faint">
              {counted(answer.skipped.length, "note")} {answer.skipped.length === 1 ? "costs" : "cost"} more than was left:{" "}
              {answer.skipped.slice(0, 5).map((note, at) => (
                <>
                  {at > 0 && ", "}
                  <a href={noteAddress(note.uri)}>{note.uri}</a> ({count(note.tokens)})
                </>
              ))}
              {answer.skipped.length > 5 && " …"}
            </p>
          )}
          {answer.resumeToken === undefined && answer.skipped.length === 0 && <p class="faint">That is all there is around it.</p>}
        </>
      )}
    </section>
  );
}

/** The budget as a bar, one piece per note. */
function Shares({ notes, budget }: { notes: readonly RelatedNote[]; budget: number }) {
  return (
    <>
      <div class="shares" aria-hidden="true">
        {notes.map((note) => (
          <span key={note.uri} title={`${note.title}, ${note.tokens} tokens`} style={{ width: `${(100 * Number(note.tokens)) / budget}%` }} />
        ))}
      </div>
      <p class="faint">The closest relations first, as many as the tokens allow; the bar shows what each costs.</p>
    </>
  );
}
