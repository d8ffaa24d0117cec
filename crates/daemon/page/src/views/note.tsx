// One note: its text, its place, and what surrounds it.

import { useMemo } from "preact/hooks";
import { address, amend, noteAddress, place, visit } from "../address";
import { useAnswer } from "../asking";
import { notes } from "../daemon";
import { LinkSource } from "../contract/noteweft/v1/common_pb";
import type { GetNoteResponse, LinkView, NoteSummary } from "../contract/noteweft/v1/note_pb";
import { Body } from "../parts/body";
import { Failed, Waiting } from "../parts/failure";
import { GraphPicture } from "../parts/graph";
import { Crumbs, NoteLink } from "../parts/names";
import { Related } from "../parts/related";
import { news } from "../pulse";
import { surroundings } from "../surroundings";
import { count } from "../text";

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
        <Links title="Links" links={answer.links} />
        <Links title="Linked from" links={answer.backlinks} />
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
      {!note.fresh && <span class="degraded">text newer than its vectors</span>}
    </p>
  );
}

/** Links of one side, with the same end and type said once. */
function Links({ title, links }: { title: string; links: readonly LinkView[] }) {
  const rows = useMemo(() => {
    const seen = new Map<string, LinkView>();
    for (const link of links) seen.set(`${link.uri ?? link.target} ${link.type} ${link.source}`, link);
    return [...seen.values()];
  }, [links]);
  if (rows.length === 0) return null;
  return (
    <section>
      <h2>
        {title} <small>{rows.length}</small>
      </h2>
      <ul class="plain">
        {rows.map((link) => (
          <li key={`${link.uri ?? link.target} ${link.type} ${link.source}`}>
            {link.uri !== undefined ? <a href={noteAddress(link.uri)}>{link.uri}</a> : <span class="unresolved">{link.target}</span>}
            {link.source === LinkSource.TYPED && <small> {link.type}</small>}
          </li>
        ))}
      </ul>
    </section>
  );
}

const MOST_HOPS = 4;

function Around({ note, asked }: { note: GetNoteResponse; asked: URLSearchParams }) {
  const hops = Math.min(MOST_HOPS, Math.max(1, Number(asked.get("hops")) || 1));
  const key = `${note.uri} ${hops} ${note.generation}`;
  const { answer, failure, again } = useAnswer(key, (signal) => surroundings(note.uri, hops, signal), 60);
  const picture = useMemo(() => ({ focus: note.uri, dots: answer?.dots ?? [], lines: answer?.lines ?? [], path: [] }), [answer, note.uri]);
  return (
    <section class="around">
      <h2>Around it</h2>
      <div class="row">
        <label class="slider">
          <span>Hops</span>
          <input type="range" min="1" max={MOST_HOPS} value={hops} onInput={(event) => amend({ hops: event.currentTarget.value })} />
          <output>{hops}</output>
        </label>
        {answer !== undefined && <small>{count(answer.dots.length)} notes</small>}
      </div>
      {failure !== undefined && <Failed failure={failure} again={again} />}
      <GraphPicture picture={picture} walk={(id) => visit(noteAddress(id))} choose={() => undefined} />
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
  const byFolder = Map.groupBy(answer.found, (note) => note.path.split("/").slice(0, -1).join(" › ") || note.vault);
  return (
    <div class="all">
      <h1>Notes</h1>
      {answer.found.length === 0 && <p class="faint">The index holds no note yet.</p>}
      {answer.cut && <p class="faint">The first {count(MOST_LISTED)} are listed; search finds all.</p>}
      <div class="columns">
        {[...byFolder].map(([folder, members]) => (
          <section key={folder}>
            <h2>{folder}</h2>
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
