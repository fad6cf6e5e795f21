/** Bodies that a system outlines: filled faces and edges between corners that move with it. */
import * as THREE from "three";
import { Rods } from "studio/impostors";

const EDGE = "#56616b";

export class Outline {
  /** @param group where it is drawn @param {number[][]} faces numbers of corners; two are an edge @param tint of faces */
  constructor(group, faces, tint) {
    this.edges = faces.flatMap((face) => (face.length === 2 ? [face] : face.map((a, k) => [a, face[(k + 1) % face.length]])));
    // convex faces as fans of triangles
    this.triangles = faces.flatMap((face) => face.slice(1, -1).flatMap((a, k) => [face[0], a, face[k + 2]]));
    this.rods = new Rods(this.edges.length, new THREE.Color(EDGE), 1);
    group.add(this.rods);
    if (!this.triangles.length) return;
    const geometry = new THREE.BufferGeometry();
    this.corners = new THREE.BufferAttribute(new Float32Array(3 * this.triangles.length), 3);
    geometry.setAttribute("position", this.corners);
    const material = new THREE.MeshLambertMaterial({
      color: new THREE.Color(tint).lerp(new THREE.Color("#ffffff"), 0.45),
      flatShading: true,
      side: THREE.DoubleSide,
      polygonOffset: true, // edges and points lie in front
      polygonOffsetFactor: 1,
      polygonOffsetUnits: 2,
    });
    const mesh = new THREE.Mesh(geometry, material);
    mesh.frustumCulled = false;
    group.add(mesh);
  }

  /** How thick edges are in a scene of this size. */
  size(span) {
    this.rods.radius = 0.003 * span;
  }

  /** @param {Float32Array} places of the corners */
  place(places) {
    const at = (k) => places.subarray(3 * k, 3 * k + 3);
    this.edges.forEach(([a, b], k) => {
      this.rods.put("from", k, ...at(a));
      this.rods.put("to", k, ...at(b));
    });
    this.rods.moved();
    if (!this.corners) return;
    this.triangles.forEach((corner, k) => this.corners.array.set(at(corner), 3 * k));
    this.corners.needsUpdate = true;
  }

  dark(wanted) {
    this.rods.material.uniforms.glow.value = wanted ? 0.4 : 0;
  }
}
