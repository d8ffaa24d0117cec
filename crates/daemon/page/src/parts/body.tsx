// The rendered text of a note.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { noteAddress, read } from "../address";
import type { GetNoteResponse, LinkView } from "../contract/noteweft/v1/note_pb";
import { plainText, rendered, TooLong } from "../markdown";

/** The parts of a link that affect its rendering. */
const drawnOf = ({ uri, resolved, target, fragment, display, span }: LinkView) => [uri, resolved, target, fragment, display, span?.start, span?.end];

const sameLinks = (some: readonly LinkView[], others: readonly LinkView[]): boolean =>
  some.length === others.length &&
  some.every((link, nth) => {
    const [a, b] = [drawnOf(link), drawnOf(others[nth] ?? link)];
    return a.every((part, at) => part === b[at]);
  });

/** Renders the text of a note, or its first lines up to `most` characters; `to` returns the address of a linked note. */
export function Body({ note, to = noteAddress, most = Infinity }: { note: GetNoteResponse; to?: (uri: string) => string; most?: number }) {
  const home = useRef<HTMLDivElement>(null);
  const [problem, setProblem] = useState("");
  const whole = note.body.length <= most;
  const text = whole ? note.body : note.body.slice(0, note.body.lastIndexOf("\n", most) + 1 || most);
  // Each generation of the index reloads the note. The rendered text is kept if it would not change, and with it what the user opened, selected or scrolled to.
  const shown = useRef({ text, links: note.links, title: note.title });
  if (shown.current.text !== text || shown.current.title !== note.title || !sameLinks(shown.current.links, note.links)) shown.current = { text, links: note.links, title: note.title };
  useLayoutEffect(() => {
    // Removes the text of the previous note even if this one cannot be rendered.
    home.current?.replaceChildren();
    try {
      home.current?.replaceChildren(rendered(text, note.links, note.title));
      setProblem("");
    } catch (why) {
      home.current?.replaceChildren(plainText(text));
      setProblem(why instanceof TooLong ? "rendering takes too long" : "its markup is nested too deeply");
    }
  }, [shown.current]);
  useLayoutEffect(() => {
    for (const anchor of home.current?.querySelectorAll<HTMLAnchorElement>("a[href^='#/note?']") ?? []) anchor.href = to(read(anchor.hash).params.get("uri") ?? "");
  }, [shown.current, to("")]);
  return (
    <>
      {problem !== "" && <p class="notice">Shown as plain text: {problem}.</p>}
      <div class="body" ref={home} />
      {note.body.trim() === "" && <p class="faint">This note has no text.</p>}
      {!whole && (
        <p class="faint">
          <a href={to(note.uri)}>Read more</a>
        </p>
      )}
    </>
  );
}
