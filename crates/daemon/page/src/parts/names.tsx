// Notes by name.

import { neighbourAddress } from "../address";
import type { NoteRef } from "../contract/noteweft/v1/common_pb";

/** A link to a note, to be looked at as `asked` looks at the present one. */
export function NoteLink({ note, asked }: { note: NoteRef; asked: URLSearchParams }) {
  return (
    <a href={neighbourAddress(note.uri, asked)} dir="auto">
      {note.title}
    </a>
  );
}

/** The notes above one, the outermost first. */
export function Crumbs({ path, asked }: { path: readonly NoteRef[]; asked: URLSearchParams }) {
  if (path.length === 0) return null;
  return (
    <nav class="crumbs" aria-label="Place in the hierarchy">
      <ol>
        {path.map((note) => (
          <li key={note.uri}>
            <NoteLink note={note} asked={asked} />
          </li>
        ))}
      </ol>
    </nav>
  );
}
