/** How many pixels the scene has: fewer while it moves and frames take too long, more than the screen when it rests. */

/** Milliseconds between frames above which there are too many pixels, and below which more are tried. */
const SLOW = 19;
const QUICK = 17.5;
const LEAST = 0.5;
/** Frames over which the time between them is taken, and without a late one after which more pixels are tried. */
const FRAMES = 12;
const PATIENCE = 300;
/** The part of the time before that frames with fewer pixels must stay below, or the pixels were not the reason. */
const ENOUGH = 0.93;
/** Milliseconds without a change after which the scene rests. */
const REST = 180;

export class Sharpness {
  /** @param {number} screen pixels of the screen in one of the page @param {boolean} slow whether the processor draws:
   *  then there are more pixels than those of the screen, which smooth edges, only at rest @param change called with another ratio, and
   *  whether the scene rests */
  constructor(screen, slow, change) {
    this.still = Math.max(2, Math.min(screen, 3));
    this.full = slow ? Math.min(screen, 2) : this.still;
    this.moving = this.full;
    this.ratio = this.full;
    this.change = change;
    this.least = LEAST;
    this.gaps = [];
    this.good = 0;
    this.tried = null; // with how many pixels before, and how long frames took then
  }

  /** A frame is about to be drawn. @param playing whether the next one follows as soon as it can */
  frame(now, playing) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.set(this.still, true), REST);
    const gap = now - this.before;
    this.before = now;
    if (gap > REST) return; // the first one after a rest
    if (playing) this.gaps.push(gap);
    if (this.gaps.length >= FRAMES) this.judge();
    this.set(this.moving, false);
  }

  /** Fewer pixels where frames come late, unless that was of no use; after a long time without a late one, more. */
  judge() {
    const mean = this.gaps.reduce((a, b) => a + b) / this.gaps.length;
    this.gaps.length = 0;
    if (this.tried && mean > ENOUGH * this.tried.mean) {
      this.least = this.moving = this.tried.ratio;
      this.tried = null;
    } else if (mean > SLOW && this.moving > this.least) {
      this.tried = { ratio: this.moving, mean };
      this.moving = Math.max(this.least, 0.8 * this.moving);
      this.good = 0;
    } else {
      this.tried = null;
      this.good = mean < QUICK ? this.good + FRAMES : 0;
    }
    if (this.good < PATIENCE || this.moving >= this.full) return;
    this.moving = Math.min(this.full, 1.25 * this.moving);
    this.good = 0;
  }

  set(ratio, resting) {
    if (ratio === this.ratio) return;
    this.ratio = ratio;
    this.change(ratio, resting);
  }
}
