/** Scene, time and plots together: what the studio shows and what an exported page plays. */
import { words } from "studio/data";
import { Player } from "studio/player";
import { Plots } from "studio/plots";
import { Scene } from "studio/scene";

const element = (id) => document.getElementById(id);

export class View {
  constructor() {
    const list = JSON.parse(element("plots").textContent);
    this.player = new Player((now) => this.show(now));
    this.plots = new Plots(element("curves"), list, (time) => {
      this.player.pause();
      this.player.go(time);
    });
    this.isDark = matchMedia("(prefers-color-scheme: dark)").matches;
    try {
      this.scene = new Scene(element("scene"));
      this.scene.playing = () => this.player.playing;
    } catch (reason) {
      this.noScene(`The scene needs WebGL, which this browser does not offer: ${reason.message}`);
    }
    this.buttons();
    this.dark(this.isDark);
  }

  buttons() {
    for (const from of ["front", "side", "top", "all"])
      element(`look-${from}`).addEventListener("click", () => this.scene?.look(from));
    const toggle = (id, change) =>
      element(id).addEventListener("click", () => {
        const pressed = element(id).getAttribute("aria-pressed") !== "true";
        element(id).setAttribute("aria-pressed", String(pressed));
        change(pressed);
      });
    toggle("follow", (wanted) => {
      if (!this.scene) return;
      this.scene.followed = wanted;
      this.scene.show(this.player.now);
    });
    toggle("trails", (wanted) => {
      if (!this.scene) return;
      this.scene.trails = wanted;
      this.scene.show(this.player.now);
    });
    for (const kind of ["contacts", "reactions"]) toggle(kind, (wanted) => this.showForces(kind, wanted));
    element("force-scale").addEventListener("input", () => {
      if (!this.scene) return;
      this.scene.lengthening = 10 ** Number(element("force-scale").value);
      this.scene.show(this.player.now);
    });
    toggle("dark", (wanted) => this.dark(wanted));
    element("dark").setAttribute("aria-pressed", String(this.isDark));
    element("scene").addEventListener("keydown", (event) => this.turn(event));
  }

  /** Whether forces of a kind are drawn; `askForces` asks the studio for those of the run that is shown. */
  showForces(kind, wanted) {
    if (!this.scene) return;
    element(kind).setAttribute("aria-pressed", String(wanted));
    this.scene.forces[kind] = wanted;
    element("force-scale").hidden = !(this.scene.forces.contacts || this.scene.forces.reactions);
    this.scene.show(this.player.now);
    if (wanted && !this.header?.forces?.[kind]) this.askForces?.();
  }

  /** Arrow keys turn the scene, plus and minus zoom. */
  turn(event) {
    const { scene } = this;
    if (!scene || event.ctrlKey || event.metaKey || event.altKey) return;
    const offset = scene.camera.position.clone().sub(scene.controls.target);
    const z = scene.camera.up;
    if (event.key === "ArrowLeft" || event.key === "ArrowRight")
      offset.applyAxisAngle(z, event.key === "ArrowLeft" ? 0.1 : -0.1);
    else if (event.key === "ArrowUp" || event.key === "ArrowDown")
      offset.applyAxisAngle(offset.clone().cross(z).normalize(), event.key === "ArrowUp" ? 0.1 : -0.1);
    else if (event.key === "+" || event.key === "-") {
      const factor = event.key === "+" ? 1.1 : 1 / 1.1;
      if (scene.camera.isOrthographicCamera) scene.camera.zoom *= factor;
      else offset.divideScalar(factor);
      scene.camera.updateProjectionMatrix();
    } else return;
    scene.camera.position.copy(scene.controls.target).add(offset);
    scene.controls.update();
    scene.ask();
    event.preventDefault();
  }

  dark(wanted) {
    this.isDark = wanted;
    document.documentElement.dataset.theme = wanted ? "dark" : "light";
    this.scene?.dark(wanted);
    this.plots.dark(wanted);
    this.plots.show(this.player.now);
  }

  noScene(text) {
    element("scene").hidden = true;
    document.querySelector(".toolbars").hidden = true;
    element("no-scene").hidden = false;
    if (text) element("no-scene").textContent = text;
  }

  /** The scene at the start, until there is a run. */
  pose(message) {
    if (this.header || !this.scene) return;
    if (!this.scene.take(message)) return this.noScene();
    this.scene.kind = ""; // how much room the motion needs is not known yet
    this.scene.ask(() => (document.documentElement.dataset.pose = "drawn"));
  }

  /** Show a run. */
  take(message) {
    const { header } = message;
    this.header = header;
    if (this.scene && !this.scene.take(message)) this.noScene();
    for (const kind of ["contacts", "reactions"]) if (header.forces?.[kind]) element(kind).disabled = false;
    this.plots.take(message);
    const times = message.arrays.t.values;
    this.player.range(times[0], times[times.length - 1]);
    this.say(header);
    document.documentElement.dataset.identity = header.identity;
  }

  /** What came later of the same run. */
  more(message) {
    this.plots.add(message);
    this.plots.show(this.player.now);
    this.remarks(message.header.remarks);
    document.documentElement.dataset.more = message.header.identity;
  }

  say({ facts, status, remarks }) {
    const parts = [`${facts.steps.toLocaleString("en")} steps with h = ${words(facts.h)} by ${facts.method}`];
    if (facts.seconds > 0) parts.push(`computed in ${words(1000 * facts.seconds)} ms`);
    if (facts.energy !== undefined)
      parts.push(`E(0) = ${words(facts.energy)}, max |E - E(0)| = ${words(facts.energy_error)}`);
    if (facts.constraint !== undefined) parts.push(`max |g| = ${words(facts.constraint)}`);
    if (element("scene").dataset.cell) parts.push(`grid ${element("scene").dataset.cell}`);
    element("facts").textContent = parts.join(" · ");
    this.fail(status);
    this.remarks(remarks);
  }

  remarks(list) {
    element("remarks").replaceChildren(
      ...list.map((text) => Object.assign(document.createElement("li"), { textContent: text })),
    );
  }

  /** What went wrong, as text; nothing takes it away. */
  fail(text) {
    element("error").textContent = text ?? "";
    element("error").hidden = !text;
  }

  show(now) {
    if (!this.live) this.scene?.show(now);
    this.plots.show(now);
  }
}
