// What lies around a note, as far as the reader asked.

import { gather } from "./asking";
import { graph } from "./daemon";
import { LinkSource } from "./contract/noteweft/v1/common_pb";
import type { Dot, Line } from "./parts/drawing";

/** The notes and links around one. */
export interface Surroundings {
  readonly dots: Dot[];
  readonly lines: Line[];
}

/** The notes within `hops` links of a note, with the links between them. */
export async function surroundings(uri: string, hops: number, signal: AbortSignal): Promise<Surroundings> {
  const pieces = await gather(graph.export({ filter: { within: [{ note: uri, hops }] } }, { signal }));
  const edges = pieces.flatMap((piece) => piece.edges);
  const hop = new Map([[uri, 0]]);
  const tree = new Set<unknown>();
  for (let at = 0; at < hops; at += 1) {
    for (const edge of edges) {
      for (const [near, far] of [[edge.from, edge.to] as const, [edge.to, edge.from] as const]) {
        if (hop.get(near) === at && !hop.has(far)) {
          hop.set(far, at + 1);
          tree.add(edge);
        }
      }
    }
  }
  const nodes = pieces.flatMap((piece) => piece.nodes).filter((node) => hop.has(node.id));
  nodes.sort((a, b) => (hop.get(a.id) ?? 0) - (hop.get(b.id) ?? 0));
  return {
    dots: nodes.map(({ id, title, placeholder }) => ({ id, title, placeholder, hop: hop.get(id) ?? 0 })),
    lines: edges.map((edge) => ({ from: edge.from, to: edge.to, type: edge.type, typed: edge.source === LinkSource.TYPED, seen: !tree.has(edge) })),
  };
}
