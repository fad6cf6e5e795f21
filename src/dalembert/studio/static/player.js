/** The time of the view: play, pause, scrub, speed, loop. */
import { words } from "studio/data";

export class Player {
  /** @param changed called with the time whenever it changes */
  constructor(changed) {
    this.changed = changed;
    this.begin = 0;
    this.end = 1;
    this.now = 0;
    this.playing = false;
    this.button = document.getElementById("play");
    this.slider = document.getElementById("scrub");
    this.output = document.getElementById("now");
    this.speed = document.getElementById("speed");
    this.loop = document.getElementById("loop");
    this.button.addEventListener("click", () => this.toggle());
    this.slider.addEventListener("input", () => {
      this.pause();
      this.go(Number(this.slider.value));
    });
    document.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    const target = event.target;
    if (event.ctrlKey || event.metaKey || event.altKey || target.closest?.("input, select, textarea, button, dialog"))
      return;
    const step = (this.end - this.begin) / 100;
    if (event.key === " ") this.toggle();
    else if (event.key === ".") this.go(this.now + step);
    else if (event.key === ",") this.go(this.now - step);
    else if (event.key === "Home") this.go(this.begin);
    else if (event.key === "End") this.go(this.end);
    else return;
    event.preventDefault();
  }

  range(begin, end) {
    this.begin = begin;
    this.end = end;
    Object.assign(this.slider, { min: begin, max: end });
    this.go(this.now);
  }

  go(time) {
    this.now = Math.min(Math.max(time, this.begin), this.end);
    this.slider.value = this.now;
    this.output.textContent = `t = ${this.now.toFixed(digits(this.end - this.begin))}`;
    this.slider.setAttribute("aria-valuetext", `t = ${words(this.now)}`);
    document.documentElement.dataset.time = this.now;
    this.changed(this.now);
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  play() {
    if (this.now >= this.end) this.go(this.begin);
    this.playing = true;
    this.button.textContent = "pause";
    let before = null;
    const frame = (stamp) => {
      if (!this.playing) return;
      if (before !== null) this.advance((stamp - before) / 1000);
      before = stamp;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  advance(seconds) {
    const next = this.now + Number(this.speed.value) * seconds;
    if (next <= this.end) return this.go(next);
    if (!this.loop.checked) this.pause();
    return this.go(this.loop.checked ? this.begin + ((next - this.begin) % (this.end - this.begin || 1)) : this.end);
  }

  pause() {
    this.playing = false;
    this.button.textContent = "play";
  }
}

function digits(span) {
  return Math.min(6, Math.max(2, Math.ceil(3 - Math.log10(span || 1))));
}
