// WebGL programs that draw notes and links.

import { createNodeBorderProgram } from "@sigma/node-border";
import { createEdgeCompoundProgram, EdgeArrowHeadProgram, EdgeClampedProgram, EdgeProgram, type InstancedProgramDefinition, type Program, type ProgramInfo } from "sigma/rendering";
import type { EdgeDisplayData, NodeDisplayData, RenderParams } from "sigma/types";
import { floatColor } from "sigma/utils";

/** A dashed straight line. */
class DashedLine extends EdgeProgram<"u_matrix" | "u_viewport"> {
  getDefinition() {
    const { FLOAT, UNSIGNED_BYTE } = WebGLRenderingContext;
    return {
      VERTICES: 6,
      METHOD: WebGLRenderingContext.TRIANGLES,
      VERTEX_SHADER_SOURCE: `
        attribute vec2 a_from;
        attribute vec2 a_to;
        attribute float a_width;
        attribute vec4 a_color;
        attribute vec4 a_id;
        attribute vec2 a_corner;
        uniform mat3 u_matrix;
        uniform vec2 u_viewport;
        varying vec4 v_color;
        varying float v_along;
        void main() {
          vec2 from = (u_matrix * vec3(a_from, 1.0)).xy * u_viewport;
          vec2 to = (u_matrix * vec3(a_to, 1.0)).xy * u_viewport;
          vec2 way = to - from;
          float far = max(length(way), 0.001);
          vec2 aside = vec2(-way.y, way.x) / far * a_width * a_corner.y;
          gl_Position = vec4((mix(from, to, a_corner.x) + aside) / u_viewport, 0.0, 1.0);
          v_along = far * a_corner.x;
          #ifdef PICKING_MODE
          v_color = a_id;
          #else
          v_color = vec4(a_color.rgb * a_color.a, a_color.a);
          #endif
        }`,
      FRAGMENT_SHADER_SOURCE: `
        precision mediump float;
        varying vec4 v_color;
        varying float v_along;
        void main() {
          if (mod(v_along, 9.0) > 5.0) discard;
          gl_FragColor = v_color;
        }`,
      UNIFORMS: ["u_matrix", "u_viewport"] as const,
      ATTRIBUTES: [
        { name: "a_from", size: 2, type: FLOAT },
        { name: "a_to", size: 2, type: FLOAT },
        { name: "a_width", size: 1, type: FLOAT },
        { name: "a_color", size: 4, type: UNSIGNED_BYTE, normalized: true },
        { name: "a_id", size: 4, type: UNSIGNED_BYTE, normalized: true },
      ],
      CONSTANT_ATTRIBUTES: [{ name: "a_corner", size: 2, type: FLOAT }],
      CONSTANT_DATA: [
        [0, 1],
        [0, -1],
        [1, 1],
        [1, 1],
        [0, -1],
        [1, -1],
      ],
    };
  }

  processVisibleItem(edge: number, at: number, from: NodeDisplayData, to: NodeDisplayData, data: EdgeDisplayData): void {
    this.array.set([from.x, from.y, to.x, to.y, (data.size || 1) / 2, floatColor(data.color), edge], at);
  }

  setUniforms({ matrix, width, height }: RenderParams, { gl, uniformLocations }: ProgramInfo): void {
    gl.uniformMatrix3fv(uniformLocations.u_matrix!, false, matrix);
    // From the center to the edges, in page pixels.
    gl.uniform2f(uniformLocations.u_viewport!, width / 2, height / 2);
  }
}

/** A program that draws instances of a shape. */
interface Instanced extends Program {
  getDefinition(): InstancedProgramDefinition;
  setUniforms(params: RenderParams, info: ProgramInfo): void;
  processVisibleItem(id: number, at: number, ...item: unknown[]): void;
}

/**
 * The same program without instancing: all corners are written into one buffer and drawn at once.
 *
 * Without a graphics card, the browser draws instances one by one: 2,000 notes take half a second, and 10 ms without instancing.
 */
function writtenOut<Class>(instanced: Class): Class {
  let corners: readonly number[][] = [];
  class WrittenOut extends (instanced as new (...given: ConstructorParameters<typeof Program>) => Instanced) {
    override getDefinition() {
      const { CONSTANT_ATTRIBUTES, CONSTANT_DATA, ...rest } = super.getDefinition();
      corners = CONSTANT_DATA;
      return { ...rest, ATTRIBUTES: [...rest.ATTRIBUTES, ...CONSTANT_ATTRIBUTES] } as InstancedProgramDefinition;
    }

    override processVisibleItem(id: number, at: number, ...item: unknown[]): void {
      super.processVisibleItem(id, at, ...item);
      const width = this.ATTRIBUTES_ITEMS_COUNT;
      corners.forEach((corner, nth) => {
        const start = at + nth * width;
        this.array.copyWithin(start, at, at + width - corner.length);
        this.array.set(corner, start + width - corner.length);
      });
    }
  }
  return WrittenOut as Class;
}

const Head = writtenOut(EdgeArrowHeadProgram);

/** Notes: discs, hollow if the border is wide. */
export const NODES = {
  ring: writtenOut(
    createNodeBorderProgram({
      borders: [
        { size: { attribute: "ring", defaultValue: 0 }, color: { attribute: "edge" } },
        { size: { fill: true }, color: { attribute: "color" } },
      ],
    }),
  ),
};

/** Links: solid and dashed arrows. */
export const EDGES = {
  arrow: createEdgeCompoundProgram([writtenOut(EdgeClampedProgram), Head]),
  dashed: createEdgeCompoundProgram([writtenOut(DashedLine), Head]),
};
