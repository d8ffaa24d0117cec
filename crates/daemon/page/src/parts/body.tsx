// A note's text, drawn.

import { useLayoutEffect, useRef } from "preact/hooks";
import type { GetNoteResponse } from "../contract/noteweft/v1/note_pb";
import { rendered } from "../markdown";

export function Body({ note }: { note: GetNoteResponse }) {
  const home = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    home.current?.replaceChildren(rendered(note.body, note.links, note.title));
  }, [note]);
  return (
    <>
      <div class="body" ref={home} />
      {note.body.trim() === "" && <p class="faint">This note has no text.</p>}
    </>
  );
}
