/** One run in the scene: balls at its points, bars, solid bodies, trails. */
import * as THREE from "three";

const COLOURS = ["#2463a8", "#b5402d", "#2a7d4f", "#8a5a9e", "#b07a12", "#2b8a94", "#a3487a", "#5d6b2f"];
const TRAIL = 160;
/** More points than these are drawn small and leave no trail but the last one. */
const FEW = 12;
const MOST_ROUND_BARS = 400;
/** For the computation of a frame, which makes no objects. */
const [FROM, TO, AXIS, SCALE] = Array.from({ length: 4 }, () => new THREE.Vector3());
const [TURN, MATRIX, UP] = [new THREE.Quaternion(), new THREE.Matrix4(), new THREE.Vector3(0, 0, 1)];

export class Figure {
  /** @param options span: size of the scene; colour: of everything; ghost: thin and pale; coarse: few faces. */
  constructor(root, { shape, values }, { bars, solids, radii }, { span, name, colour, ghost = false, coarse = false }) {
    this.signature = signature(shape, { bars, solids }, { name });
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
    this.size(span);
    this.radii = radii; // of spheres
    const tint = (k) => colour ?? COLOURS[k % COLOURS.length];
    const material = (options) =>
      new THREE.MeshLambertMaterial({ transparent: ghost, opacity: ghost ? 0.5 : 1, ...options });
    if (!solid) {
      this.balls = new THREE.InstancedMesh(ball(many && (coarse || this.count > 200)), material({}), this.count);
      const paint = new THREE.Color();
      for (let k = 0; k < this.count; k++) this.balls.setColorAt(k, paint.set(many ? tint(0) : tint(k)));
      this.add(this.balls);
    }
    if (bars.length && !solid && bars.length <= MOST_ROUND_BARS) {
      const rod = new THREE.CylinderGeometry(1, 1, 1, many && coarse ? 5 : 10, 1, true).rotateX(Math.PI / 2);
      this.rods = new THREE.InstancedMesh(rod, material({ color: colour ?? "#56616b" }), bars.length);
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
    this.bodies = solids.map((faces, k) => this.body(faces, material({ color: tint(k), flatShading: true })));
    this.trails = [];
    const trailing = solid || ghost ? [] : many ? [this.count - 1] : [...Array(this.count).keys()];
    for (const k of trailing) this.trails.push({ point: k, line: this.trail(many ? tint(0) : tint(k)) });
  }

  /** How large balls and bars are in a scene of this size. */
  size(span) {
    const many = this.count > FEW;
    this.radius = span * (this.ghost ? 0.007 : many ? 0.011 : 0.02);
    this.bar = span * (this.ghost ? 0.0015 : many ? 0.004 : 0.006);
    this.post?.scale.setScalar(1.5 * this.radius);
  }

  /** Whether a run can be drawn by what is there. */
  fits({ shape }, scene, options) {
    return this.signature === signature(shape, scene, options);
  }

  /** Another run of the same points: geometries and shaders are kept. */
  feed({ shape, values }, span, { radii }) {
    this.radii = radii;
    this.values = values;
    this.rows = shape[0];
    this.size(span);
    return this;
  }

  add(object) {
    object.frustumCulled = false; // positions change without the bounds being kept
    this.group.add(object);
  }

  body(faces, material) {
    const geometry = buffer(9 * faces.length);
    geometry.setAttribute("normal", new THREE.BufferAttribute(new Float32Array(9 * faces.length), 3));
    this.add(new THREE.Mesh(geometry, material));
    return { faces, geometry };
  }

  trail(colour) {
    const geometry = buffer(3 * TRAIL);
    const paint = new THREE.Color(colour);
    const colours = new Float32Array(4 * TRAIL);
    for (let k = 0; k < TRAIL; k++) colours.set([paint.r, paint.g, paint.b, (k / (TRAIL - 1)) ** 1.5], 4 * k);
    geometry.setAttribute("color", new THREE.BufferAttribute(colours, 4));
    const line = new THREE.Line(geometry, new THREE.LineBasicMaterial({ vertexColors: true, transparent: true }));
    this.add(line);
    return line;
  }

  /** The state between two rows. */
  show(row, part, times, trails) {
    const next = Math.min(row + 1, this.rows - 1);
    const here = Math.min(row, this.rows - 1);
    this.group.visible = row <= this.rows;
    const size = this.places.length;
    for (let k = 0; k < size; k++) {
      const a = this.values[here * size + k];
      this.places[k] = a + part * (this.values[next * size + k] - a);
    }
    this.draw();
    for (const { point, line } of this.trails) {
      line.visible = trails;
      if (trails) this.drawTrail(point, line, here, times);
    }
  }

  /** Points that no run was computed for: where they are now, without trails. */
  place(values) {
    this.places.set(values);
    this.draw();
    for (const { line } of this.trails) line.visible = false;
  }

  draw() {
    this.drawBalls();
    this.drawBars();
    for (const body of this.bodies) this.drawBody(body);
  }

  drawBalls() {
    if (!this.balls) return;
    const matrices = this.balls.instanceMatrix.array;
    for (let k = 0; k < this.count; k++) {
      const radius = this.radii ? this.radii[k] : this.radius;
      for (let j = 0; j < 3; j++) {
        matrices[16 * k + 5 * j] = radius;
        matrices[16 * k + 12 + j] = this.places[3 * k + j];
      }
    }
    this.balls.instanceMatrix.needsUpdate = true;
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
    for (let k = 0; k < this.bars.length; k++) {
      this.end(this.bars[k][0], FROM);
      this.end(this.bars[k][1], TO);
      AXIS.subVectors(TO, FROM);
      const length = AXIS.length();
      TURN.setFromUnitVectors(UP, AXIS.divideScalar(length || 1));
      MATRIX.compose(FROM.add(TO).multiplyScalar(0.5), TURN, SCALE.set(this.bar, this.bar, length || 1e-12));
      this.rods.setMatrixAt(k, MATRIX);
    }
    this.rods.instanceMatrix.needsUpdate = true;
  }

  drawBody({ faces, geometry }) {
    const positions = geometry.attributes.position;
    faces.forEach((face, k) => face.forEach((corner, j) => this.copy(corner, positions.array, 9 * k + 3 * j)));
    positions.needsUpdate = true;
  }

  drawTrail(point, line, row, times) {
    const span = (times[times.length - 1] - times[0]) / 6;
    const positions = line.geometry.attributes.position.array;
    let first = row;
    while (first > 0 && times[first] > times[row] - span) first--;
    for (let k = 0; k < TRAIL - 1; k++) {
      const at = first + ((row - first) * k) / (TRAIL - 2);
      const low = Math.floor(at);
      const high = Math.min(low + 1, this.rows - 1);
      for (let j = 0; j < 3; j++) {
        const a = this.values[(low * this.count + point) * 3 + j];
        positions[3 * k + j] = a + (at - low) * (this.values[(high * this.count + point) * 3 + j] - a);
      }
    }
    this.copy(point, positions, 3 * (TRAIL - 1));
    line.geometry.attributes.position.needsUpdate = true;
  }

  copy(end, target, start) {
    for (let j = 0; j < 3; j++) target[start + j] = end === null ? 0 : this.places[3 * end + j];
  }

  end(k, vector) {
    return k === null ? vector.set(0, 0, 0) : vector.fromArray(this.places, 3 * k);
  }

  /** Spheres let the forces between them be seen. */
  see(through) {
    if (!this.radii || !this.balls || this.balls.material.transparent === through) return;
    Object.assign(this.balls.material, { transparent: through, opacity: through ? 0.3 : 1, depthWrite: !through });
    this.balls.material.needsUpdate = true;
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
    if (this.edges) this.edges.material.color.set(wanted ? "#aeb8c0" : "#3c464e");
    if (this.rods) this.rods.material.emissive.set(wanted ? "#30363b" : "#000000");
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

function signature([, count], { bars, solids }, { name }) {
  return JSON.stringify([name, count, bars, solids]);
}

function ball(coarse) {
  return coarse ? new THREE.IcosahedronGeometry(1, 1) : new THREE.SphereGeometry(1, 20, 14);
}

function buffer(size) {
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array(size), 3));
  return geometry;
}
