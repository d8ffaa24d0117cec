// The graph around a note: click to walk, shift-click to mark.

import { useEffect, useRef, useState } from "preact/hooks";
import { theme } from "../theme";
import type { Drawing, Picture } from "./drawing";

/** `said` tells what the picture shows. */
export function GraphPicture({ picture, said, walk, choose }: { picture: Picture; said: string; walk: (id: string) => void; choose: (id: string) => void }) {
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
    const recolour = () => drawing.current?.recolour();
    dark.addEventListener("change", recolour);
    const unsubscribe = theme.subscribe(() => queueMicrotask(recolour));
    return () => {
      gone = true;
      dark.removeEventListener("change", recolour);
      unsubscribe();
      drawing.current?.end();
      drawing.current = undefined;
    };
  }, []);
  useEffect(() => drawing.current?.show(picture), [picture]);

  if (broken) return <p class="faint">This browser cannot draw the graph (WebGL is off); the links below say the same.</p>;
  return <div class="graph" ref={home} role="img" aria-busy={resting !== picture} aria-label={`Around this note: ${said}; the list of links below names them`} />;
}
