// Plays motions of points: trails, bars, fixed outlines, in the plane or turned by hand in space.
"use strict";
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)"), still = matchMedia("(prefers-reduced-motion: reduce)");
  const clamp = (x, low, high) => Math.min(Math.max(x, low), high);
  const TRAIL = 0.2; // of the whole motion
  const TILT = 1.25; // radians: not quite from above

  function ticks(low, high, count) { // round numbers, about so many, as pairs of value and text
    const rough = (high - low) / clamp(count, 1, 6), size = 10 ** Math.floor(Math.log10(rough));
    const step = size * [1, 2, 5, 10].find((m) => m * size >= rough), digits = Math.max(0, -Math.floor(Math.log10(step)));
    const found = [];
    for (let k = Math.ceil(low / step); k * step <= high; k += 1)
      found.push([k * step, (k * step).toFixed(digits).replace("-", "−")]);
    return found;
  }

  class Player {
    constructor(figure) {
      this.data = JSON.parse(figure.querySelector("script[type='application/json']").textContent);
      this.canvas = figure.querySelector("canvas");
      this.pen = this.canvas.getContext("2d");
      this.button = figure.querySelector("button[name='play']");
      this.slider = figure.querySelector("input[type='range']");
      this.clock = figure.querySelector("output");
      this.spatial = this.data.points[0][0].length === 3;
      [this.turn, this.tilt] = [0.5, 0.35];
      this.frames = this.data.points.length;
      this.at = 0;
      this.playing = false;
      this.seen = false;
      this.slider.max = this.frames - 1;
      this.button.addEventListener("click", () => this.play(!this.playing));
      this.slider.addEventListener("input", () => { this.play(false); this.at = Number(this.slider.value); this.draw(); });
      if (this.spatial) this.turnByHand();
      new ResizeObserver(() => this.draw()).observe(this.canvas);
      dark.addEventListener("change", () => this.draw());
      new IntersectionObserver(([entry]) => this.look(entry.isIntersecting)).observe(this.canvas);
      figure.querySelector(".tools").hidden = false;
      this.play(!still.matches);
    }
    look(seen) { // what nobody sees need not move
      this.seen = seen;
      if (seen && this.playing) this.next();
    }
    play(playing) {
      this.playing = playing;
      this.button.textContent = playing ? "Pause" : "Play";
      if (playing && this.seen) this.next();
    }
    next() {
      cancelAnimationFrame(this.request);
      let last = null; // the clock of the frames may be behind other clocks
      const step = (now) => {
        if (!this.playing || !this.seen) return;
        const passed = last === null ? 0 : Math.max(0, now - last) / 1000;
        this.at = (this.at + passed * (this.frames / this.data.seconds)) % this.frames;
        last = now;
        this.draw();
        this.request = requestAnimationFrame(step);
      };
      this.request = requestAnimationFrame(step);
    }
    turnByHand() {
      const { canvas } = this;
      canvas.tabIndex = 0;
      let from = null;
      canvas.addEventListener("pointerdown", (event) => { from = event; canvas.setPointerCapture(event.pointerId); });
      for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { from = null; });
      canvas.addEventListener("pointermove", (event) => {
        if (!from) return;
        this.rotate((event.clientX - from.clientX) / 120, event.pointerType === "mouse" ? (event.clientY - from.clientY) / 120 : 0);
        from = event;
      });
      const keys = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] };
      canvas.addEventListener("keydown", (event) => {
        if (!(event.key in keys)) return;
        event.preventDefault();
        this.rotate(...keys[event.key]);
      });
    }
    rotate(turn, tilt) {
      this.turn += turn;
      this.tilt = clamp(this.tilt + tilt, -TILT, TILT);
      this.draw();
    }
    flat(point) { // the point as the eye sees it, in the units of the motion
      if (!this.spatial) return point;
      const [x, y, z] = point.map((value, k) => value - this.middle[k]);
      const side = x * Math.cos(this.turn) - y * Math.sin(this.turn);
      const depth = x * Math.sin(this.turn) + y * Math.cos(this.turn);
      return [side, z * Math.cos(this.tilt) + depth * Math.sin(this.tilt)];
    }
    fit() { // the scale of the picture
      const { low, high } = this.data;
      this.middle = low.map((value, k) => (value + high[k]) / 2);
      let box = [low, high];
      if (this.spatial) { // room for every direction of view
        const reach = Math.hypot(...low.map((value, k) => high[k] - value)) / 2;
        box = [[-reach, -reach], [reach, reach]];
      }
      const margin = this.spatial ? 8 : 34, width = this.canvas.clientWidth, height = this.canvas.clientHeight;
      const scale = [width, height].map((side, k) => (side - 2 * margin) / (box[1][k] - box[0][k]));
      if (this.data.equal) scale.fill(Math.min(...scale));
      const centre = [0, 1].map((k) => (box[0][k] + box[1][k]) / 2);
      return (point) => {
        const [x, y] = this.flat(point);
        return [width / 2 + scale[0] * (x - centre[0]), height / 2 - scale[1] * (y - centre[1])];
      };
    }
    colours() {
      const style = getComputedStyle(this.canvas), get = (name) => style.getPropertyValue(name).trim();
      return { ink: get("--ink"), soft: get("--soft"), line: get("--line"),
        points: get("--points").split(/\s*,\s*/) };
    }
    stateAt(position) { // between two frames
      const k = Math.floor(position), rest = position - k, now = this.data.points[Math.min(k, this.frames - 1)];
      const then = this.data.points[Math.min(k + 1, this.frames - 1)];
      return now.map((point, i) => point.map((value, j) => value + rest * (then[i][j] - value)));
    }
    path(points) {
      this.pen.beginPath();
      points.forEach(([x, y], k) => (k ? this.pen.lineTo(x, y) : this.pen.moveTo(x, y)));
      this.pen.stroke();
    }
    draw() {
      const { canvas, pen, data } = this, ratio = devicePixelRatio || 1;
      canvas.width = Math.round(canvas.clientWidth * ratio);
      canvas.height = Math.round(canvas.clientHeight * ratio);
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      const place = this.fit(), colours = this.colours(), state = this.stateAt(this.at);
      pen.lineJoin = pen.lineCap = "round";
      this.drawFrame(place, colours);
      pen.strokeStyle = colours.soft;
      pen.lineWidth = 1.5;
      for (const outline of data.outlines) this.path(outline.map(place));
      const many = state.length > 8, colour = (k) => colours.points[(data.colours[k] ?? k) % colours.points.length];
      state.forEach((_, k) => {
        if (!data.trails[k]) return;
        const begin = Math.max(0, this.at - TRAIL * this.frames), steps = 40, trail = [];
        for (let j = 0; j <= steps; j += 1) trail.push(place(this.stateAt(begin + ((this.at - begin) * j) / steps)[k]));
        pen.strokeStyle = colour(k);
        pen.lineWidth = 2;
        for (let j = 1; j <= steps; j += 1) {
          pen.globalAlpha = 0.7 * (j / steps) ** 1.5;
          this.path([trail[j - 1], trail[j]]);
        }
        pen.globalAlpha = 1;
      });
      for (const [kind, width] of [["springs", 1], ["bars", 2.5]]) {
        pen.strokeStyle = kind === "bars" ? colours.ink : colours.soft;
        pen.lineWidth = width;
        for (const ends of data[kind]) this.path(ends.map((k) => place(k === null ? state[0].map(() => 0) : state[k])));
      }
      state.forEach((point, k) => {
        pen.fillStyle = colour(k);
        pen.beginPath();
        pen.arc(...place(point), many ? 3.5 : 6, 0, 2 * Math.PI);
        pen.fill();
      });
      this.slider.value = Math.floor(this.at);
      const time = data.end * (this.at / (this.frames - 1));
      this.clock.textContent = `t = ${Math.min(time, data.end).toFixed(data.end < 10 ? 2 : 1)}`;
    }
    drawFrame(place, colours) {
      const { pen, data } = this;
      pen.strokeStyle = colours.line;
      pen.fillStyle = colours.soft;
      pen.font = "italic 14px 'STIX Two Text', 'Times New Roman', serif";
      pen.lineWidth = 1;
      const corner = data.low;
      if (this.spatial) { // the edges of the box that holds the motion, named
        const at = (bits) => place(corner.map((value, k) => (bits[k] ? data.high[k] : value)));
        for (const a of [[0, 0, 0], [1, 1, 0], [1, 0, 1], [0, 1, 1]])
          for (let k = 0; k < 3; k += 1) this.path([at(a), at(a.map((bit, j) => (j === k ? 1 - bit : bit)))]);
        [[0.5, 0, 0], [1, 0.5, 0], [0, 0, 0.5]].forEach((bits, k) => {
          const [x, y] = place(corner.map((value, j) => value + bits[j] * (data.high[j] - value)));
          pen.fillText(data.labels[k], x + (k === 2 ? -14 : 4), y + (k === 2 ? 4 : 14));
        });
        return;
      }
      const [left, bottom] = place(corner), [right, top] = place(data.high);
      pen.strokeRect(left, top, right - left, bottom - top);
      pen.textAlign = "center";
      pen.fillText(data.labels[0], right + 12, bottom + 14);
      pen.fillText(data.labels[1], left - 12, top - 8);
      pen.font = "12px 'STIX Two Text', 'Times New Roman', serif";
      if (data.labels[0]) // what has no name has no numbers
        for (const [value, text] of ticks(data.low[0], data.high[0], (right - left) / 60))
          pen.fillText(text, place([value, data.low[1]])[0], bottom + 14);
      pen.textAlign = "right";
      for (const [value, text] of ticks(data.low[1], data.high[1], (bottom - top) / 40))
        pen.fillText(text, left - 4, place([data.low[0], value])[1] + 4);
      pen.textAlign = "left";
    }
  }

  for (const figure of document.querySelectorAll("figure.motion")) new Player(figure);
})();
