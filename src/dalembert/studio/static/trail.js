/** A path that fades out: a ribbon as wide on the screen wherever it is seen from. */
import * as THREE from "three";

/** Places of a trail, and its width in pixels of the page. */
export const PLACES = 160;
const WIDTH = 2.2;

const CORNERS = `
attribute vec3 before; attribute vec3 after; attribute vec2 where;
uniform vec2 size; uniform float width;
varying float side; varying float age;
void main() {
  vec4 here = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
  vec4 a = projectionMatrix * modelViewMatrix * vec4(before, 1.0);
  vec4 b = projectionMatrix * modelViewMatrix * vec4(after, 1.0);
  vec2 along = size * (b.xy / b.w - a.xy / a.w);
  vec2 across = dot(along, along) > 1e-8 ? normalize(vec2(-along.y, along.x)) : vec2(0.0, 1.0);
  side = where.x;
  age = where.y;
  here.xy += (width + 1.0) * side * across / size * here.w;
  gl_Position = here;
}
`;
const PAINT = `
uniform vec3 tint; uniform float width;
varying float side; varying float age;
void main() {
  float far = abs(side) * (width + 1.0);
  gl_FragColor = vec4(tint, pow(age, 1.5) * (1.0 - smoothstep(width - 0.5, width + 0.5, far)));
  #include <colorspace_fragment>
}
`;

export class Trail extends THREE.Mesh {
  /** @param {THREE.Color} tint @param {THREE.Vector2} size of the canvas, in pixels of the page */
  constructor(tint, size) {
    const geometry = new THREE.BufferGeometry();
    // each place twice, for the two sides; the first and the last once more, as neighbours of the ends
    const places = new THREE.InterleavedBuffer(new Float32Array(6 * (PLACES + 2)), 3);
    const attribute = (first) => new THREE.InterleavedBufferAttribute(places, 3, 6 * first);
    geometry.setAttribute("before", attribute(0));
    geometry.setAttribute("position", attribute(1));
    geometry.setAttribute("after", attribute(2));
    const where = Array.from({ length: 2 * PLACES }, (_, k) => [k % 2 ? 1 : -1, Math.floor(k / 2) / (PLACES - 1)]);
    geometry.setAttribute("where", new THREE.Float32BufferAttribute(where.flat(), 2));
    const index = [];
    for (let k = 0; k < 2 * (PLACES - 1); k += 2) index.push(k, k + 1, k + 2, k + 2, k + 1, k + 3);
    geometry.setIndex(index);
    super(
      geometry,
      new THREE.ShaderMaterial({
        vertexShader: CORNERS,
        fragmentShader: PAINT,
        transparent: true,
        depthWrite: false,
        side: THREE.DoubleSide,
        uniforms: { tint: { value: tint }, size: { value: size }, width: { value: WIDTH / 2 } },
      }),
    );
    geometry.boundingSphere = new THREE.Sphere(); // three looks for one to sort by
    this.places = places;
    this.frustumCulled = false;
    this.renderOrder = 1;
  }

  /** Where it was, for number k of PLACES. */
  put(k, x, y, z) {
    const { array } = this.places;
    const write = (place) => {
      for (let corner = 6 * place; corner < 6 * place + 6; corner += 3) {
        array[corner] = x;
        array[corner + 1] = y;
        array[corner + 2] = z;
      }
    };
    write(k + 1);
    if (k === 0) write(0);
    if (k === PLACES - 1) write(k + 2);
  }

  moved() {
    this.places.needsUpdate = true;
  }
}
