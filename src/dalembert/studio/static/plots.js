/** Curves over time, drawn by uPlot, with the time of the scene as a line through all of them. */
import { words } from "studio/data";

const LIGHT = ["#2463a8", "#b5402d", "#2a7d4f", "#8a5a9e", "#b07a12", "#2b8a94", "#a3487a", "#5d6b2f"];
const DARK = ["#6aa9ec", "#f0826d", "#62c08c", "#c79adb", "#e3b34f", "#68c7d1", "#e08fb9", "#a9bb6d"];
const HEIGHT = 128;

export class Plots {
  /** @param {HTMLElement} home @param list of {key, title, log} @param go called with the time that is clicked */
  constructor(home, list, go) {
    this.home = home;
    this.list = list;
    this.go = go;
    this.now = 0;
    this.shown = new Map();
    this.curves = [];
    this.sync = uPlot.sync("time");
    new ResizeObserver(() => this.resize()).observe(home);
  }

  /** The curves of a run. */
  take({ header, arrays }) {
    this.times = arrays.t.values;
    this.curves = header.curves.map((curve) => ({ ...curve, values: arrays[curve.array].values }));
    this.update();
  }

  /** More curves of the same run. */
  add({ header, arrays }) {
    const kept = this.curves.filter((curve) => !header.curves.some((other) => other.plot === curve.plot));
    this.curves = [...kept, ...header.curves.map((curve) => ({ ...curve, values: arrays[curve.array].values }))];
    this.update();
  }

  update() {
    for (const plot of this.list) {
      const curves = this.curves.filter((curve) => curve.plot === plot.key);
      const old = this.shown.get(plot.key);
      const signature = curves.map((curve) => curve.name).join("|");
      if (old && old.signature !== signature && (curves.length || plot.key !== "invariant")) {
        old.chart.destroy();
        old.frame.remove();
        this.shown.delete(plot.key);
      }
      if (!curves.length) continue;
      const data = [this.times, ...curves.map((curve) => (plot.log ? positive(curve.values) : curve.values))];
      const kept = this.shown.get(plot.key);
      if (kept) kept.chart.setData(data);
      else this.shown.set(plot.key, { signature, ...this.chart(plot, curves, data) });
    }
    for (const { key } of this.list) if (this.shown.has(key)) this.home.append(this.shown.get(key).frame);
  }

  chart(plot, curves, data) {
    const frame = document.createElement("figure");
    frame.className = "curve";
    frame.dataset.plot = plot.key;
    const caption = document.createElement("figcaption");
    caption.textContent = plot.title;
    frame.append(caption);
    this.home.append(frame);
    const colours = this.isDark ? DARK : LIGHT;
    const ink = this.isDark ? "#aab4bc" : "#56616b";
    const lines = this.isDark ? "#2b3238" : "#e4e8eb";
    const axis = { stroke: ink, grid: { stroke: lines, width: 1 }, ticks: { show: false }, font: "12px system-ui" };
    const options = {
      width: Math.max(160, this.home.clientWidth - 4),
      height: HEIGHT,
      scales: { x: { time: false }, y: plot.log ? { distr: 3, range: decades } : { range: around } },
      axes: [
        { ...axis, size: 24 },
        { ...axis, size: 58, values: (u, ticks) => ticks.map((x) => (x === null ? "" : brief(x))) },
      ],
      cursor: { sync: { key: this.sync.key, setSeries: false }, drag: { x: true, y: false }, points: { size: 6 } },
      series: [
        { label: "t", value: (u, x) => words(x) },
        ...curves.map((curve, k) => ({
          label: curve.name,
          stroke: colours[k % colours.length],
          width: 1.4,
          points: { show: false },
          value: (u, x) => words(x),
        })),
      ],
      hooks: { draw: [(u) => this.line(u)], ready: [(u) => this.listen(u)] },
    };
    return { frame, chart: new uPlot(options, data, frame) };
  }

  /** A click goes to that time. */
  listen(u) {
    u.over.addEventListener("click", () => {
      if (u.cursor.left >= 0) this.go(u.posToVal(u.cursor.left, "x"));
    });
    const mark = document.createElement("div");
    mark.className = "now";
    u.over.append(mark);
    u.mark = mark;
  }

  line(u) {
    if (!u.mark) return;
    const x = u.valToPos(this.now, "x");
    u.mark.style.transform = `translateX(${x}px)`;
    u.mark.hidden = !(x >= 0 && x <= u.over.clientWidth);
  }

  show(now) {
    this.now = now;
    for (const { chart } of this.shown.values()) this.line(chart);
  }

  dark(wanted) {
    this.isDark = wanted;
    for (const { chart, frame } of this.shown.values()) {
      chart.destroy();
      frame.remove();
    }
    this.shown.clear();
    if (this.times) this.update();
  }

  resize() {
    for (const { chart } of this.shown.values())
      chart.setSize({ width: Math.max(160, this.home.clientWidth - 4), height: HEIGHT });
  }
}

/** A number beside an axis: powers of ten without zeros. */
function brief(x) {
  return words(x).replace(/\.?0+e/, "e");
}

/** A logarithm shows nothing of zeros. */
function positive(values) {
  return Array.from(values, (x) => (x > 0 ? x : null));
}

/** Whole decades, two at least. */
function decades(u, low, high) {
  if (!(low > 0)) return [1e-17, 1e-15];
  const bottom = Math.floor(Math.log10(low));
  return [10 ** bottom, 10 ** Math.max(bottom + 2, Math.ceil(Math.log10(high)))];
}

/** Some room above and below, also around what is constant. */
function around(u, low, high) {
  if (low === null || high === null) return [-1, 1];
  const room = 0.08 * (high - low) || 0.1 * Math.abs(high) || 1;
  return [low - room, high + room];
}
