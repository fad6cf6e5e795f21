/** The motion in space: points, bars, bodies, trails and a grid, drawn by three.js. */
import * as THREE from "three";
import { OrbitControls } from "three-orbit";
import { Arrows } from "studio/arrows";
import { place, words } from "studio/data";
import { Figure } from "studio/figure";
import { framed, placesOf, roomIn } from "studio/framing";
import { SKY, SUN } from "studio/impostors";
import { Sharpness } from "studio/sharpness";

const BESIDE = "#c2410c";
const FAN = "#7c8a97";

export class Scene {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    // edges are smoothed by more pixels: whether there are plenty of them is known only when the context is there
    this.renderer = new THREE.WebGLRenderer({ canvas, antialias: false });
    const slow = drawnByProcessor(this.renderer.getContext());
    this.size = new THREE.Vector2(1, 1); // of the canvas, in pixels of the page
    this.sharpness = new Sharpness(window.devicePixelRatio, slow, (ratio, resting) => {
      this.renderer.setPixelRatio(ratio);
      if (resting) this.draw();
    });
    this.playing = () => false;
    this.renderer.setPixelRatio(this.sharpness.ratio);
    this.world = new THREE.Scene();
    this.root = new THREE.Group(); // turns the system's upward direction to z
    this.world.add(this.root);
    const sky = new THREE.HemisphereLight(SKY.above, SKY.below, SKY.strength);
    sky.position.set(0, 0, 1);
    const sun = new THREE.DirectionalLight(0xffffff, SUN.strength);
    sun.position.copy(SUN.from);
    this.world.add(sky, sun);
    this.perspective = new THREE.PerspectiveCamera(40, 1, 0.01, 1000);
    this.orthographic = new THREE.OrthographicCamera(-1, 1, 1, -1, 0.01, 1000);
    for (const camera of [this.perspective, this.orthographic]) camera.up.set(0, 0, 1);
    this.camera = this.perspective;
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.addEventListener("change", () => this.ask());
    this.controls.zoomToCursor = true;
    this.figures = [];
    this.trails = true;
    this.forces = { contacts: false, reactions: false };
    this.lengthening = 1;
    this.followed = false;
    this.kind = "";
    this.now = 0;
    this.asked = false;
    this.afterwards = [];
    new ResizeObserver(() => this.resize()).observe(canvas.parentElement);
    this.dark(matchMedia("(prefers-color-scheme: dark)").matches);
    this.resize();
  }

  /** Take the points of a message; the view stays where it is unless the system is another one. */
  take({ header, arrays }) {
    const before = this.figures;
    this.figures = [];
    this.times = arrays.t.values;
    if (!header.scene) {
      for (const figure of before) figure.dispose();
      return false;
    }
    const { flat, up } = header.scene;
    this.flat = flat;
    this.root.quaternion.setFromUnitVectors(new THREE.Vector3(...up), new THREE.Vector3(0, 0, 1));
    this.seen = [arrays.points];
    if (arrays["outline points"]) this.seen.push(arrays["outline points"]);
    const fixed = { shape: [1, 1, 3], values: new Float32Array(3) };
    if (header.scene.bars.some((bar) => bar.includes(null))) this.seen.push(fixed);
    const [low, high] = extent(this.seen);
    this.box = new THREE.Box3(new THREE.Vector3(...low), new THREE.Vector3(...high)).applyMatrix4(
      new THREE.Matrix4().makeRotationFromQuaternion(this.root.quaternion),
    );
    const size = this.box.getSize(new THREE.Vector3());
    const span = Math.max(size.x, size.y, size.z) || 1;
    const add = (name, options) => {
      const given = { span, name, size: this.size, ...options };
      const kept = before.findIndex((figure) => figure.fits(arrays[name], header.scene, given));
      const corners = arrays[`outline ${name}`]?.values;
      if (kept >= 0) this.figures.push(before.splice(kept, 1)[0].feed(arrays[name], span, header.scene, corners));
      else this.figures.push(new Figure(this.root, arrays[name], header.scene, { ...given, corners }));
    };
    for (let k = 0; k < header.fan; k++) add(`fan ${k}`, { colour: FAN, ghost: true });
    if (arrays.beside) add("beside", { colour: BESIDE });
    add("points", {});
    this.main = this.figures[this.figures.length - 1];
    for (const figure of before) figure.dispose();
    if (!header.forces) {
      this.arrows?.dispose();
      this.arrows = null;
    } else if (!this.arrows?.feed(arrays, header.forces, span)) {
      this.arrows?.dispose();
      this.arrows = new Arrows(this.root, arrays, header.forces, span);
    }
    const kind = `${flat} ${arrays.points.shape[1]} ${up}`;
    for (const edge of ["side", "top"]) document.getElementById(`look-${edge}`).disabled = flat; // seen from its edge
    if (kind !== this.kind || span > 1.6 * this.span || span < 0.5 * this.span) {
      this.kind = kind;
      this.span = span;
      this.grid();
      this.look("all");
    }
    this.show(this.now);
    return true;
  }

  /** Draw the state at a time. */
  show(now) {
    this.now = now;
    if (!this.figures.length) return;
    if (this.string) this.string.visible = false;
    const [row, part] = place(this.times, now);
    for (const figure of this.figures) figure.show(row, part, this.times, this.trails);
    this.showForces(row);
    if (this.followed) this.keepUp();
    this.ask();
  }

  showForces(row) {
    this.main.see(this.forces.contacts && Boolean(this.arrows?.chains));
    if (!this.arrows) return;
    this.arrows.group.visible = true;
    this.arrows.factor = this.lengthening;
    this.canvas.dataset.arrows = this.arrows.show(row, this.main.places, this.forces);
  }

  /** Draw points where they are, and a string from the one that is held to the place it is drawn to. */
  place(values, corners, held, to) {
    this.main.place(values, corners);
    for (const figure of this.figures) figure.group.visible = figure === this.main;
    if (this.arrows) this.arrows.group.visible = false; // nobody knows them of this moment
    this.string ??= this.thread();
    this.string.visible = held !== null && Boolean(to);
    if (this.string.visible) {
      const ends = this.string.geometry.attributes.position;
      const place = this.flat ? [to[0], 0, to[1]] : to;
      ends.array.set([...this.main.point(held).toArray(), ...place]);
      ends.needsUpdate = true;
    }
    if (this.followed) this.keepUp();
    this.ask();
  }

  thread() {
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array(6), 3));
    const line = new THREE.Line(geometry, new THREE.LineBasicMaterial({ color: BESIDE }));
    line.frustumCulled = false;
    this.root.add(line);
    return line;
  }

  /** The centre of the points is kept in the middle. */
  keepUp() {
    const centre = this.root.localToWorld(this.main.centre());
    const shift = centre.sub(this.controls.target);
    this.controls.target.add(shift);
    this.camera.position.add(shift);
  }

  /** Draw once in the next frame, however often it is asked for. @param {() => void} [then] called when it is drawn */
  ask(then) {
    if (then) this.afterwards.push(then);
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame((now) => {
      this.asked = false;
      this.sharpness.frame(now, this.playing());
      this.draw();
      for (const each of this.afterwards.splice(0)) each();
    });
  }

  draw() {
    this.renderer.render(this.world, this.camera);
  }

  /** The camera in front, at a side, above, or where everything is seen. */
  look(from) {
    if (!this.box) return;
    const centre = this.box.getCenter(new THREE.Vector3());
    const size = this.box.getSize(new THREE.Vector3());
    const radius = 0.5 * Math.max(size.length(), 1e-9);
    const straight = this.flat || from !== "all";
    const directions = {
      front: [0, -1, 0],
      side: [1, 0, 0],
      top: [0, -1e-4, 1],
      all: this.flat ? [0, -1, 0] : [0.75, -1, 0.45],
    };
    const direction = new THREE.Vector3(...directions[from]).normalize();
    this.camera = straight ? this.orthographic : this.perspective;
    this.radius = radius;
    this.resize(); // how much room there is
    const angle = (this.perspective.fov / 2) * (Math.PI / 180);
    const slopes = straight
      ? null
      : { across: Math.tan(angle) * this.aspect() * this.room.across, upward: Math.tan(angle) * this.room.upward };
    const places = placesOf(this.seen, this.root);
    const { middle, distance, half } = framed(places, centre, direction, this.camera.up, slopes);
    this.half = half;
    this.camera.near = 0.01 * radius;
    this.camera.far = 100 * radius;
    this.camera.position.copy(middle).addScaledVector(direction, straight ? 6 * radius : distance);
    this.camera.zoom = 1;
    this.controls.object = this.camera;
    this.controls.target.copy(middle);
    this.resize();
    this.controls.update();
    this.ask();
  }

  aspect() {
    return this.canvas.parentElement.clientWidth / Math.max(1, this.canvas.parentElement.clientHeight);
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.canvas.parentElement;
    if (!width || !height) return;
    this.renderer.setSize(width, height, false);
    this.size.set(width, height);
    const tools = this.canvas.parentElement.querySelector(".toolbars");
    this.room = roomIn(height, tools ? tools.offsetHeight + tools.offsetTop : 0);
    for (const camera of [this.perspective, this.orthographic])
      camera.setViewOffset(width, height, 0, -this.room.shift * height, width, height);
    this.perspective.aspect = width / height;
    this.perspective.updateProjectionMatrix();
    const [across, upward] = (this.half ?? [1, 1]).map((x) => Math.max(x, 0.02 * (this.radius ?? 1)));
    const tall = Math.max(upward / this.room.upward, across / this.room.across / (width / height));
    Object.assign(this.orthographic, { top: tall, bottom: -tall });
    Object.assign(this.orthographic, { left: (-tall * width) / height, right: (tall * width) / height });
    this.orthographic.updateProjectionMatrix();
    this.ask();
  }

  /** A grid on the floor, of a flat motion behind it; its cells have a round length. */
  grid() {
    if (this.lines) this.world.remove(this.lines);
    this.cell = round(this.span / 8);
    const count = 2 * Math.ceil((1.6 * this.span) / this.cell / 2);
    this.lines = new THREE.GridHelper(count * this.cell, count);
    this.lines.material.vertexColors = false;
    this.lines.material.transparent = true;
    const centre = this.box.getCenter(new THREE.Vector3());
    const snap = (x) => Math.round(x / this.cell) * this.cell;
    if (this.flat) this.lines.position.set(snap(centre.x), 0.3 * this.span, snap(centre.z));
    else {
      this.lines.rotation.x = Math.PI / 2;
      this.lines.position.set(snap(centre.x), snap(centre.y), this.box.min.z - 0.02 * this.span);
    }
    this.world.add(this.lines);
    this.dark(this.isDark);
    this.canvas.dataset.cell = words(this.cell);
  }

  dark(wanted) {
    this.isDark = wanted;
    this.world.background = new THREE.Color(wanted ? "#14181c" : "#f7f8f9");
    if (this.lines) {
      this.lines.material.color.set(wanted ? "#3a434b" : "#ccd3d9");
      this.lines.material.opacity = wanted ? 0.7 : 0.9;
    }
    for (const figure of this.figures) figure.dark(wanted);
    this.ask();
  }

  /** The point that is drawn nearest to a place on the canvas, within some pixels. */
  pointNear(x, y, reach = 24) {
    if (!this.main) return null;
    let best = null;
    for (let k = 0; k < this.main.count; k++) {
      const seen = this.toScreen(k);
      const far = Math.hypot(seen.x - x, seen.y - y);
      if (far < reach && (!best || far < best.far)) best = { point: k, far };
    }
    return best && best.point;
  }

  /** Where a point is drawn, in pixels of the canvas. */
  toScreen(k) {
    const seen = this.root.localToWorld(this.main.point(k)).project(this.camera);
    const { clientWidth: width, clientHeight: height } = this.canvas;
    return { x: ((seen.x + 1) / 2) * width, y: ((1 - seen.y) / 2) * height };
  }

  /** The place under the pointer, as far away as a point is, in the coordinates of the system. */
  under(x, y, k) {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const pointer = new THREE.Vector2((2 * x) / width - 1, 1 - (2 * y) / height);
    const ray = new THREE.Raycaster();
    ray.setFromCamera(pointer, this.camera);
    const normal = this.camera.getWorldDirection(new THREE.Vector3());
    const plane = new THREE.Plane().setFromNormalAndCoplanarPoint(
      normal,
      this.root.localToWorld(this.main.point(k)),
    );
    const hit = ray.ray.intersectPlane(plane, new THREE.Vector3());
    if (!hit) return null;
    const local = this.root.worldToLocal(hit);
    return this.flat ? [local.x, local.z] : local.toArray();
  }
}

/** Whether there is no GPU: then every pixel costs. */
function drawnByProcessor(context) {
  const known = context.getExtension("WEBGL_debug_renderer_info");
  const name = known ? context.getParameter(known.UNMASKED_RENDERER_WEBGL) : "";
  return /swiftshader|llvmpipe|software/i.test(name);
}

/** The box around all points at all times. */
function extent(arrays) {
  const low = [Infinity, Infinity, Infinity];
  const high = [-Infinity, -Infinity, -Infinity];
  const include = (k, x) => {
    if (x < low[k]) low[k] = x;
    if (x > high[k]) high[k] = x;
  };
  for (const { values } of arrays)
    for (let i = 0; i < values.length; i++) if (Number.isFinite(values[i])) include(i % 3, values[i]);
  const span = Math.max(...high.map((x, k) => x - low[k])) || 1;
  for (let k = 0; k < 3; k++)
    if (high[k] - low[k] < 0.02 * span) {
      low[k] -= 0.01 * span;
      high[k] += 0.01 * span;
    }
  return [low, high];
}

/** 1, 2 or 5 times a power of ten. */
function round(x) {
  const power = 10 ** Math.floor(Math.log10(x));
  return (x / power < 1.5 ? 1 : x / power < 3.5 ? 2 : x / power < 7.5 ? 5 : 10) * power;
}
