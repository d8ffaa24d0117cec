// The graph around a note: how far, which way, along which edges; and the path to another note.

import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import { amend, listed, needed, neighbourAddress, quoted, saidBy, unquoted, visit, type Whole } from "../address";
import { useAnswer } from "../asking";
import { graph } from "../daemon";
import type { GetNoteResponse } from "../contract/noteweft/v1/note_pb";
import { Direction, EdgeSource, type PathResponse, type TreeResponse, type WalkEdge } from "../contract/noteweft/v1/graph_pb";
import { count, counted } from "../text";
import type { Dot, Line } from "./drawing";
import { Failed } from "./failure";
import { GraphPicture } from "./graph";
import { Slider } from "./slider";

/** Links from the note, up to the contract's most; where the slider ends. */
const HOPS: Whole = { name: "hops", usual: 1, least: 1, most: 0xffff_ffff };
const END = 6;

/** Dots drawn at most, and how many of them may stand for names that no note answers to; the answer says when there are more. */
const MOST_DOTS = 2000;
const MOST_NAMES = 200;

/** The hop from which on all dots have one colour. */
const FAR = 3;

const DIRECTIONS = [
  ["both", "Both ways", Direction.BOTH],
  ["out", "Links of it", Direction.OUT],
  ["in", "Links to it", Direction.IN],
] as const;

/** What the picture shows, how that is drawn, and whether it is in a scene. */
const SIGNS: readonly (readonly [string, string, (scene: Scene) => boolean])[] = [
  ["dot", "this note", () => true],
  ["dot near", "one link away", ({ dots }) => dots.some((dot) => dot.hop === 1 && !dot.placeholder)],
  ["dot mid", "two links", ({ dots }) => dots.some((dot) => dot.hop === 2 && !dot.placeholder)],
  ["dot far", "more", ({ dots }) => dots.some((dot) => dot.hop >= FAR && !dot.placeholder)],
  ["dot hollow", "not written yet", ({ dots }) => dots.some((dot) => dot.placeholder)],
  ["inline", "link in the text", ({ lines }) => lines.some((line) => !line.typed)],
  ["typed", "typed link", ({ lines }) => lines.some((line) => line.typed)],
  ["seen", "another way to a note", ({ lines }) => lines.some((line) => line.seen)],
];

const between = (a: string, b: string): string => (a < b ? `${a}\n${b}` : `${b}\n${a}`);

/** What stands for a note in the picture, and for a name that no note answers to: names of any kind stay apart, from each other and from what means something to the language, such as `__proto__`. */
const dotOf = (uri: string): string => `.${uri}`;
const holeOf = (name: string): string => `?${name}`;

/** The note that a dot stands for. */
const noteOf = (dot: string): string | undefined => (dot.startsWith(".") ? dot.slice(1) : undefined);

const line = (edge: WalkEdge, seen: boolean): Line => ({ from: dotOf(edge.from), to: dotOf(edge.to), type: edge.type, typed: edge.source !== EdgeSource.INLINE, seen });

/** What is drawn around a note. */
interface Scene {
  readonly dots: Dot[];
  readonly lines: Line[];
  /** Names that no note answers to, drawn or not. */
  readonly nNames: number;
}

/** What is drawn of a walk: its notes, its edges, and the names no note answers to that lie within its hops, as long as there is room. */
function drawn({ nodes, edges, spanningTree, unresolved, maxHops = 0, direction }: TreeResponse): Scene {
  const hops = new Map(nodes.map((node) => [node.id, node.hop ?? 0]));
  const dots: Dot[] = nodes.map((node) => ({ id: dotOf(node.id), title: node.title, hop: node.hop ?? 0, placeholder: false }));
  // Of the edges between a note and its child in the tree, the first one met is the one that led there.
  const tree = new Set(spanningTree.map((edge) => between(edge.from, edge.to)));
  const lines = edges.map((edge) => line(edge, !tree.delete(between(edge.from, edge.to))));
  const names = new Map<string, boolean>();
  for (const { from, target } of direction === Direction.IN ? [] : unresolved) {
    const hop = (hops.get(from) ?? 0) + 1;
    if (hop > maxHops) continue;
    const [id, known] = [holeOf(target), names.get(target)];
    const shown = known ?? (names.size < MOST_NAMES && dots.length < MOST_DOTS);
    if (known === undefined && shown) dots.push({ id, title: target, hop, placeholder: true });
    if (shown) lines.push({ from: dotOf(from), to: id, type: "", typed: false, seen: false });
    names.set(target, shown);
  }
  return { dots, lines, nNames: names.size };
}

/** The same in words, for those who see the picture and those who do not. */
function told({ dots, lines, nNames }: Scene, more: boolean): string {
  const nDrawn = dots.filter((dot) => dot.placeholder).length;
  const names = nNames === 0 ? "" : `, ${counted(nNames, "name")} not written yet${nDrawn < nNames ? `, ${count(nDrawn)} of them drawn` : ""}`;
  return `${counted(dots.length - nDrawn, "note")}, ${counted(lines.length, "link")}${names}${more ? ", and more beyond" : ""}`;
}

export function Around({ note, asked }: { note: GetNoteResponse; asked: URLSearchParams }) {
  const [, , direction] = DIRECTIONS.find(([name]) => name === asked.get("way")) ?? DIRECTIONS[0];
  const without = listed(asked.get("without")).map(unquoted);
  const folders = asked.get("folders") === "1";
  const [from, to] = [asked.get("start") ?? "", asked.get("end") ?? ""];
  const edges = { excludeTypes: without, hierarchy: folders };

  const ways = saidBy(asked, ["way", "without", "folders"]);
  const ask = async (signal: AbortSignal) => graph.tree({ roots: [note.uri], direction, maxHops: needed(asked, HOPS), maxNodes: MOST_DOTS, edges }, { signal });
  const { answer, failure, stale, again } = useAnswer(`${note.uri} ${saidBy(asked, [HOPS.name])} ${ways}`, ask, 60);
  const wanted = from !== "" && to !== "";
  const path = useAnswer(wanted ? `${saidBy(asked, ["start", "end"])} ${ways}` : null, (signal) => graph.path({ from, to, direction, edges }, { signal }), 60);
  const found = wanted ? path.answer : undefined;

  const scene = useMemo(() => {
    const { dots, lines, nNames } = answer === undefined ? { dots: [], lines: [], nNames: 0 } : drawn(answer);
    if (found?.found) {
      const known = new Set(dots.map((dot) => dot.id));
      const strange = found.nodes.filter((node) => !known.has(dotOf(node.id)));
      dots.push(...strange.map((node) => ({ id: dotOf(node.id), title: node.title, hop: FAR, placeholder: false })));
      const drawnAlready = new Set(lines.map((each) => `${each.from}\n${each.to}\n${each.type}`));
      lines.push(...found.edges.map((edge) => line(edge, false)).filter((each) => !drawnAlready.has(`${each.from}\n${each.to}\n${each.type}`)));
    }
    return { dots, lines, nNames };
  }, [answer, found]);
  const summary = told(scene, answer !== undefined && (answer.truncated || answer.moreUnresolved));
  const picture = useMemo(
    () => ({ ...scene, focus: dotOf(note.uri), start: from === "" ? undefined : dotOf(from), path: found?.found ? found.nodes.map((node) => dotOf(node.id)) : [] }),
    [scene, note.uri, from, found],
  );
  const types = [...new Set([...(answer?.edges.map((edge) => edge.type) ?? []), ...without])].sort();

  // The first note chosen starts a path, the second ends it, a third starts anew.
  const choose = (dot: string) => {
    const id = noteOf(dot);
    if (id === undefined) return;
    if (from === "" || to !== "") amend({ start: id, end: null });
    else if (id !== from) amend({ end: id });
  };
  const walk = (dot: string) => {
    const id = noteOf(dot);
    if (id !== undefined) visit(neighbourAddress(id, asked));
  };
  return (
    <section class="around">
      <h2>Around it</h2>
      <div class="row">
        <Slider asked={asked} of={HOPS} label="Hops" end={END} said={count} />
        <fieldset class="choice">
          <legend class="unseen">Direction</legend>
          {DIRECTIONS.map(([name, label, value]) => (
            <label key={name}>
              <input type="radio" name="way" checked={direction === value} onChange={() => amend({ way: name === "both" ? null : name })} />
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
              onChange={(event) => amend({ without: (event.currentTarget.checked ? without.filter((each) => each !== type) : [...without, type]).map(quoted).join(", ") })}
            />
            <span>{type}</span>
          </label>
        ))}
        <label>
          <input type="checkbox" checked={folders} onChange={(event) => amend({ folders: event.currentTarget.checked ? "1" : null })} />
          <span>folder hierarchy</span>
        </label>
      </fieldset>
      {failure !== undefined && <Failed failure={failure} again={again} />}
      {(answer !== undefined || failure === undefined) && (
        <div class={stale ? "stale" : ""}>
          <GraphPicture picture={picture} said={summary} walk={walk} choose={choose} />
          {answer !== undefined && (
            <>
              <p class="faint" role="status">
                {summary}. Click to walk; shift-click two notes for the path.
              </p>
              <p class="signs" aria-hidden="true">
                {SIGNS.filter(([, , there]) => there(scene)).map(([kind, meaning]) => (
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
      {wanted && path.failure !== undefined && <Failed failure={path.failure} again={path.again} />}
      {found !== undefined && <PathShown path={found} asked={asked} />}
    </section>
  );
}

/** The path by name, for those who do not click. */
function PathFinder({ note, from, to }: { note: GetNoteResponse; from: string; to: string }) {
  const [name, setName] = useState(to);
  // A step, also one back, says anew where the path ends.
  useLayoutEffect(() => setName(to), [to, note.uri]);
  const start = from === "" || to !== "" ? note.uri : from;
  return (
    <form
      class="row"
      onSubmit={(event) => {
        event.preventDefault();
        amend({ start, end: name.trim() });
      }}
    >
      <input value={name} placeholder="Path to a note" aria-label={`Path from ${start} to`} autocomplete="off" onInput={(event) => setName(event.currentTarget.value)} />
      <button>Find</button>
      {from !== "" && (
        <button
          type="button"
          onClick={() => {
            setName("");
            amend({ start: null, end: null });
          }}
        >
          Clear
        </button>
      )}
      {from !== "" && to === "" && <small>from {from}: shift-click the other end</small>}
    </form>
  );
}

function PathShown({ path, asked }: { path: PathResponse; asked: URLSearchParams }) {
  if (!path.found) return <p class="faint">No path{path.truncated ? ` within ${path.maxHops} links` : ""}.</p>;
  return (
    <p class="steps">
      {path.nodes.map((node, nth) => (
        <>
          {nth > 0 && <small> {path.edges[nth - 1]?.from === node.id ? "←" : "→"} {path.edges[nth - 1]?.type} </small>}
          <a key={node.id} href={neighbourAddress(node.id, asked)} dir="auto">
            {node.title}
          </a>
        </>
      ))}
    </p>
  );
}
