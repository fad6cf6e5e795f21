/** Forces: arrows at points and places, and between spheres rods that are the thicker the more they carry. */
import * as THREE from "three";

const CONTACT = new THREE.Color("#c1121f");
const REACTION = new THREE.Color("#7b3fa0");
/** From weak to strong: what carries stands out from what merely touches. */
const WEAK = new THREE.Color("#f2c14e");
const STRONG = new THREE.Color("#9d0208");
const HELD = 1;
const CHAIN = 2;
/** The usual force is an arrow of this part of the scene, the longest one is so many times as long. */
const USUAL = 0.16;
const LONGEST = 3;

export class Arrows {
  /** @param root where they are drawn @param arrays of a message @param header {usual} @param span of the scene */
  constructor(root, arrays, header, span) {
    this.root = root;
    this.most = Infinity;
    this.feed(arrays, header, span);
    this.most = Math.max(1, largestStep(this.starts));
    this.factor = 1;
    this.group = new THREE.Group();
    this.shafts = this.instances(new THREE.CylinderGeometry(1, 1, 1, 8).rotateX(Math.PI / 2).translate(0, 0, 0.5));
    this.heads = this.instances(new THREE.ConeGeometry(1, 1, 10).rotateX(Math.PI / 2).translate(0, 0, 0.5));
    root.add(this.group);
    this.scratch = {
      from: new THREE.Vector3(), along: new THREE.Vector3(), turn: new THREE.Quaternion(), scale: new THREE.Vector3(),
      matrix: new THREE.Matrix4(), colour: new THREE.Color(), up: new THREE.Vector3(0, 0, 1),
    };
  }

  /** The forces of another run; false where there are more than there is room for. */
  feed(arrays, { usual }, span) {
    const starts = arrays["force starts"].values;
    if (largestStep(starts) > this.most) return false;
    this.starts = starts;
    this.points = arrays["force points"].values;
    this.places = arrays["force places"].values;
    this.vectors = arrays["force vectors"].values;
    this.kinds = arrays["force kinds"].values;
    this.chains = this.kinds.includes(CHAIN);
    this.usual = usual || 1;
    this.span = span;
    return true;
  }

  instances(geometry) {
    const material = new THREE.MeshLambertMaterial();
    const made = new THREE.InstancedMesh(geometry, material, this.most);
    made.setColorAt(0, REACTION); // makes the array of colours
    made.frustumCulled = false;
    this.group.add(made);
    return made;
  }

  /** The forces of a row, at the points where they are now. @returns how many are drawn */
  show(row, points, { contacts, reactions }) {
    const here = Math.min(row, this.starts.length - 2);
    const { from, along, turn, scale, matrix, up } = this.scratch;
    const thick = 0.0085 * this.span;
    let shafts = 0;
    let heads = 0;
    for (let k = this.starts[here]; k < this.starts[here + 1]; k++) {
      const at = this.points[k];
      if (!(this.kinds[k] === HELD ? reactions : contacts)) continue;
      const chain = this.kinds[k] === CHAIN;
      along.fromArray(this.vectors, 3 * k);
      const size = along.length();
      if (chain || at < 0) from.fromArray(this.places, 3 * k);
      else from.fromArray(points, 3 * at);
      if (chain) along.fromArray(points, 3 * at).sub(from);
      const length = chain ? along.length() : this.length(size);
      if (!(length > 0)) continue;
      turn.setFromUnitVectors(up, along.divideScalar(along.length()));
      const width = chain ? this.width(size) : thick;
      const head = chain ? 0 : Math.min(5 * thick, 0.5 * length);
      const colour = this.colour(this.kinds[k], size);
      matrix.compose(from, turn, scale.set(width, width, length - head));
      this.shafts.setMatrixAt(shafts, matrix);
      this.shafts.setColorAt(shafts++, colour);
      if (!head) continue;
      matrix.compose(from.addScaledVector(along, length - head), turn, scale.set(0.45 * head, 0.45 * head, head));
      this.heads.setMatrixAt(heads, matrix);
      this.heads.setColorAt(heads++, colour);
    }
    this.shafts.count = shafts;
    this.heads.count = heads;
    for (const made of [this.shafts, this.heads]) {
      made.instanceMatrix.needsUpdate = true;
      made.instanceColor.needsUpdate = true;
    }
    return shafts;
  }

  length(size) {
    return this.span * USUAL * this.factor * Math.min(size / this.usual, LONGEST);
  }

  /** Of a rod that carries a force: its section grows with it. */
  width(size) {
    return 0.012 * this.span * this.factor * Math.sqrt(Math.min(size / this.usual, LONGEST));
  }

  colour(kind, size) {
    if (kind !== CHAIN) return kind === 0 ? CONTACT : REACTION;
    return this.scratch.colour.lerpColors(WEAK, STRONG, Math.min(1, size / (1.5 * this.usual)));
  }

  dispose() {
    this.root.remove(this.group);
    for (const made of [this.shafts, this.heads]) {
      made.geometry.dispose();
      made.material.dispose();
      made.dispose();
    }
  }
}

function largestStep(starts) {
  let most = 0;
  for (let k = 1; k < starts.length; k++) most = Math.max(most, starts[k] - starts[k - 1]);
  return most;
}
