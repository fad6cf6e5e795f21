/** Pulling: the system moves in real time while a point of it is held and drawn by the pointer. */
import { words } from "studio/data";
import { make } from "studio/controls";

export class Pull {
  /** @param view @param connection @param number a function: which run is shown */
  constructor(view, connection, number) {
    this.view = view;
    this.connection = connection;
    this.number = number;
    this.point = null;
    this.active = false;
    if (!view.scene) return;
    this.button = make("button", { type: "button", id: "pull", textContent: "pull" });
    this.button.title = "Let it move in real time, and draw a point with the pointer";
    this.button.setAttribute("aria-pressed", "false");
    this.button.addEventListener("click", () => (this.active ? this.end() : this.begin()));
    document.getElementById("hands").append(this.button);
    const { canvas } = view.scene;
    canvas.addEventListener("pointerdown", (event) => this.down(event), { capture: true });
    canvas.addEventListener("pointermove", (event) => this.move(event));
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, () => this.up());
  }

  begin() {
    if (!this.number()) return;
    this.set(true);
    const { player } = this.view;
    player.pause();
    this.said = "preparing to move in real time";
    document.getElementById("facts").textContent = this.said;
    this.connection.tell({ kind: "pull", number: this.number(), at: player.now, speed: Number(player.speed.value) });
  }

  /** Back to the run as it was computed. */
  end(tell = true) {
    if (!this.active) return;
    this.set(false);
    this.up();
    if (tell) this.connection.tell({ kind: "pull", stop: true });
    this.view.show(this.view.player.now);
    this.view.say(this.view.header);
  }

  set(wanted) {
    this.active = wanted;
    this.button.setAttribute("aria-pressed", String(wanted));
    this.view.scene.canvas.classList.toggle("handles", wanted);
    this.view.live = wanted;
    delete document.documentElement.dataset.live;
  }

  /** A picture of the live run. */
  take({ header, arrays }) {
    if (!this.active) return;
    this.view.scene.place(arrays.points.values, arrays["outline points"]?.values, this.point, this.to);
    const energy = header.energy === null ? "" : ` · E = ${words(header.energy)}`;
    document.getElementById("facts").textContent = `t = ${header.t.toFixed(2)} in real time${energy}`;
    document.documentElement.dataset.live = header.t;
  }

  down(event) {
    if (!this.active) return;
    this.point = this.view.scene.pointNear(event.offsetX, event.offsetY, 40);
    if (this.point === null) return;
    this.view.scene.controls.enabled = false;
    this.view.scene.canvas.classList.add("held");
    this.view.scene.canvas.setPointerCapture(event.pointerId);
    event.stopImmediatePropagation();
    this.move(event);
  }

  move(event) {
    if (!this.active || this.point === null) return;
    this.to = this.view.scene.under(event.offsetX, event.offsetY, this.point);
    if (this.to) this.connection.tell({ kind: "pull", point: this.point, to: this.to });
  }

  up() {
    if (this.point === null) return;
    this.point = null;
    this.to = null;
    this.view.scene.controls.enabled = true;
    this.view.scene.canvas.classList.remove("held");
    if (this.active) this.connection.tell({ kind: "pull" });
  }
}
