/** What the page says while it waits: after a moment, that the first run of a model is prepared, or how far it is. */

const MOMENT = 0.5;

export class Waiting {
  /** @param {HTMLElement} home */
  constructor(home) {
    this.home = home;
    this.timer = null;
  }

  /** Something has been asked for. */
  begin() {
    this.taken = 0;
    if (this.timer) return;
    this.since = performance.now();
    this.timer = setInterval(() => this.say(), 250);
  }

  /** The studio says how many steps were taken. */
  hear(taken) {
    this.taken = taken;
    if (this.timer) this.say();
  }

  say() {
    const seconds = (performance.now() - this.since) / 1000;
    if (seconds < MOMENT) return;
    const what = this.taken
      ? `computing: ${Math.round(this.taken).toLocaleString("en")} steps taken`
      : "preparing the equations, once for a model and a method";
    this.home.textContent = `${what}, ${seconds.toFixed(0)} s`;
    this.home.hidden = false;
  }

  end() {
    clearInterval(this.timer);
    this.timer = null;
    this.home.hidden = true;
  }
}
