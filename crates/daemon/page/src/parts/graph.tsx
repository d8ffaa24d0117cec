// The graph around a note: click to open a note, shift-click to select the ends of a path.

import { useEffect, useRef, useState } from "preact/hooks";
import { theme } from "../theme";
import type { Drawing, Picture } from "./drawing";

/** `summary` describes the picture. */
export function GraphPicture({ picture, summary, walk, choose }: { picture: Picture; summary: string; walk: (id: string) => void; choose: (id: string) => void }) {
  const home = useRef<HTMLDivElement>(null);
  const drawing = useRef<Drawing | undefined>(undefined);
  const latest = useRef({ picture, walk, choose });
  latest.current = { picture, walk, choose };
  const [broken, setBroken] = useState(false);
  const [resting, setResting] = useState<Picture | undefined>(undefined);

  useEffect(() => {
    let gone = false;
    void import("./drawing")
      .then(({ Drawing }) => {
        if (gone || home.current === null) return;
        drawing.current = new Drawing(home.current, {
          walk: (id) => latest.current.walk(id),
          choose: (id) => latest.current.choose(id),
          rest: setResting,
        });
        drawing.current.show(latest.current.picture);
      })
      .catch(() => setBroken(true));
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const recolor = () => drawing.current?.recolor();
    dark.addEventListener("change", recolor);
    const unsubscribe = theme.subscribe(() => queueMicrotask(recolor));
    return () => {
      gone = true;
      dark.removeEventListener("change", recolor);
      unsubscribe();
      drawing.current?.end();
      drawing.current = undefined;
    };
  }, []);
  useEffect(() => drawing.current?.show(picture), [picture]);

  if (broken) return <p class="faint">This browser cannot draw the graph (WebGL is disabled); the links below list the neighbors.</p>;
  return <div class="graph" ref={home} role="img" aria-busy={resting !== picture} aria-label={`Graph around this note: ${summary}; the links below list the neighbors`} />;
}
