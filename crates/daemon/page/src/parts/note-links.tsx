// Links to notes.

import { neighborAddress } from "../address";
import type { NoteRef } from "../contract/noteweft/v1/common_pb";

/** A link to a note with the view parameters of the current one. */
export function NoteLink({ note, params }: { note: NoteRef; params: URLSearchParams }) {
  return (
    <a href={neighborAddress(note.uri, params)} dir="auto">
      {note.title}
    </a>
  );
}

/** The ancestors of a note, outermost first. */
export function Crumbs({ path, params }: { path: readonly NoteRef[]; params: URLSearchParams }) {
  if (path.length === 0) return null;
  return (
    <nav class="crumbs" aria-label="Position in the hierarchy">
      <ol>
        {path.map((note) => (
          <li key={note.uri}>
            <NoteLink note={note} params={params} />
          </li>
        ))}
      </ol>
    </nav>
  );
}
