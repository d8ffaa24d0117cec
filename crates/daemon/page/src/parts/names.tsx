// Notes by name.

import { noteAddress } from "../address";
import type { NoteRef } from "../contract/noteweft/v1/common_pb";

export function NoteLink({ note }: { note: NoteRef }) {
  return <a href={noteAddress(note.uri)}>{note.title}</a>;
}

/** The notes above one, the outermost first. */
export function Crumbs({ path }: { path: readonly NoteRef[] }) {
  if (path.length === 0) return null;
  return (
    <nav class="crumbs" aria-label="Place in the hierarchy">
      <ol>
        {path.map((note) => (
          <li key={note.uri}>
            <NoteLink note={note} />
          </li>
        ))}
      </ol>
    </nav>
  );
}
