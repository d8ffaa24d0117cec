// The rendered text of a note.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { noteAddress, read } from "../address";
import type { GetNoteResponse, LinkView } from "../contract/noteweft/v1/note_pb";
import { token } from "../daemon";
import { loadImages } from "../images";
import { NAMED_PLACE, plainText, rendered, TooLong } from "../markdown";

/** The parts of a link that affect its rendering. */
const drawnOf = ({ uri, resolved, target, fragment, display, span }: LinkView) => [uri, resolved, target, fragment, display, span?.start, span?.end];

const sameLinks = (some: readonly LinkView[], others: readonly LinkView[]): boolean =>
  some.length === others.length &&
  some.every((link, nth) => {
    const [a, b] = [drawnOf(link), drawnOf(others[nth] ?? link)];
    return a.every((part, at) => part === b[at]);
  });

/** Renders the text of a note, or its first lines up to `most` characters; `to` returns the address of a linked note or of a part of it, and `named` is the start of the part to scroll to, in characters. */
export function Body({ note, to = noteAddress, most = Infinity, named }: { note: GetNoteResponse; to?: (uri: string, part?: string) => string; most?: number; named?: number | undefined }) {
  const home = useRef<HTMLDivElement>(null);
  const [problem, setProblem] = useState("");
  const whole = note.body.length <= most;
  const text = whole ? note.body : note.body.slice(0, note.body.lastIndexOf("\n", most) + 1 || most);
  // Each generation of the index reloads the note. The rendered text is kept if it would not change, and with it what the user opened, selected or scrolled to.
  const { uri, title, links, vault, path, blocks } = note;
  const shown = useRef({ text, links, title, named });
  const { current } = shown;
  if (current.text !== text || current.title !== title || current.named !== named || !sameLinks(current.links, links)) shown.current = { text, links, title, named };
  useLayoutEffect(() => {
    // Removes the text of the previous note even if this one cannot be rendered.
    home.current?.replaceChildren();
    try {
      home.current?.replaceChildren(rendered(text, { uri, title, links }, { blocks, ...(named !== undefined && { named }) }));
      document.getElementById(NAMED_PLACE)?.scrollIntoView();
      setProblem("");
    } catch (why) {
      home.current?.replaceChildren(plainText(text));
      setProblem(why instanceof TooLong ? "rendering takes too long" : "its markup is nested too deeply");
    }
  }, [shown.current]);
  useLayoutEffect(() => {
    for (const anchor of home.current?.querySelectorAll<HTMLAnchorElement>("a[href^='#/note?']") ?? []) {
      const { params } = read(anchor.hash);
      anchor.href = to(params.get("uri") ?? "", params.get("at") ?? "");
    }
  }, [shown.current, to("")]);
  useLayoutEffect(() => (home.current === null ? undefined : loadImages(home.current, { vault, path })), [shown.current, vault, path, token.value]);
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
