// One note: its text, its place, and what surrounds it.

import { address, neighbourAddress, noteAddress, place } from "../address";
import { useAnswer } from "../asking";
import { graph, notes } from "../daemon";
import type { GetNoteResponse, NoteSummary } from "../contract/noteweft/v1/note_pb";
import { Around } from "../parts/around";
import { Body } from "../parts/body";
import { Failed, Waiting } from "../parts/failure";
import { Crumbs, NoteLink } from "../parts/names";
import { Related } from "../parts/related";
import { Siblings } from "../parts/siblings";
import { news } from "../pulse";
import { count, folders } from "../text";

export function NoteView() {
  const { asked } = place.value;
  const name = asked.get("uri") ?? "";
  const { answer, failure, waiting, again } = useAnswer(name === "" ? null : `${name} ${news.value}`, (signal) => notes.getNote({ name }, { signal }));
  if (name === "") return <AllNotes />;
  if (failure !== undefined && (answer === undefined || failure.kind === "unknown")) return <Failed failure={failure} again={again} />;
  if (answer === undefined) return <Waiting lines={12} />;
  return (
    <div class={`note ${waiting ? "stale" : ""}`}>
      <article aria-labelledby="title">
        <header>
          <Crumbs path={answer.contextualPath} />
          <h1 id="title">{answer.title}</h1>
          <Facts note={answer} />
        </header>
        <Body note={answer} />
        {answer.children.length > 0 && (
          <section>
            <h2>Below this note</h2>
            <ul class="plain">
              {answer.children.map((child) => (
                <li key={child.uri}>
                  <NoteLink note={child} />
                </li>
              ))}
            </ul>
          </section>
        )}
        <Related uri={answer.uri} asked={asked} />
      </article>
      <aside aria-label="Around this note">
        <Around note={answer} asked={asked} />
        <Neighbours note={answer} asked={asked} />
        <Siblings note={answer} asked={asked} />
      </aside>
    </div>
  );
}

function Facts({ note }: { note: GetNoteResponse }) {
  return (
    <p class="facts">
      <span>{note.path}</span>
      {note.type !== undefined && <a href={address("search", { type: note.type })}>{note.type}</a>}
      {note.tags.map((tag) => (
        <span key={tag} class="tag">
          #{tag}
        </span>
      ))}
      {note.object !== undefined && (
        <span>
          about <NoteLink note={note.object} />
        </span>
      )}
      {note.aliases.length > 0 && <span>also {note.aliases.join(", ")}</span>}
      {!note.fresh && <span class="degraded">waits for vectors</span>}
    </p>
  );
}

/** Notes one link away, and names that no note answers to. */
function Neighbours({ note, asked }: { note: GetNoteResponse; asked: URLSearchParams }) {
  const { answer, failure, again } = useAnswer(`${note.uri} ${note.generation}`, (signal) => graph.neighbors({ note: note.uri }, { signal }));
  const missing = [...new Set(note.links.filter((link) => !link.resolved).map((link) => link.target))];
  if (failure !== undefined) return <Failed failure={failure} again={again} />;
  if (answer === undefined) return null;
  return (
    <section>
      <h2>
        Links <small>{count(answer.nodes.length)}</small>
      </h2>
      <ul class="plain">
        {answer.nodes.map((near) => (
          <li key={near.id}>
            <a href={neighbourAddress(near.id, asked)}>{near.title}</a>
            <small> {[...new Set(near.edges.map((edge) => `${edge.from === note.uri ? "→" : "←"} ${edge.type}`))].join(", ")}</small>
          </li>
        ))}
        {missing.map((target) => (
          <li key={target}>
            <span class="unresolved">{target}</span>
            <small> not written yet</small>
          </li>
        ))}
      </ul>
      {answer.truncated && <p class="faint">and more</p>}
    </section>
  );
}

/** Every note by its folder, where none is chosen. */
function AllNotes() {
  const { answer, failure, again } = useAnswer(`all ${news.value}`, async (signal) => {
    const found: NoteSummary[] = [];
    let pageToken = "";
    do {
      const page = await notes.listNotes({ pageSize: 1000, pageToken }, { signal });
      found.push(...page.notes);
      pageToken = page.nextPageToken;
    } while (pageToken !== "" && found.length < MOST_LISTED);
    return { found, cut: pageToken !== "" };
  });
  if (failure !== undefined && answer === undefined) return <Failed failure={failure} again={again} />;
  if (answer === undefined) return <Waiting lines={12} />;
  // Within a folder the order is the daemon's.
  const byFolder = [...Map.groupBy(answer.found, (note) => [note.vault, ...folders(note.path)].join("/"))].sort(([a], [b]) => (a < b ? -1 : 1));
  return (
    <div class="all">
      <h1>Notes</h1>
      {answer.found.length === 0 && <p class="faint">The index holds no note yet.</p>}
      {answer.cut && <p class="faint">The first {count(MOST_LISTED)} are listed; search finds all.</p>}
      <div class="columns">
        {byFolder.map(([folder, members]) => (
          <section key={folder}>
            <h2>{folders(members[0]?.path ?? "").join(" › ") || members[0]?.vault}</h2>
            <ul class="plain">
              {members.map((note) => (
                <li key={note.uri}>
                  <a href={noteAddress(note.uri)}>{note.title}</a>
                </li>
              ))}
            </ul>
          </section>
        ))}
      </div>
    </div>
  );
}

const MOST_LISTED = 5000;
