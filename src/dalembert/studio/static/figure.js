/** One run in the scene: balls at its points, bars, solid bodies, trails. */
import * as THREE from "three";
import { Balls, Rods } from "studio/impostors";
import { Outline } from "studio/outline";
import { PLACES, Trail } from "studio/trail";

const COLOURS = ["#2463a8", "#b5402d", "#2a7d4f", "#8a5a9e", "#b07a12", "#2b8a94", "#a3487a", "#5d6b2f"];
/** More points than these are drawn small and leave no trail but the last one. */
const FEW = 12;
const ORIGIN = [0, 0, 0];

export class Figure {
  /** @param options span: size of the scene; colour: of everything; ghost: thin and pale; size: of the canvas;
   *  corners: of the outline at all times */
  constructor(root, { shape, values }, scene, { span, name, colour, ghost = false, size, corners }) {
    const { bars, solids, radii, faces } = scene;
    this.signature = signature(shape, scene, { name });
    this.outlined = corners;
    this.values = values;
    [, this.count] = shape;
    this.rows = shape[0];
    this.ghost = ghost;
    this.places = new Float32Array(3 * this.count);
    this.group = new THREE.Group();
    this.root = root;
    root.add(this.group);
    this.bars = bars;
    const solid = solids.length > 0;
    const many = this.count > FEW;
    this.radii = radii; // of spheres
    const tint = (k) => colour ?? COLOURS[k % COLOURS.length];
    const material = (options) =>
      new THREE.MeshLambertMaterial({ transparent: ghost, opacity: ghost ? 0.5 : 1, ...options });
    if (!solid) {
      const tints = Array.from({ length: this.count }, (_, k) => new THREE.Color(many ? tint(0) : tint(k)));
      this.balls = new Balls(tints, ghost ? 0.5 : 1);
      this.add(this.balls);
    }
    if (bars.length && !solid) {
      this.rods = new Rods(bars.length, new THREE.Color(colour ?? "#56616b"), ghost ? 0.5 : 1);
      this.add(this.rods);
    } else if (bars.length) {
      this.edges = new THREE.LineSegments(
        buffer(6 * bars.length),
        new THREE.LineBasicMaterial({ color: colour ?? "#3c464e", transparent: true, opacity: ghost ? 0.4 : 0.8 }),
      );
      this.add(this.edges);
    }
    if (bars.some((bar) => bar.includes(null)) && !ghost) {
      this.post = new THREE.Mesh(new THREE.BoxGeometry(1, 1, 1), material({ color: "#7d8790" }));
      this.post.scale.setScalar(1.5 * this.radius);
      this.add(this.post);
    }
    if (solid) {
      this.corners = solids.flat(2);
      this.bodies = this.faces(solids.map((faces, k) => [3 * faces.length, new THREE.Color(tint(k))]), material);
    }
    this.trails = [];
    const trailing = solid || ghost ? [] : many ? [this.count - 1] : [...Array(this.count).keys()];
    for (const k of trailing) {
      const line = new Trail(new THREE.Color(many ? tint(0) : tint(k)), size);
      this.trails.push({ point: k, line });
      this.add(line);
    }
    if (corners) this.outline = new Outline(this.group, faces, tint(0));
    this.size(span);
  }

  /** How large balls and bars are in a scene of this size. */
  size(span) {
    const many = this.count > FEW;
    this.radius = span * (this.ghost ? 0.007 : many ? 0.011 : 0.02);
    this.outline?.size(span);
    if (this.rods) this.rods.radius = span * (this.ghost ? 0.0015 : many ? 0.004 : 0.006);
    this.post?.scale.setScalar(1.5 * this.radius);
  }

  /** Whether a run can be drawn by what is there. */
  fits({ shape }, scene, options) {
    return this.signature === signature(shape, scene, options);
  }

  /** Another run of the same points: geometries and shaders are kept. */
  feed({ shape, values }, span, { radii }, corners) {
    this.radii = radii;
    this.outlined = corners;
    this.values = values;
    this.rows = shape[0];
    this.size(span);
    return this;
  }

  /** Room for the corners of the outline at one time. */
  cornersNow() {
    const size = this.outlined.length / this.rows;
    if (this.cornersRoom?.length !== size) this.cornersRoom = new Float32Array(size);
    return this.cornersRoom;
  }

  add(object) {
    object.frustumCulled = false; // positions change without the bounds being kept
    this.group.add(object);
  }

  /** The faces of all bodies as one mesh. @param list how many corners each body has, and its colour */
  faces(list, material) {
    const colours = new Float32Array(list.flatMap(([count, tint]) => Array(count).fill(tint.toArray()).flat()));
    const geometry = buffer(colours.length);
    geometry.setAttribute("color", new THREE.BufferAttribute(colours, 3));
    this.add(new THREE.Mesh(geometry, material({ vertexColors: true, flatShading: true })));
    return geometry.attributes.position;
  }

  /** The state between two rows. */
  show(row, part, times, trails) {
    const next = Math.min(row + 1, this.rows - 1);
    const here = Math.min(row, this.rows - 1);
    this.group.visible = row <= this.rows;
    between(this.values, here, next, part, this.places);
    this.draw();
    if (this.outline) this.outline.place(between(this.outlined, here, next, part, this.cornersNow()));
    for (const { point, line } of this.trails) {
      line.visible = trails;
      if (trails) this.drawTrail(point, line, here, times);
    }
  }

  /** Points that no run was computed for: where they are now, without trails. */
  place(values, corners) {
    this.places.set(values);
    this.draw();
    if (corners) this.outline?.place(corners);
    for (const { line } of this.trails) line.visible = false;
  }

  draw() {
    this.drawBalls();
    this.drawBars();
    if (this.bodies) {
      this.corners.forEach((corner, k) => this.copy(corner, this.bodies.array, 3 * k));
      this.bodies.needsUpdate = true;
    }
  }

  drawBalls() {
    if (!this.balls) return;
    const { places } = this;
    for (let k = 0; k < this.count; k++) {
      const radius = this.radii ? this.radii[k] : this.radius;
      this.balls.put("ball", k, places[3 * k], places[3 * k + 1], places[3 * k + 2], radius);
    }
    this.balls.moved();
  }

  drawBars() {
    if (this.edges) {
      const positions = this.edges.geometry.attributes.position;
      this.bars.forEach(([a, b], k) => {
        this.copy(a, positions.array, 6 * k);
        this.copy(b, positions.array, 6 * k + 3);
      });
      positions.needsUpdate = true;
    }
    if (!this.rods) return;
    this.bars.forEach(([a, b], k) => {
      this.rods.put("from", k, ...this.end(a));
      this.rods.put("to", k, ...this.end(b));
    });
    this.rods.moved();
  }

  drawTrail(point, line, row, times) {
    const span = (times[times.length - 1] - times[0]) / 6;
    let first = row;
    while (first > 0 && times[first] > times[row] - span) first--;
    for (let k = 0; k < PLACES - 1; k++) {
      const at = first + ((row - first) * k) / (PLACES - 2);
      const low = Math.floor(at);
      const high = Math.min(low + 1, this.rows - 1);
      const value = (j) => {
        const a = this.values[(low * this.count + point) * 3 + j];
        return a + (at - low) * (this.values[(high * this.count + point) * 3 + j] - a);
      };
      line.put(k, value(0), value(1), value(2));
    }
    line.put(PLACES - 1, ...this.places.subarray(3 * point, 3 * point + 3));
    line.moved();
  }

  copy(end, target, start) {
    for (let j = 0; j < 3; j++) target[start + j] = end === null ? 0 : this.places[3 * end + j];
  }

  end(k) {
    return k === null ? ORIGIN : this.places.subarray(3 * k, 3 * k + 3);
  }

  /** Spheres let the forces between them be seen. */
  see(through) {
    if (this.radii && this.balls) this.balls.opacity = through ? 0.3 : 1;
  }

  /** A point, in the coordinates of the system. */
  point(k) {
    return new THREE.Vector3().fromArray(this.places, 3 * k);
  }

  centre() {
    const sum = new THREE.Vector3();
    for (let k = 0; k < this.count; k++) sum.add(this.point(k));
    return sum.divideScalar(this.count);
  }

  dark(wanted) {
    this.outline?.dark(wanted);
    if (this.edges) this.edges.material.color.set(wanted ? "#aeb8c0" : "#3c464e");
    if (this.rods) this.rods.material.uniforms.glow.value = wanted ? 0.4 : 0;
  }

  dispose() {
    this.root.remove(this.group);
    this.group.traverse((object) => {
      object.geometry?.dispose();
      object.material?.dispose();
      if (object.isInstancedMesh) object.dispose();
    });
  }
}

function signature([, count], { bars, solids, faces }, { name }) {
  return JSON.stringify([name, count, bars, solids, faces]);
}

/** What lies between two rows of values. */
function between(values, here, next, part, into) {
  const size = into.length;
  for (let k = 0; k < size; k++) {
    const a = values[here * size + k];
    into[k] = a + part * (values[next * size + k] - a);
  }
  return into;
}

function buffer(size) {
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array(size), 3));
  return geometry;
}
