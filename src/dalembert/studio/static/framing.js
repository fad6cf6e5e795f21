/** From where a camera sees all of a motion, as large as it can be. */
import * as THREE from "three";

/** Places that are looked at of a motion. */
const MOST = 1200;
/** The room around the motion, as a part of the picture. */
const ROOM = 0.07;

/** Some of the places at which something is drawn, in the world. @param arrays of shape (times, points, 3) */
export function placesOf(arrays, root) {
  const found = [];
  for (const { shape, values } of arrays) {
    const count = values.length / 3;
    let every = Math.max(1, Math.ceil((count * arrays.length) / MOST));
    while (divisor(every, shape[1]) > 1) every++; // or the same points would be taken of all times
    for (let k = 0; k < count; k += every) found.push(new THREE.Vector3().fromArray(values, 3 * k));
  }
  for (const place of found) root.localToWorld(place);
  return found.filter((place) => Number.isFinite(place.x + place.y + place.z));
}

function divisor(a, b) {
  return b ? divisor(b, a % b) : a;
}

/**
 * The middle of what is seen along a direction, how far away a camera must be, and half of the width and height.
 *
 * With the axes of the camera, a place (x, y, z) around the middle is seen at x / (D + z), y / (D + z). D is the least
 * distance at which all of them are in the picture; then the middle is moved to the middle of what is seen.
 * @param slopes {across, upward} half of what is seen at the distance 1; null for parallel rays
 */
export function framed(places, centre, direction, up, slopes) {
  const forward = direction.clone().negate();
  const right = new THREE.Vector3().crossVectors(forward, up).normalize();
  const above = new THREE.Vector3().crossVectors(right, forward);
  const middle = centre.clone();
  let [distance, half] = [0, [0, 0]];
  for (let round = 0; round < 4; round++) {
    const seen = places.map((place) => {
      const from = place.clone().sub(middle);
      return [from.dot(right), from.dot(above), from.dot(forward)];
    });
    const size = Math.max(...seen.map(([x, y, z]) => Math.hypot(x, y, z)), 1e-9);
    if (slopes) {
      const { across, upward } = slopes;
      distance = Math.max(
        ...seen.map(([x, y, z]) => Math.max(Math.abs(x) / across, Math.abs(y) / upward) - z),
        ...seen.map(([, , z]) => 1.2 * size - z), // nothing comes near the eye
      );
    }
    const scale = seen.map(([x, y, z]) => (slopes ? [x / (distance + z), y / (distance + z)] : [x, y]));
    const ends = [0, 1].map((k) => [Math.min(...scale.map((at) => at[k])), Math.max(...scale.map((at) => at[k]))]);
    const unit = slopes ? distance : 1;
    middle.addScaledVector(right, (unit * (ends[0][0] + ends[0][1])) / 2);
    middle.addScaledVector(above, (unit * (ends[1][0] + ends[1][1])) / 2);
    half = ends.map(([low, high]) => ((high - low) / 2) * unit);
  }
  return { middle, distance, half };
}

/** How much of the picture the motion may fill, below the tools. @param {number} height of the picture in pixels */
export function roomIn(height, tools) {
  const top = Math.min(0.3, (tools + 8) / Math.max(1, height));
  return { across: 1 - 2 * ROOM, upward: 1 - top - 1.5 * ROOM, shift: (top - ROOM / 2) / 2 };
}
