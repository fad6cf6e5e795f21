// Zoom into the panels of a figure. The curves are stretched inside their frame, line widths and markers stay as they
// are, and the axes get new ticks: a dense curve comes apart, and its numbers can still be read.
"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const CLOSEST = 2000; // the largest magnification: beyond it rounded coordinates show
  const raised = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
  const clamp = (x, low, high) => Math.min(Math.max(x, low), high);
  const make = (name, attributes) => {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };
  const power = (k) => "10" + String(k).replace(/./g, (sign) => raised[sign]);

  function linearTicks(low, high, unit, count) {
    const rough = (high - low) / unit / count, size = 10 ** Math.floor(Math.log10(rough));
    const step = size * [1, 2, 5, 10].find((m) => m * size >= rough);
    const digits = clamp(-Math.floor(Math.log10(step) + 1e-9), 0, 15);
    const ticks = [];
    for (let k = Math.ceil(low / unit / step - 1e-9); k * step <= high / unit + 1e-9 * step; k += 1)
      ticks.push({ value: k * step * unit, text: (k * step).toFixed(digits).replace("-", "−") });
    return ticks;
  }

  function logTicks(low, high, count) {
    const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
    if (last - first < 1) { // less than a decade: numbers in between, with their power of ten where they are long
      const k = Math.floor(Math.log10(high)), short = k >= -3 && k <= 3, unit = short ? 1 : 10 ** k;
      const ticks = linearTicks(low, high, unit, count);
      return short ? ticks : ticks.map((tick) => ({ ...tick, text: `${tick.text}·${power(k)}` }));
    }
    const stride = Math.ceil((last - first + 1) / count), ticks = [];
    for (let k = first; k <= last; k += stride) ticks.push({ value: 10 ** k, text: power(k) });
    return ticks;
  }

  class Axis { // fractions of the axis, from its low to its high end, and the values there
    constructor({ low, high, log, unit }) {
      Object.assign(this, { log, unit, low: log ? Math.log10(low) : low, high: log ? Math.log10(high) : high });
      this.view = [0, 1];
    }
    get magnification() { return 1 / (this.view[1] - this.view[0]); }
    valueAt(fraction) {
      const value = this.low + fraction * (this.high - this.low);
      return this.log ? 10 ** value : value;
    }
    fractionOf(value) { return ((this.log ? Math.log10(value) : value) - this.low) / (this.high - this.low); }
    ticks(count) {
      const ends = this.view.map((fraction) => this.valueAt(fraction));
      const [low, high] = ends[0] < ends[1] ? ends : [ends[1], ends[0]];
      const found = this.log ? logTicks(low, high, count) : linearTicks(low, high, this.unit, count);
      return found.map((tick) => ({ ...tick, at: (this.fractionOf(tick.value) - this.view[0]) * this.magnification }));
    }
    show(low, high) {
      const width = clamp(high - low, 1 / CLOSEST, 1), start = clamp(low, 0, 1 - width);
      this.view = [start, start + width];
    }
    scale(factor, centre) {
      const [low, high] = this.view, at = low + centre * (high - low);
      this.show(at - (at - low) / factor, at + (high - at) / factor);
    }
    move(part) {
      const [low, high] = this.view;
      this.show(low + part * (high - low), high + part * (high - low));
    }
  }

  class Panel {
    constructor(group, { box, x, y }) {
      [this.left, this.top, this.width, this.height] = box;
      this.x = new Axis(x);
      this.y = new Axis(y);
      this.group = group;
      this.contents = [...group.querySelectorAll("[clip-path]")].filter((e) => !e.closest('[id*="matplotlib.axis"]'));
      for (const element of this.contents) { // the frame shall clip, and stay where it is
        const frame = make("g", { "clip-path": element.getAttribute("clip-path") });
        element.removeAttribute("clip-path");
        element.replaceWith(frame);
        frame.append(element);
        element.classList.add("zoom-content");
      }
      this.markers = this.contents.flatMap((element) => [...element.querySelectorAll("use")]);
      this.ticks = [...group.querySelectorAll('[id*="xtick_"], [id*="ytick_"]')];
      this.notes = [...group.children].filter((e) => /text_\d+$/.test(e.id) && this.holds(e.getBBox()));
      this.ruler = make("g", { class: "zoom-ticks" });
      group.insertBefore(this.ruler, group.children[1]);
      this.surface = make("rect", {
        x: this.left, y: this.top, width: this.width, height: this.height, class: "zoom-surface", tabindex: 0,
        role: "application", "aria-label": "plot: plus and minus zoom, arrow keys move, 0 shows all",
      });
      group.append(this.surface);
    }
    holds(b) {
      const x = b.x + b.width / 2, y = b.y + b.height / 2;
      return x > this.left && x < this.left + this.width && y > this.top && y < this.top + this.height;
    }
    get zoomed() { return this.x.magnification > 1.0001 || this.y.magnification > 1.0001; }
    draw() {
      const sx = this.x.magnification, sy = this.y.magnification;
      const dx = this.left - sx * (this.left + this.width * this.x.view[0]);
      const dy = this.top - sy * (this.top + this.height * (1 - this.y.view[1]));
      this.group.classList.toggle("zoomed", this.zoomed);
      for (const element of this.contents) element.setAttribute("transform", `matrix(${sx} 0 0 ${sy} ${dx} ${dy})`);
      for (const marker of this.markers) {
        const x = marker.x.baseVal.value, y = marker.y.baseVal.value;
        if (x || y) marker.setAttribute("transform", `translate(${x} ${y}) scale(${1 / sx} ${1 / sy}) translate(${-x} ${-y})`);
      }
      for (const note of this.notes) {
        const b = note.getBBox(), x = b.x + b.width / 2, y = b.y + b.height / 2;
        const [newX, newY] = [sx * x + dx, sy * y + dy];
        note.setAttribute("transform", `translate(${newX - x} ${newY - y})`);
        note.style.visibility = this.holds({ x: newX, y: newY, width: 0, height: 0 }) ? "" : "hidden";
      }
      for (const tick of this.ticks) tick.style.display = this.zoomed ? "none" : "";
      this.ruler.replaceChildren(...(this.zoomed ? this.newTicks() : []));
    }
    newTicks() {
      const bottom = this.top + this.height, right = this.left + this.width, parts = [];
      const labelled = this.ticks.some((tick) => /xtick_/.test(tick.id) && tick.querySelector('[id*="text_"]'));
      for (const { at, text } of this.x.ticks(clamp(Math.round(this.width / 70), 2, 8))) {
        const x = this.left + at * this.width;
        parts.push(make("line", { x1: x, x2: x, y1: this.top, y2: bottom }));
        if (!labelled) continue;
        const label = make("text", { x, y: bottom + 15, "text-anchor": "middle" });
        label.textContent = text;
        parts.push(label);
      }
      for (const { at, text } of this.y.ticks(clamp(Math.round(this.height / 35), 2, 8))) {
        const y = bottom - at * this.height;
        const label = make("text", { x: this.left - 6, y: y + 4, "text-anchor": "end" });
        label.textContent = text;
        parts.push(make("line", { x1: this.left, x2: right, y1: y, y2: y }), label);
      }
      return parts;
    }
  }

  class Figure {
    constructor(element) {
      this.svg = element.querySelector("svg");
      const panels = JSON.parse(element.querySelector("script[type='application/json']").textContent);
      this.panels = panels.map((panel) => new Panel(document.getElementById(panel.id), panel));
      this.companions = panels.map((panel) => panel.shares_x.map((k) => this.panels[k]));
      this.current = this.panels[0];
      this.pointers = new Map();
      this.band = make("rect", { class: "zoom-band", visibility: "hidden" });
      this.svg.append(this.band);
      this.panels.forEach((panel) => this.listen(panel));
      this.buttons = Object.fromEntries([...element.querySelectorAll("button")].map((b) => [b.name, b]));
      for (const [name, button] of Object.entries(this.buttons))
        button.addEventListener("click", () => this.command(this.current, name));
      element.querySelector(".tools").hidden = false;
      this.buttons.reset.disabled = true;
    }
    redraw(panel) {
      const others = this.companions[this.panels.indexOf(panel)];
      for (const other of others) { other.x.view = [...panel.x.view]; other.draw(); }
      panel.draw();
      this.buttons.reset.disabled = !this.panels.some((one) => one.zoomed);
    }
    command(panel, name) {
      const moves = { left: ["x", -0.2], right: ["x", 0.2], down: ["y", -0.2], up: ["y", 0.2] };
      if (name === "reset") return this.panels.forEach((one) => { one.x.show(0, 1); one.y.show(0, 1); this.redraw(one); });
      if (name in moves) panel[moves[name][0]].move(moves[name][1]);
      const factor = { in: 1.6, out: 1 / 1.6 }[name];
      if (factor) { panel.x.scale(factor, 0.5); panel.y.scale(factor, 0.5); }
      this.redraw(panel);
    }
    place(panel, event) { // where the pointer is, as fractions of the panel
      const box = panel.surface.getBoundingClientRect();
      return { x: (event.clientX - box.left) / box.width, y: 1 - (event.clientY - box.top) / box.height };
    }
    listen(panel) {
      const { surface } = panel;
      const keys = { "+": "in", "=": "in", "-": "out", 0: "reset", ArrowLeft: "left", ArrowRight: "right",
        ArrowUp: "up", ArrowDown: "down" };
      surface.addEventListener("focus", () => { this.current = panel; });
      surface.addEventListener("keydown", (event) => {
        if (event.key === "Escape") surface.blur();
        if (!(event.key in keys) || event.ctrlKey || event.metaKey) return;
        event.preventDefault();
        this.command(panel, keys[event.key]);
      });
      surface.addEventListener("wheel", (event) => { // only where one has clicked: the page shall scroll elsewhere
        if (document.activeElement !== surface) return;
        event.preventDefault();
        const { x, y } = this.place(panel, event), factor = Math.exp(-clamp(event.deltaY, -120, 120) / 400);
        if (!event.altKey) panel.x.scale(factor, x);
        if (!event.shiftKey) panel.y.scale(factor, y);
        this.redraw(panel);
      }, { passive: false });
      surface.addEventListener("dblclick", () => this.command(panel, "reset"));
      surface.addEventListener("pointerdown", (event) => {
        const focused = document.activeElement === surface;
        surface.focus({ preventScroll: true });
        if (event.pointerType !== "mouse" && !focused) return; // the first touch may become a scroll of the page
        surface.setPointerCapture(event.pointerId);
        const at = this.place(panel, event);
        this.pointers.set(event.pointerId, { start: at, at });
      });
      surface.addEventListener("pointermove", (event) => this.drag(panel, event));
      for (const end of ["pointerup", "pointercancel"])
        surface.addEventListener(end, (event) => this.drop(panel, event));
    }
    drag(panel, event) {
      const pointer = this.pointers.get(event.pointerId);
      if (!pointer) return;
      const before = pointer.at, at = this.place(panel, event);
      pointer.at = at;
      if (this.pointers.size === 2) {
        const other = [...this.pointers].find(([id]) => id !== event.pointerId)[1].at;
        const distance = (p) => Math.hypot((p.x - other.x) * panel.width, (p.y - other.y) * panel.height);
        const factor = clamp(distance(at) / Math.max(distance(before), 1), 0.5, 2);
        for (const key of ["x", "y"]) panel[key].scale(factor, (at[key] + other[key]) / 2);
      } else if (panel.zoomed && !event.shiftKey) {
        for (const key of ["x", "y"]) panel[key].move(before[key] - at[key]);
      } else if (event.pointerType === "mouse") {
        pointer.band = true;
        return this.stretchBand(panel, pointer.start, at);
      }
      this.redraw(panel);
    }
    corners(a, b) {
      const inside = (x) => clamp(x, 0, 1);
      return { x: [Math.min(a.x, b.x), Math.max(a.x, b.x)].map(inside), y: [Math.min(a.y, b.y), Math.max(a.y, b.y)].map(inside) };
    }
    stretchBand(panel, start, at) {
      const { x, y } = this.corners(start, at);
      for (const [key, value] of Object.entries({
        x: panel.left + x[0] * panel.width, y: panel.top + (1 - y[1]) * panel.height,
        width: (x[1] - x[0]) * panel.width, height: (y[1] - y[0]) * panel.height, visibility: "visible",
      })) this.band.setAttribute(key, value);
    }
    drop(panel, event) {
      const pointer = this.pointers.get(event.pointerId);
      this.pointers.delete(event.pointerId);
      this.band.setAttribute("visibility", "hidden");
      if (!pointer?.band || event.type === "pointercancel") return;
      const found = this.corners(pointer.start, pointer.at);
      if (found.x[1] - found.x[0] < 0.004 || found.y[1] - found.y[0] < 0.004) return; // a click, not a box
      for (const key of ["x", "y"]) {
        const [low, high] = panel[key].view, part = found[key];
        panel[key].show(low + part[0] * (high - low), low + part[1] * (high - low));
      }
      this.redraw(panel);
    }
  }

  for (const element of document.querySelectorAll("figure.zoomable")) new Figure(element);
})();
