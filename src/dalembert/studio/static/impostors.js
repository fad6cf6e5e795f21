/**
 * Balls and rods as rectangles that face the viewer, on which the light of a ball or a rod is painted.
 *
 * A ball of triangles costs hundreds of corners, which dominate a frame where the processor draws; a rectangle has four,
 * its silhouette is exact, and its edge is smoothed. Depth is that of the ball itself, so that balls may touch.
 */
import * as THREE from "three";

/** The light of the scene: from the sky, from the ground, and from a sun. */
export const SKY = { above: new THREE.Color("#ffffff"), below: new THREE.Color("#8890a0"), strength: 2.2 };
export const SUN = { from: new THREE.Vector3(3, -5, 8), strength: 1.6 };

const LIGHT = `
uniform vec3 above; uniform vec3 below; uniform vec3 sun; uniform float opacity; uniform float glow;
varying vec3 paint;
vec3 lit(vec3 normal) {
  vec3 up = normalize((viewMatrix * vec4(0.0, 0.0, 1.0, 0.0)).xyz);
  vec3 towards = normalize((viewMatrix * vec4(sun, 0.0)).xyz);
  vec3 sky = mix(below, above, 0.5 * dot(normal, up) + 0.5) * ${SKY.strength.toFixed(3)};
  return paint * (0.31831 * (sky + ${SUN.strength.toFixed(3)} * max(dot(normal, towards), 0.0)) + glow);
}
`;

const BALL_CORNERS = `
attribute vec4 ball; attribute vec3 tint;
varying vec2 across; varying vec3 centre; varying float radius; varying vec3 paint;
void main() {
  paint = tint;
  across = position.xy;
  radius = ball.w;
  centre = (modelViewMatrix * vec4(ball.xyz, 1.0)).xyz;
  gl_Position = projectionMatrix * vec4(centre + vec3(1.02 * radius * across, 0.0), 1.0);
}
`;
const BALL_PAINT = `
${LIGHT}
uniform mat4 projectionMatrix;
varying vec2 across; varying vec3 centre; varying float radius;
void main() {
  vec2 place = 1.02 * across;
  float far = length(place);
  float smooth_ = fwidth(far);
  float part = 1.0 - smoothstep(1.0 - smooth_, 1.0 + 0.25 * smooth_, far);
  if (part <= 0.0) discard;
  vec3 normal = vec3(place, sqrt(max(0.0, 1.0 - far * far)));
  vec4 seen = projectionMatrix * vec4(centre + radius * normal, 1.0);
  gl_FragDepth = 0.5 * seen.z / seen.w + 0.5;
  gl_FragColor = vec4(lit(normal), opacity * part);
  #include <colorspace_fragment>
}
`;
const ROD_CORNERS = `
attribute vec3 from; attribute vec3 to;
uniform float radius; uniform vec3 tint;
varying float side; varying vec3 across; varying vec3 front; varying vec3 paint;
void main() {
  paint = tint;
  vec3 a = (modelViewMatrix * vec4(from, 1.0)).xyz;
  vec3 b = (modelViewMatrix * vec4(to, 1.0)).xyz;
  vec3 here = mix(a, b, position.y);
  vec3 towards = projectionMatrix[3][3] == 1.0 ? vec3(0.0, 0.0, 1.0) : normalize(-here);
  vec3 along = normalize(b - a + vec3(1e-12, 0.0, 0.0));
  vec3 crossing = cross(along, towards);
  across = length(crossing) > 1e-6 ? normalize(crossing) : vec3(1.0, 0.0, 0.0);
  front = cross(across, along);
  side = position.x;
  gl_Position = projectionMatrix * vec4(here + 1.1 * radius * side * across, 1.0);
}
`;
const ROD_PAINT = `
${LIGHT}
varying float side; varying vec3 across; varying vec3 front;
void main() {
  float far = 1.1 * abs(side);
  float smooth_ = fwidth(far);
  float part = 1.0 - smoothstep(1.0 - 0.5 * smooth_, 1.0 + 0.5 * smooth_, far);
  if (part <= 0.0) discard;
  vec3 normal = 1.1 * side * across + sqrt(max(0.0, 1.0 - far * far)) * front;
  gl_FragColor = vec4(lit(normalize(normal)), opacity * part);
  #include <colorspace_fragment>
}
`;

/**
 * Many rectangles as one mesh. Not as instances of one: without a GPU, every instance costs as much as a draw call.
 */
class Rectangles extends THREE.Mesh {
  /** @param corners of one of them, x and y @param moving attributes and how many numbers each has */
  constructor(count, corners, { vertexShader, fragmentShader, opacity, uniforms }, moving) {
    const geometry = new THREE.BufferGeometry();
    const position = new Float32Array(12 * count);
    const index = new Uint32Array(6 * count);
    for (let k = 0; k < count; k++) {
      corners.forEach(([x, y], corner) => position.set([x, y, 0], 12 * k + 3 * corner));
      [0, 1, 2, 2, 1, 3].forEach((corner, j) => (index[6 * k + j] = 4 * k + corner));
    }
    geometry.setAttribute("position", new THREE.BufferAttribute(position, 3));
    geometry.setIndex(new THREE.BufferAttribute(index, 1));
    for (const [name, size] of Object.entries(moving))
      geometry.setAttribute(name, new THREE.BufferAttribute(new Float32Array(4 * size * count), size));
    geometry.boundingSphere = new THREE.Sphere(); // three looks for one to sort by
    const material = new THREE.ShaderMaterial({
      vertexShader,
      fragmentShader,
      transparent: true, // edges fade out
      side: THREE.DoubleSide,
      uniforms: {
        above: { value: SKY.above },
        below: { value: SKY.below },
        sun: { value: SUN.from },
        opacity: { value: opacity },
        glow: { value: 0 },
        ...uniforms,
      },
    });
    super(geometry, material);
    this.frustumCulled = false;
    this.moving = Object.keys(moving);
  }

  /** Numbers for all corners of rectangle k. */
  put(name, k, ...numbers) {
    const { array } = this.geometry.attributes[name];
    const size = numbers.length;
    for (let corner = 4 * k; corner < 4 * k + 4; corner++)
      for (let j = 0; j < size; j++) array[size * corner + j] = numbers[j];
  }

  /** What was put is drawn in the next frame. */
  moved() {
    for (const name of this.moving) this.geometry.attributes[name].needsUpdate = true;
  }

  /** How much of it is seen through; what is pale hides nothing. */
  set opacity(value) {
    this.material.uniforms.opacity.value = value;
    this.material.depthWrite = value > 0.4;
  }
}

/** Balls: "ball" is x, y, z and the radius. */
export class Balls extends Rectangles {
  /** @param {THREE.Color[]} tints */
  constructor(tints, opacity) {
    const square = [[-1, -1], [1, -1], [-1, 1], [1, 1]];
    const drawn = { vertexShader: BALL_CORNERS, fragmentShader: BALL_PAINT, opacity, uniforms: {} };
    super(tints.length, square, drawn, { ball: 4, tint: 3 });
    tints.forEach((tint, k) => this.put("tint", k, ...tint.toArray()));
    this.moving = ["ball"]; // colours stay
    this.renderOrder = 3;
  }
}

/** Rods of one thickness and colour: "from" and "to" are the ends. */
export class Rods extends Rectangles {
  constructor(count, tint, opacity) {
    const square = [[-1, 0], [1, 0], [-1, 1], [1, 1]];
    const uniforms = { radius: { value: 1 }, tint: { value: tint } };
    super(count, square, { vertexShader: ROD_CORNERS, fragmentShader: ROD_PAINT, opacity, uniforms }, { from: 3, to: 3 });
    this.renderOrder = 2;
  }

  set radius(value) {
    this.material.uniforms.radius.value = value;
  }
}
