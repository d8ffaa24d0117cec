// Names of notes may contain characters that hide text or change its order; every text of the page shows them.

import { options } from "preact";
import { visible } from "./text";

/** Attributes that readers see or hear. */
const SHOWN = ["title", "aria-label"];

const shown = (child: unknown): unknown => (typeof child === "string" ? visible(child) : Array.isArray(child) ? child.map(shown) : child);

/** Applies `visible` to the texts and labels of all elements rendered from now on. */
export function showHidden(): void {
  const before = options.vnode;
  options.vnode = (vnode) => {
    if (typeof vnode.type === "string") {
      const props = vnode.props as Record<string, unknown>;
      if (props.children !== undefined) props.children = shown(props.children);
      for (const name of SHOWN) if (typeof props[name] === "string") props[name] = visible(props[name]);
    }
    before?.(vnode);
  };
}
