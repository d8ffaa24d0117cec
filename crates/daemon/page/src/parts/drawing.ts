// Notes and links drawn by the graphics card. This file and what it needs are loaded when the first graph is shown.

import Graph from "graphology";
import layout, { inferSettings } from "graphology-layout-forceatlas2";
import Sigma from "sigma";
import type { EdgeDisplayData, NodeDisplayData } from "sigma/types";
import { colour } from "../theme";
import { EDGES, NODES } from "./programs";

/** A note, or a placeholder for one. */
export interface Dot {
  readonly id: string;
  readonly title: string;
  /** Links from the focus. */
  readonly hop: number;
  readonly placeholder: boolean;
}

/** A link. */
export interface Line {
  readonly from: string;
  readonly to: string;
  readonly type: string;
  readonly typed: boolean;
  /** Whether it leads to a note that was reached before. */
  readonly seen: boolean;
}

/** What is drawn. */
export interface Picture {
  readonly focus: string;
  readonly dots: readonly Dot[];
  readonly lines: readonly Line[];
  /** The notes of a path, in order, drawn before all others. */
  readonly path: readonly string[];
  /** A note chosen as the start of a path. */
  readonly start?: string;
}

/** What happens on the drawing. */
export interface Events {
  /** A note was clicked. */
  walk(id: string): void;
  /** A note was clicked with the shift key held. */
  choose(id: string): void;
  /** A picture is drawn, and its notes stay where they are. */
  rest(picture: Picture): void;
}

/** Steps of the layout, the milliseconds of one frame they may take, and how many times longer they run than pictures of them take to draw. */
const STEPS = 240;
const FRAME = 7;
const SHARE = 3;

/** Milliseconds that a picture of the layout stands at most. */
const LONGEST = 400;

/** Milliseconds from one frame to the next where nothing holds it up. */
const ON_TIME = 17;

/** Notes from which on far ones are taken together while the graph is laid out: each step then takes n log n. */
const MANY = 250;

/** Notes up to which edges say their types. */
const FEW = 24;

/** Notes up to which they are drawn in full size, and all are named that have room for it. */
const ROOMY = 100;

/** The least size of a note, and the least width of a line, in pixels: of a crowd the notes are seen, not the lines alone. */
const LEAST = 2.4;
const THIN = 0.8;

/** Titles: their letters, and their height in pixels. */
const FONT = "system-ui, sans-serif";
const LETTERS = 13;

/** Pixels between a title and the edge of the picture. */
const MARGIN = 6;

/** Characters of a title that are drawn of a note that is not pointed at. */
const TITLE = 26;

/** A title that waits to be written, with what is known of its note. */
interface Title {
  readonly canvas: CanvasRenderingContext2D;
  readonly label: string;
  readonly x: number;
  readonly y: number;
  readonly size: number;
  /** Whether it is written even over others. */
  readonly stands: boolean;
}

/** Where a title may stand, from its note: away from the middle of the picture, below, above, towards the middle; the first that is free. */
const SIDES = [
  [1, 0],
  [0, 1],
  [0, -1],
  [-1, 0],
] as const;

/** A part of the picture, in pixels. */
interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** Writes titles beside their notes, where they hide neither each other nor a note and do not leave the picture, set off from the lines below them. */
function writeTitles(titles: readonly Title[], notes: readonly Box[], { font, height }: { font: string; height: number }): void {
  const taken = [...notes];
  const order = [...titles].sort((a, b) => Number(b.stands) - Number(a.stands) || b.size - a.size);
  for (const { canvas, label, x, y, size, stands } of order) {
    canvas.font = `${height}px ${font}`;
    const half = canvas.measureText(label).width / 2;
    const outward = x < canvas.canvas.clientWidth / 2 ? -1 : 1;
    const boxes = SIDES.map(([across, down]) => {
      const [middle, line] = [x + across * outward * (size + 4 + half), y + down * (size + height)];
      return { left: middle - half, right: middle + half, top: line - height / 2, bottom: line + height / 2 };
    });
    const inside = boxes.filter((box) => box.left >= MARGIN && box.right <= canvas.canvas.clientWidth - MARGIN);
    const free = inside.find((box) => taken.every((other) => box.right < other.left || other.right < box.left || box.bottom < other.top || other.bottom < box.top));
    const box = free ?? (stands ? (inside[0] ?? boxes[0]) : undefined);
    if (box === undefined) continue;
    taken.push(box);
    const [left, line] = [box.left, (box.top + box.bottom) / 2 + height / 3];
    canvas.lineWidth = 4;
    canvas.lineJoin = "round";
    canvas.strokeStyle = colours.raised;
    canvas.strokeText(label, left, line);
    canvas.fillStyle = colours.ink;
    canvas.fillText(label, left, line);
  }
}

/** The colours of the page, as the canvas understands them. */
const colours = { raised: "", ink: "" };

/** A graph on the page. */
export class Drawing {
  readonly #graph = new Graph({ multi: true, type: "directed" });
  readonly #sigma: Sigma;
  readonly #events: Events;
  #picture: Picture | undefined;
  #titles: Title[] = [];
  #hovered: string | undefined;
  #frame = 0;
  /** Whether the graph is being laid out. */
  #settling = false;

  constructor(home: HTMLElement, events: Events) {
    this.#events = events;
    this.#sigma = new Sigma(this.#graph, home, {
      defaultNodeType: "ring",
      defaultEdgeType: "arrow",
      nodeProgramClasses: NODES,
      edgeProgramClasses: EDGES,
      labelFont: FONT,
      edgeLabelFont: FONT,
      labelSize: LETTERS,
      edgeLabelSize: 11,
      renderEdgeLabels: true,
      labelRenderedSizeThreshold: 3,
      labelDensity: 0.7,
      stagePadding: 40,
      zIndex: true,
      minEdgeThickness: THIN,
      allowInvalidContainer: true,
      minCameraRatio: 0.1,
      maxCameraRatio: 4,
      // All titles of a picture are placed together, once it is known which there are.
      defaultDrawNodeLabel: (canvas, { label, x, y, size, zIndex }) => {
        if (label) this.#titles.push({ canvas, label, x, y, size, stands: zIndex === 1 });
      },
      defaultDrawNodeHover: () => undefined,
      nodeReducer: (id, data) => this.#node(id, data),
      edgeReducer: (id, data) => this.#edge(id, data),
    });
    this.#sigma.on("clickNode", ({ node, event }) => {
      const mouse = event.original;
      if ("shiftKey" in mouse && mouse.shiftKey) events.choose(node);
      else events.walk(node);
    });
    this.#sigma.on("beforeRender", () => (this.#titles = []));
    this.#sigma.on("afterRender", () => writeTitles(this.#titles, this.#boxes(), { font: FONT, height: LETTERS }));
    this.#sigma.on("enterNode", ({ node }) => this.#hover(node));
    this.#sigma.on("leaveNode", () => this.#hover(undefined));
    this.recolour();
  }

  /** Takes the colours of the page as they are now. */
  recolour(): void {
    Object.assign(colours, { raised: colour("raised"), ink: colour("ink") });
    this.#sigma.setSetting("edgeLabelColor", { color: colour("faint") });
    if (this.#picture !== undefined) this.show(this.#picture);
  }

  /** Draws `picture`; what was there before keeps its place as far as it can. */
  show(picture: Picture): void {
    const graph = this.#graph;
    const kept = new Set(picture.dots.map((dot) => dot.id));
    // While the notes are the same, they stay where they are: somebody may be pointing at one.
    const fresh = this.#picture?.focus !== picture.focus || graph.order !== kept.size || picture.dots.some((dot) => !graph.hasNode(dot.id));
    this.#picture = picture;
    for (const id of graph.nodes()) if (!kept.has(id)) graph.dropNode(id);
    graph.clearEdges();
    const shades = [colour("accent"), colour("near"), colour("mid"), colour("far")];
    const placed = picture.dots.length;
    picture.dots.forEach((dot, nth) => {
      const tint = shades[Math.min(dot.hop, shades.length - 1)];
      // A sunflower's spiral: whatever the number, no two dots begin at one place, and the same picture begins the same.
      const [angle, far] = [nth * 2.399963, Math.sqrt(nth / Math.max(1, placed))];
      const attributes = { label: dot.title, color: dot.placeholder ? colours.raised : tint, edge: tint, ring: dot.placeholder ? 0.35 : 0, hop: dot.hop };
      if (graph.hasNode(dot.id)) graph.mergeNodeAttributes(dot.id, attributes);
      else graph.addNode(dot.id, { ...attributes, x: far * Math.cos(angle), y: far * Math.sin(angle) });
    });
    const plain = colour("line");
    const typed = colour("typed");
    const strong = colour("accent");
    // Crowds are drawn smaller, so that what lies behind them is seen.
    const scale = Math.min(1, Math.sqrt(ROOMY / Math.max(1, placed)));
    const onPath = new Map(picture.path.map((id, nth) => [id, nth]));
    for (const line of picture.lines) {
      if (!graph.hasNode(line.from) || !graph.hasNode(line.to)) continue;
      const [a, b] = [onPath.get(line.from), onPath.get(line.to)];
      const walked = a !== undefined && b !== undefined && Math.abs(a - b) === 1;
      graph.addDirectedEdge(line.from, line.to, {
        type: line.seen ? "dashed" : "arrow",
        color: walked ? strong : line.typed ? typed : plain,
        size: walked ? 4 : scale * (line.typed ? 2 : 1.7),
        label: line.typed && placed <= FEW ? line.type : "",
      });
    }
    graph.forEachNode((id) => {
      const size = Math.max(LEAST, scale * Math.min(12, 4.5 + 1.6 * Math.sqrt(graph.degree(id))));
      graph.setNodeAttribute(id, "size", id === picture.focus ? 12 : size);
    });
    if (fresh) {
      this.#settle();
    } else {
      this.#sigma.refresh();
      if (!this.#settling) this.#events.rest(picture);
    }
  }

  /** Takes the drawing off the page. */
  end(): void {
    cancelAnimationFrame(this.#frame);
    this.#sigma.kill();
  }

  /** Lays the graph out, a few milliseconds in each frame, so that typing is never held up. */
  #settle(): void {
    cancelAnimationFrame(this.#frame);
    this.#settling = true;
    const settings = { ...inferSettings(this.#graph), barnesHutOptimize: this.#graph.order > MANY, gravity: 1.2, scalingRatio: 8, slowDown: 4 };
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    let left = this.#graph.order > 1 ? STEPS : 0;
    // A copy, as each change of the graph itself draws a picture.
    const plan = this.#graph.copy();
    // When the last picture was begun, and how long the next one waits. What a picture costs beyond this thread shows in a late frame.
    let [begun, cost, pause] = [0, 0, 0];
    const step = () => {
      const now = performance.now();
      if (cost > 0) {
        pause = now + Math.min(LONGEST, SHARE * (cost + Math.max(0, now - begun - cost - ON_TIME)));
        cost = 0;
      }
      while (left > 0 && performance.now() < now + FRAME) {
        layout.assign(plan, { iterations: 1, settings });
        left -= 1;
      }
      if (left <= 0 || (!still && now >= pause)) {
        begun = performance.now();
        this.#graph.updateEachNodeAttributes((id, { x, y, ...rest }) => ({ ...rest, x: plan.getNodeAttribute(id, "x"), y: plan.getNodeAttribute(id, "y") }));
        this.#sigma.refresh();
        cost = performance.now() - begun;
      }
      if (left > 0) {
        this.#frame = requestAnimationFrame(step);
        return;
      }
      this.#settling = false;
      if (this.#picture !== undefined) this.#events.rest(this.#picture);
    };
    this.#sigma.getCamera().setState({ x: 0.5, y: 0.5, ratio: 1 });
    step();
  }

  /** Where the notes stand, as long as they are few enough for titles to go round them. */
  #boxes(): Box[] {
    if (this.#graph.order > ROOMY) return [];
    return this.#graph.mapNodes((_, { x, y, size }) => {
      const at = this.#sigma.graphToViewport({ x: Number(x), y: Number(y) });
      const half = this.#sigma.scaleSize(Number(size));
      return { left: at.x - half, right: at.x + half, top: at.y - half, bottom: at.y + half };
    });
  }

  #hover(id: string | undefined): void {
    this.#hovered = id;
    this.#sigma.getContainer().style.cursor = id === undefined ? "" : "pointer";
    this.#sigma.refresh({ skipIndexation: true });
  }

  #node(id: string, data: Record<string, unknown>): Partial<NodeDisplayData> {
    const picture = this.#picture;
    const stands = id === picture?.focus || id === picture?.start || picture?.path.includes(id) || id === this.#hovered;
    const dimmed = this.#hovered !== undefined && id !== this.#hovered && !this.#graph.areNeighbors(id, this.#hovered);
    const title = String(data["label"]);
    const label = id === this.#hovered || title.length <= TITLE ? title : `${title.slice(0, TITLE)}…`;
    return { ...data, forceLabel: stands || (this.#graph.order <= ROOMY && !dimmed), label: dimmed && !stands ? "" : label, zIndex: stands ? 1 : 0 };
  }

  #edge(id: string, data: Record<string, unknown>): Partial<EdgeDisplayData> {
    const dimmed = this.#hovered !== undefined && !this.#graph.hasExtremity(id, this.#hovered);
    return { ...data, hidden: dimmed && this.#graph.size > 40 };
  }
}
