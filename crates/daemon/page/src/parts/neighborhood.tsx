// The graph around a note, with limits on hops, direction and edge types, and the path to another note.

import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import { updateParams, listed, requiredInteger, neighborAddress, quoted, paramsKey, unquoted, navigate, type IntegerParam } from "../address";
import { useAnswer } from "../use-answer";
import { graph } from "../daemon";
import type { GetNoteResponse } from "../contract/noteweft/v1/note_pb";
import { Direction, EdgeSource, type PathResponse, type TreeResponse, type WalkEdge } from "../contract/noteweft/v1/graph_pb";
import { count, counted } from "../text";
import type { Dot, Line } from "./drawing";
import { Failed } from "./failure";
import { GraphPicture } from "./graph";
import { Slider } from "./slider";

/** Number of hops from the note, up to the limit of the API; end of the slider. */
const HOPS: IntegerParam = { name: "hops", fallback: 1, min: 1, max: 0xffff_ffff };
const END = 6;

/** Maximum number of dots, and of dots for unresolved targets; the summary reports when there are more. */
const MAX_DOTS = 2000;
const MAX_TARGETS = 200;

/** The hop from which all dots have the same color. */
const FAR = 3;

const DIRECTIONS = [
  ["both", "Both directions", Direction.BOTH],
  ["out", "Outgoing links", Direction.OUT],
  ["in", "Incoming links", Direction.IN],
] as const;

/** Legend: the class of each symbol, its meaning, and whether a scene contains it. */
const LEGEND: readonly (readonly [string, string, (scene: Scene) => boolean])[] = [
  ["dot", "this note", () => true],
  ["dot near", "1 link away", ({ dots }) => dots.some((dot) => dot.hop === 1 && !dot.placeholder)],
  ["dot mid", "2 links away", ({ dots }) => dots.some((dot) => dot.hop === 2 && !dot.placeholder)],
  ["dot far", "more links away", ({ dots }) => dots.some((dot) => dot.hop >= FAR && !dot.placeholder)],
  ["dot hollow", "unresolved target", ({ dots }) => dots.some((dot) => dot.placeholder)],
  ["inline", "inline link", ({ lines }) => lines.some((line) => !line.typed)],
  ["typed", "typed link", ({ lines }) => lines.some((line) => line.typed)],
  ["seen", "link to a note already reached", ({ lines }) => lines.some((line) => line.seen)],
];

const between = (a: string, b: string): string => (a < b ? `${a}\n${b}` : `${b}\n${a}`);

/** Node ids of notes and of unresolved targets. The prefixes keep them distinct from each other and from JavaScript's own names such as `__proto__`. */
const noteId = (uri: string): string => `.${uri}`;
const targetId = (name: string): string => `?${name}`;

/** Returns the note of a dot. */
const uriOf = (dot: string): string | undefined => (dot.startsWith(".") ? dot.slice(1) : undefined);

const line = (edge: WalkEdge, seen: boolean): Line => ({ from: noteId(edge.from), to: noteId(edge.to), type: edge.type, typed: edge.source !== EdgeSource.INLINE, seen });

/** Content of the picture. */
interface Scene {
  readonly dots: Dot[];
  readonly lines: Line[];
  /** Number of unresolved targets, drawn or not. */
  readonly nTargets: number;
}

/** Builds the scene of a walk: its notes, its edges, and the unresolved targets within its hops, up to the limits. */
function sceneOf({ nodes, edges, spanningTree, unresolved, maxHops = 0, direction }: TreeResponse): Scene {
  const hops = new Map(nodes.map((node) => [node.id, node.hop ?? 0]));
  const dots: Dot[] = nodes.map((node) => ({ id: noteId(node.id), title: node.title, hop: node.hop ?? 0, placeholder: false }));
  // Of the edges between a note and its child in the tree, the first one is the edge that reached it.
  const tree = new Set(spanningTree.map((edge) => between(edge.from, edge.to)));
  const lines = edges.map((edge) => line(edge, !tree.delete(between(edge.from, edge.to))));
  const targets = new Map<string, boolean>();
  for (const { from, target } of direction === Direction.IN ? [] : unresolved) {
    const hop = (hops.get(from) ?? 0) + 1;
    if (hop > maxHops) continue;
    const [id, known] = [targetId(target), targets.get(target)];
    const shown = known ?? (targets.size < MAX_TARGETS && dots.length < MAX_DOTS);
    if (known === undefined && shown) dots.push({ id, title: target, hop, placeholder: true });
    if (shown) lines.push({ from: noteId(from), to: id, type: "", typed: false, seen: false });
    targets.set(target, shown);
  }
  return { dots, lines, nTargets: targets.size };
}

/** Describes a scene in words. */
function summaryOf({ dots, lines, nTargets }: Scene, more: boolean): string {
  const nDrawn = dots.filter((dot) => dot.placeholder).length;
  const targets = nTargets === 0 ? "" : `, ${counted(nTargets, "unresolved target")}${nDrawn < nTargets ? `, ${count(nDrawn)} of them drawn` : ""}`;
  return `${counted(dots.length - nDrawn, "note")}, ${counted(lines.length, "link")}${targets}${more ? ", and more not shown" : ""}`;
}

export function Neighborhood({ note, params }: { note: GetNoteResponse; params: URLSearchParams }) {
  const [, , direction] = DIRECTIONS.find(([name]) => name === params.get("way")) ?? DIRECTIONS[0];
  const without = listed(params.get("without")).map(unquoted);
  const folders = params.get("folders") === "1";
  const [from, to] = [params.get("start") ?? "", params.get("end") ?? ""];
  const edges = { excludeTypes: without, hierarchy: folders };

  const edgeKey = paramsKey(params, ["way", "without", "folders"]);
  const ask = async (signal: AbortSignal) => graph.tree({ roots: [note.uri], direction, maxHops: requiredInteger(params, HOPS), maxNodes: MAX_DOTS, edges }, { signal });
  const { answer, failure, stale, again } = useAnswer(`${note.uri} ${paramsKey(params, [HOPS.name])} ${edgeKey}`, ask, 60);
  const hasPath = from !== "" && to !== "";
  const path = useAnswer(hasPath ? `${paramsKey(params, ["start", "end"])} ${edgeKey}` : null, (signal) => graph.path({ from, to, direction, edges }, { signal }), 60);
  const found = hasPath ? path.answer : undefined;

  const scene = useMemo(() => {
    const { dots, lines, nTargets } = answer === undefined ? { dots: [], lines: [], nTargets: 0 } : sceneOf(answer);
    if (found?.found) {
      const known = new Set(dots.map((dot) => dot.id));
      const added = found.nodes.filter((node) => !known.has(noteId(node.id)));
      dots.push(...added.map((node) => ({ id: noteId(node.id), title: node.title, hop: FAR, placeholder: false })));
      const drawnAlready = new Set(lines.map((each) => `${each.from}\n${each.to}\n${each.type}`));
      lines.push(...found.edges.map((edge) => line(edge, false)).filter((each) => !drawnAlready.has(`${each.from}\n${each.to}\n${each.type}`)));
    }
    return { dots, lines, nTargets };
  }, [answer, found]);
  const summary = summaryOf(scene, answer !== undefined && (answer.truncated || answer.unresolvedTruncated));
  const picture = useMemo(
    () => ({ ...scene, focus: noteId(note.uri), start: from === "" ? undefined : noteId(from), path: found?.found ? found.nodes.map((node) => noteId(node.id)) : [] }),
    [scene, note.uri, from, found],
  );
  const types = [...new Set([...(answer?.edges.map((edge) => edge.type) ?? []), ...without])].sort();

  // The first chosen note starts a path, the second ends it, a third starts a new path.
  const choose = (dot: string) => {
    const id = uriOf(dot);
    if (id === undefined) return;
    if (from === "" || to !== "") updateParams({ start: id, end: null });
    else if (id !== from) updateParams({ end: id });
  };
  const walk = (dot: string) => {
    const id = uriOf(dot);
    if (id !== undefined) navigate(neighborAddress(id, params));
  };
  return (
    <section class="around">
      <h2>Neighborhood</h2>
      <div class="row">
        <Slider params={params} of={HOPS} label="Hops" end={END} format={count} />
        <fieldset class="choice">
          <legend class="unseen">Direction</legend>
          {DIRECTIONS.map(([name, label, value]) => (
            <label key={name}>
              <input type="radio" name="way" checked={direction === value} onChange={() => updateParams({ way: name === "both" ? null : name })} />
              <span>{label}</span>
            </label>
          ))}
        </fieldset>
      </div>
      <fieldset class="chips">
        <legend class="unseen">Edge types</legend>
        {types.map((type) => (
          <label key={type}>
            <input
              type="checkbox"
              checked={!without.includes(type)}
              onChange={(event) => updateParams({ without: (event.currentTarget.checked ? without.filter((each) => each !== type) : [...without, type]).map(quoted).join(", ") })}
            />
            <span>{type}</span>
          </label>
        ))}
        <label>
          <input type="checkbox" checked={folders} onChange={(event) => updateParams({ folders: event.currentTarget.checked ? "1" : null })} />
          <span>folder hierarchy</span>
        </label>
      </fieldset>
      {failure !== undefined && <Failed failure={failure} again={again} />}
      {(answer !== undefined || failure === undefined) && (
        <div class={stale ? "stale" : ""}>
          <GraphPicture picture={picture} summary={summary} walk={walk} choose={choose} />
          {answer !== undefined && (
            <>
              <p class="faint" role="status">
                {summary}. Click a note to open it; shift-click two notes to find a path.
              </p>
              <p class="signs" aria-hidden="true">
                {LEGEND.filter(([, , there]) => there(scene)).map(([kind, meaning]) => (
                  <span key={kind}>
                    <i class={kind} /> {meaning}
                  </span>
                ))}
              </p>
            </>
          )}
        </div>
      )}
      <PathFinder note={note} from={from} to={to} />
      {hasPath && path.failure !== undefined && <Failed failure={path.failure} again={path.again} />}
      {found !== undefined && <PathShown path={found} params={params} />}
    </section>
  );
}

/** Finds a path by note name, without the mouse. */
function PathFinder({ note, from, to }: { note: GetNoteResponse; from: string; to: string }) {
  const [name, setName] = useState(to);
  // Navigation, including back, sets the end of the path.
  useLayoutEffect(() => setName(to), [to, note.uri]);
  const start = from === "" || to !== "" ? note.uri : from;
  return (
    <form
      class="row"
      onSubmit={(event) => {
        event.preventDefault();
        updateParams({ start, end: name.trim() });
      }}
    >
      <input value={name} placeholder="Path to a note" aria-label={`Path from ${start} to`} autocomplete="off" onInput={(event) => setName(event.currentTarget.value)} />
      <button>Find</button>
      {from !== "" && (
        <button
          type="button"
          onClick={() => {
            setName("");
            updateParams({ start: null, end: null });
          }}
        >
          Clear
        </button>
      )}
      {from !== "" && to === "" && <small>from {from}: shift-click the end of the path</small>}
    </form>
  );
}

function PathShown({ path, params }: { path: PathResponse; params: URLSearchParams }) {
  if (!path.found) return <p class="faint">No path{path.truncated ? ` within ${path.maxHops} links` : ""}.</p>;
  return (
    <p class="steps">
      {path.nodes.map((node, nth) => (
        <>
          {nth > 0 && <small> {path.edges[nth - 1]?.from === node.id ? "←" : "→"} {path.edges[nth - 1]?.type} </small>}
          <a key={node.id} href={neighborAddress(node.id, params)} dir="auto">
            {node.title}
          </a>
        </>
      ))}
    </p>
  );
}
