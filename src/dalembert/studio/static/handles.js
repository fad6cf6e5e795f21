/** The start, dragged by its points: each place of the pointer is asked of the studio, which keeps the constraints. */
import { make } from "studio/controls";

export class Handles {
  /** @param view @param controls @param connection */
  constructor(view, controls, ask) {
    this.view = view;
    this.controls = controls;
    this.ask = ask;
    this.point = null;
    if (!view.scene) return;
    const button = make("button", { type: "button", id: "move-start", textContent: "move start" });
    button.title = "Drag a point: the start moves with it, on the constraints";
    button.setAttribute("aria-pressed", "false");
    button.addEventListener("click", () => this.toggle(button));
    document.getElementById("hands").append(button);
    const { canvas } = view.scene;
    // before the camera's own listeners
    canvas.addEventListener("pointerdown", (event) => this.down(event), { capture: true });
    canvas.addEventListener("pointermove", (event) => this.move(event));
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, () => this.up());
  }

  toggle(button) {
    this.active = !this.active;
    button.setAttribute("aria-pressed", String(this.active));
    this.view.scene.canvas.classList.toggle("handles", this.active);
    if (!this.active) return;
    this.view.player.pause();
    this.view.player.go(this.view.player.begin);
  }

  down(event) {
    if (!this.active || this.view.live) return;
    this.point = this.view.scene.pointNear(event.offsetX, event.offsetY);
    if (this.point === null) return;
    this.view.player.pause();
    this.view.player.go(this.view.player.begin);
    this.view.scene.controls.enabled = false;
    this.view.scene.canvas.setPointerCapture(event.pointerId);
    event.stopImmediatePropagation();
  }

  move(event) {
    if (this.point === null || this.point === undefined) return;
    const to = this.view.scene.under(event.offsetX, event.offsetY, this.point);
    if (to) this.ask({ point: this.point, to });
  }

  up() {
    if (this.point === null) return;
    this.point = null;
    this.view.scene.controls.enabled = true;
  }
}
