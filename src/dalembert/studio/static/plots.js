/** Curves over time, drawn by uPlot, with the time of the scene as a line through all of them. */
import { words } from "studio/data";

const LIGHT = ["#2463a8", "#b5402d", "#2a7d4f", "#8a5a9e", "#b07a12", "#2b8a94", "#a3487a", "#5d6b2f"];
const DARK = ["#6aa9ec", "#f0826d", "#62c08c", "#c79adb", "#e3b34f", "#68c7d1", "#e08fb9", "#a9bb6d"];
const HEIGHT = 128;
/** Plots whose curves may come after the others: until then they stay as they are. */
const LATER = ["invariant", "multiplier"];

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
    this.measured?.chart.destroy(); // it was measured on another run
    this.measured?.frame.remove();
    this.measured = null;
    this.times = arrays.t.values;
    this.curves = header.curves.map((curve) => ({ ...curve, values: arrays[curve.array].values }));
    this.update();
  }

  /** More curves of the same run. */
  add({ header, arrays }) {
    for (const key of LATER) if (!this.curves.some(({ plot }) => plot === key)) this.leave(key, header.curves);
    const kept = this.curves.filter((curve) => !header.curves.some((other) => other.plot === curve.plot));
    this.curves = [...kept, ...header.curves.map((curve) => ({ ...curve, values: arrays[curve.array].values }))];
    this.update();
  }

  /** Take away a plot that this run does not have. */
  leave(key, coming) {
    const old = this.shown.get(key);
    if (!old || coming.some(({ plot }) => plot === key)) return;
    old.chart.destroy();
    old.frame.remove();
    this.shown.delete(key);
  }

  update() {
    for (const plot of this.list) {
      const curves = this.curves.filter((curve) => curve.plot === plot.key);
      const old = this.shown.get(plot.key);
      const signature = curves.map((curve) => curve.name).join("|");
      if (old && old.signature !== signature && (curves.length || !LATER.includes(plot.key))) {
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
    const frames = this.list.flatMap(({ key }) => (this.shown.has(key) ? [this.shown.get(key).frame] : []));
    const there = [...this.home.children].filter((child) => frames.includes(child));
    if (frames.some((frame, k) => frame !== there[k])) this.home.append(...frames);
  }

  /** Error at the end against seconds, both by powers of ten: one curve for each method. */
  work({ header, arrays }) {
    const curves = header.curves.map((curve) => ({ name: curve.name }));
    const rows = header.curves.map((curve, k) => {
      const pairs = Array.from(arrays[`seconds ${k}`].values, (x, i) => [x, arrays[`errors ${k}`].values[i]]);
      pairs.sort((a, b) => a[0] - b[0]);
      return [pairs.map((pair) => pair[0]), pairs.map((pair) => pair[1])];
    });
    this.measured?.chart.destroy();
    this.measured?.frame.remove();
    const plot = { key: "work", title: `error at t = ${words(header.end)} against seconds`, log: true, work: true };
    this.measured = this.chart(plot, curves, uPlot.join(rows));
    this.home.prepend(this.measured.frame);
    document.documentElement.dataset.work = header.identity;
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
      pxAlign: 0,
      scales: { x: plot.work ? { time: false, distr: 3 } : { time: false }, y: plot.log ? { distr: 3, range: decades } : { range: around } },
      axes: [
        plot.work ? { ...axis, size: 24, values: labels } : { ...axis, size: 24 },
        { ...axis, size: 58, values: labels },
      ],
      cursor: { ...(plot.work ? {} : { sync: { key: this.sync.key, setSeries: false } }), drag: { x: true, y: false }, points: { size: 6 } },
      series: [
        { label: plot.work ? "seconds" : "t", value: (u, x) => words(x) },
        ...curves.map((curve, k) => ({
          label: curve.name,
          stroke: colours[k % colours.length],
          width: 1.4,
          points: { show: Boolean(plot.work), size: 6 },
          spanGaps: Boolean(plot.work),
          pxAlign: 0,
          value: (u, x) => words(x),
        })),
      ],
      hooks: plot.work ? {} : { draw: [(u) => this.line(u)], ready: [(u) => this.listen(u)] },
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
    const inside = x >= 0 && x <= u.bbox.width / devicePixelRatio + 1;
    if (u.mark.hidden === inside) u.mark.hidden = !inside;
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
    for (const { chart } of [...this.shown.values(), this.measured].filter(Boolean))
      chart.setSize({ width: Math.max(160, this.home.clientWidth - 4), height: HEIGHT });
  }
}

/** Numbers beside an axis; of many powers of ten every second, third, ... one. */
function labels(u, ticks) {
  const powers = ticks.filter((x) => x !== null && x > 0).map((x) => Math.log10(x));
  const wide = ticks.length > 2 && Math.max(...powers) - Math.min(...powers) > 4.5;
  const every = wide ? Math.ceil((Math.max(...powers) - Math.min(...powers)) / 4) : 1;
  const shown = (x) => every === 1 || Math.round(Math.log10(x)) % every === 0;
  return ticks.map((x) => (x === null || !shown(x) ? "" : brief(x)));
}

/** A number beside an axis: powers of ten without zeros. */
function brief(x) {
  return words(x).replace(/\.?0+e/, "e");
}

/** A logarithm shows nothing of zeros, and far below them the axis finds no ticks. */
function positive(values) {
  const shown = new Array(values.length);
  for (let k = 0; k < values.length; k++) shown[k] = values[k] > 1e-20 ? values[k] : null;
  return shown;
}

/** Whole decades, two at least. */
function decades(u, low, high) {
  if (!(low > 0)) return [1e-17, 1e-15];
  const bottom = Math.max(-20, Math.floor(Math.log10(low)));
  return [10 ** bottom, 10 ** Math.max(bottom + 2, Math.ceil(Math.log10(high)))];
}

/** Some room above and below, also around what is constant but for the last digits: no axis has ticks between those. */
function around(u, low, high) {
  if (low === null || high === null) return [-1, 1];
  const size = Math.max(Math.abs(low), Math.abs(high));
  if (size < 1e-22) return [-1, 1]; // zero
  const room = high - low > 1e-5 * size ? 0.08 * (high - low) : 0.1 * size;
  return [low - room, high + room];
}
