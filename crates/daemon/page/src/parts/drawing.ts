// Draws notes and links with WebGL. This module and its dependencies are loaded with the first graph.

import Graph from "graphology";
import layout, { inferSettings } from "graphology-layout-forceatlas2";
import Sigma from "sigma";
import type { EdgeDisplayData, NodeDisplayData } from "sigma/types";
import { visible } from "../text";
import { color } from "../theme";
import { EDGES, NODES } from "./shaders";

/** A note, or a placeholder for one. */
export interface Dot {
  readonly id: string;
  readonly title: string;
  /** Hops from the focus note. */
  readonly hop: number;
  readonly placeholder: boolean;
}

/** A link. */
export interface Line {
  readonly from: string;
  readonly to: string;
  readonly type: string;
  readonly typed: boolean;
  /** True if it leads to a note already reached by another link. */
  readonly seen: boolean;
}

/** Content of the drawing. */
export interface Picture {
  readonly focus: string;
  readonly dots: readonly Dot[];
  readonly lines: readonly Line[];
  /** The notes of a path in order, highlighted. */
  readonly path: readonly string[];
  /** The note selected as the start of a path. */
  readonly start?: string;
}

/** Events of the drawing. */
export interface Events {
  /** A note was clicked. */
  walk(id: string): void;
  /** A note was clicked with the shift key held. */
  choose(id: string): void;
  /** The layout of a picture has finished. */
  rest(picture: Picture): void;
}

/** Steps of the layout, their time per frame in milliseconds, and the ratio of layout time to drawing time. */
const STEPS = 240;
const FRAME = 7;
const SHARE = 3;

/** Maximum time between two pictures of the layout, in milliseconds. */
const MAX_PAUSE = 400;

/** Time between two undelayed frames, in milliseconds. */
const FRAME_INTERVAL = 17;

/** Number of notes above which the layout groups distant notes (Barnes-Hut), so that a step costs n log n. */
const BARNES_HUT_ABOVE = 250;

/** Maximum number of notes for which edge types are shown. */
const MAX_WITH_EDGE_LABELS = 24;

/** Maximum number of notes drawn in full size, with all titles that have room. */
const MAX_FULL_SIZE = 100;

/** Minimum size of a note and minimum width of a line, in pixels, so that many notes stay visible among their lines. */
const MIN_NODE_SIZE = 2.4;
const MIN_LINE_WIDTH = 0.8;

/** Font of titles, and its height in pixels. */
const FONT = "system-ui, sans-serif";
const FONT_SIZE = 13;

/** Distance between a title and the border of the picture, in pixels. */
const MARGIN = 6;

/** Maximum characters of a title, except for the note under the pointer. */
const MAX_TITLE = 26;

/** A title to draw, with the position and size of its note. */
interface Title {
  readonly canvas: CanvasRenderingContext2D;
  readonly label: string;
  readonly x: number;
  readonly y: number;
  readonly size: number;
  /** True if it is drawn even over other titles. */
  readonly forced: boolean;
}

/** Candidate positions of a title relative to its note: away from the center of the picture, below, above, towards the center. The first free one is used. */
const SIDES = [
  [1, 0],
  [0, 1],
  [0, -1],
  [-1, 0],
] as const;

/** A rectangle of the picture, in pixels. */
interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** Draws titles beside their notes, with an outline, so that they overlap neither each other nor a note and stay inside the picture. */
function drawTitles(titles: readonly Title[], notes: readonly Box[], { font, height }: { font: string; height: number }): void {
  const occupied = [...notes];
  const order = [...titles].sort((a, b) => Number(b.forced) - Number(a.forced) || b.size - a.size);
  for (const { canvas, label, x, y, size, forced } of order) {
    canvas.font = `${height}px ${font}`;
    const half = canvas.measureText(label).width / 2;
    const outward = x < canvas.canvas.clientWidth / 2 ? -1 : 1;
    const boxes = SIDES.map(([across, down]) => {
      const [middle, line] = [x + across * outward * (size + 4 + half), y + down * (size + height)];
      return { left: middle - half, right: middle + half, top: line - height / 2, bottom: line + height / 2 };
    });
    const inside = boxes.filter((box) => box.left >= MARGIN && box.right <= canvas.canvas.clientWidth - MARGIN);
    const free = inside.find((box) => occupied.every((other) => box.right < other.left || other.right < box.left || box.bottom < other.top || other.bottom < box.top));
    const box = free ?? (forced ? (inside[0] ?? boxes[0]) : undefined);
    if (box === undefined) continue;
    occupied.push(box);
    const [left, line] = [box.left, (box.top + box.bottom) / 2 + height / 3];
    canvas.lineWidth = 4;
    canvas.lineJoin = "round";
    canvas.strokeStyle = colors.raised;
    canvas.strokeText(label, left, line);
    canvas.fillStyle = colors.ink;
    canvas.fillText(label, left, line);
  }
}

/** Colors of the page, as values for the canvas. */
const colors = { raised: "", ink: "" };

/** Interactive drawing of a graph. */
export class Drawing {
  readonly #graph = new Graph({ multi: true, type: "directed" });
  readonly #sigma: Sigma;
  readonly #events: Events;
  #picture: Picture | undefined;
  #titles: Title[] = [];
  #hovered: string | undefined;
  #frame = 0;
  /** True while the layout runs. */
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
      labelSize: FONT_SIZE,
      edgeLabelSize: 11,
      renderEdgeLabels: true,
      labelRenderedSizeThreshold: 3,
      labelDensity: 0.7,
      stagePadding: 40,
      zIndex: true,
      minEdgeThickness: MIN_LINE_WIDTH,
      allowInvalidContainer: true,
      minCameraRatio: 0.1,
      maxCameraRatio: 4,
      // The titles of a picture are collected first and placed together.
      defaultDrawNodeLabel: (canvas, { label, x, y, size, zIndex }) => {
        if (label) this.#titles.push({ canvas, label, x, y, size, forced: zIndex === 1 });
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
    this.#sigma.on("afterRender", () => drawTitles(this.#titles, this.#boxes(), { font: FONT, height: FONT_SIZE }));
    this.#sigma.on("enterNode", ({ node }) => this.#hover(node));
    this.#sigma.on("leaveNode", () => this.#hover(undefined));
    this.recolor();
  }

  /** Applies the current colors of the page. */
  recolor(): void {
    Object.assign(colors, { raised: color("raised"), ink: color("ink") });
    this.#sigma.setSetting("edgeLabelColor", { color: color("faint") });
    if (this.#picture !== undefined) this.show(this.#picture);
  }

  /** Draws `picture`; notes that were already shown keep their positions if possible. */
  show(picture: Picture): void {
    const graph = this.#graph;
    const kept = new Set(picture.dots.map((dot) => dot.id));
    // If the notes are unchanged, they keep their positions, because the user may be pointing at one.
    const fresh = this.#picture?.focus !== picture.focus || graph.order !== kept.size || picture.dots.some((dot) => !graph.hasNode(dot.id));
    this.#picture = picture;
    for (const id of graph.nodes()) if (!kept.has(id)) graph.dropNode(id);
    graph.clearEdges();
    const shades = [color("accent"), color("near"), color("mid"), color("far")];
    const placed = picture.dots.length;
    picture.dots.forEach((dot, nth) => {
      const tint = shades[Math.min(dot.hop, shades.length - 1)];
      // Initial positions on a sunflower spiral: distinct for any number of dots, and deterministic.
      const [angle, far] = [nth * 2.399963, Math.sqrt(nth / Math.max(1, placed))];
      const attributes = { label: visible(dot.title), color: dot.placeholder ? colors.raised : tint, edge: tint, ring: dot.placeholder ? 0.35 : 0, hop: dot.hop };
      if (graph.hasNode(dot.id)) graph.mergeNodeAttributes(dot.id, attributes);
      else graph.addNode(dot.id, { ...attributes, x: far * Math.cos(angle), y: far * Math.sin(angle) });
    });
    const plain = color("line");
    const typed = color("typed");
    const strong = color("accent");
    // Many notes are drawn smaller, so that they do not cover each other.
    const scale = Math.min(1, Math.sqrt(MAX_FULL_SIZE / Math.max(1, placed)));
    const onPath = new Map(picture.path.map((id, nth) => [id, nth]));
    for (const line of picture.lines) {
      if (!graph.hasNode(line.from) || !graph.hasNode(line.to)) continue;
      const [a, b] = [onPath.get(line.from), onPath.get(line.to)];
      const walked = a !== undefined && b !== undefined && Math.abs(a - b) === 1;
      graph.addDirectedEdge(line.from, line.to, {
        type: line.seen ? "dashed" : "arrow",
        color: walked ? strong : line.typed ? typed : plain,
        size: walked ? 4 : scale * (line.typed ? 2 : 1.7),
        label: line.typed && placed <= MAX_WITH_EDGE_LABELS ? line.type : "",
      });
    }
    graph.forEachNode((id) => {
      const size = Math.max(MIN_NODE_SIZE, scale * Math.min(12, 4.5 + 1.6 * Math.sqrt(graph.degree(id))));
      graph.setNodeAttribute(id, "size", id === picture.focus ? 12 : size);
    });
    if (fresh) {
      this.#settle();
    } else {
      this.#sigma.refresh();
      if (!this.#settling) this.#events.rest(picture);
    }
  }

  /** Removes the drawing from the page. */
  end(): void {
    cancelAnimationFrame(this.#frame);
    this.#sigma.kill();
  }

  /** Lays the graph out, a few milliseconds per frame, so that typing is never delayed. */
  #settle(): void {
    cancelAnimationFrame(this.#frame);
    this.#settling = true;
    const settings = { ...inferSettings(this.#graph), barnesHutOptimize: this.#graph.order > BARNES_HUT_ABOVE, gravity: 1.2, scalingRatio: 8, slowDown: 4 };
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    let left = this.#graph.order > 1 ? STEPS : 0;
    // A copy, because each change of the displayed graph triggers drawing.
    const plan = this.#graph.copy();
    // Start and cost of the last picture, and the earliest time of the next one. Cost outside this thread shows as a late frame.
    let [begun, cost, pause] = [0, 0, 0];
    const step = () => {
      const now = performance.now();
      if (cost > 0) {
        pause = now + Math.min(MAX_PAUSE, SHARE * (cost + Math.max(0, now - begun - cost - FRAME_INTERVAL)));
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

  /** Returns the rectangles of the notes, if they are few enough for titles to avoid them. */
  #boxes(): Box[] {
    if (this.#graph.order > MAX_FULL_SIZE) return [];
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
    const isForced = id === picture?.focus || id === picture?.start || picture?.path.includes(id) || id === this.#hovered;
    const dimmed = this.#hovered !== undefined && id !== this.#hovered && !this.#graph.areNeighbors(id, this.#hovered);
    const title = String(data["label"]);
    const label = id === this.#hovered || title.length <= MAX_TITLE ? title : `${title.slice(0, MAX_TITLE)}…`;
    return { ...data, forceLabel: isForced || (this.#graph.order <= MAX_FULL_SIZE && !dimmed), label: dimmed && !isForced ? "" : label, zIndex: isForced ? 1 : 0 };
  }

  #edge(id: string, data: Record<string, unknown>): Partial<EdgeDisplayData> {
    const dimmed = this.#hovered !== undefined && !this.#graph.hasExtremity(id, this.#hovered);
    return { ...data, hidden: dimmed && this.#graph.size > 40 };
  }
}
