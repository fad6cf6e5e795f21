/** The page of a system: controls on one side, the view on the other, the studio behind a websocket. */
import { Connection } from "studio/connection";
import { Controls } from "studio/controls";
import { unpack } from "studio/data";
import { Handles } from "studio/handles";
import { Pull } from "studio/pull";
import { Share } from "studio/share";
import { View } from "studio/view";
import { Waiting } from "studio/waiting";

const { base } = document.body.dataset;
const about = JSON.parse(document.getElementById("exhibit").textContent);
const view = new View();
const state = document.getElementById("connection");
const controls = new Controls(document.getElementById("controls"), about, (more = {}) => {
  pull?.end(false); // the studio ends it when it hears of something else
  connection.ask({ ...wanted(), ...more });
});
const wanted = () => ({ ...controls.request(), ...view.scene?.forces });
const share = new Share(document.getElementById("panel"), base, about, view);
const waiting = new Waiting(document.getElementById("progress"));
const latencies = [];
let pull = null;

const connection = new Connection(`ws://${location.host}${base}/live/${about.key}`, {
  asked: () => waiting.begin(),
  progress: (taken) => waiting.hear(taken),
  run(message) {
    const { header } = message;
    if (header.identity >= connection.asked) waiting.end();
    view.take(message);
    share.number = header.number;
    if (controls.dragging) {
      controls.start = header.start;
      controls.dragging = false;
    }
    requestAnimationFrame(() => {
      latencies.push(performance.now() - message.asked);
      document.documentElement.dataset.latency = latencies.at(-1);
    });
  },
  more: (message) => view.more(message),
  work: (message) => view.plots.work(message),
  live: (message) => pull?.take(message),
  error(text) {
    waiting.end();
    pull?.end(false);
    view.fail(text);
  },
  state(text) {
    state.textContent = text;
    state.dataset.lost = text !== "connected";
    if (text === "connected") return;
    waiting.end();
    pull?.end(false);
  },
});

// the start is shown until the first run is there
fetch(`${base}/pose/${about.key}`).then(async (answer) => {
  if (answer.status === 200) view.pose(unpack(await answer.arrayBuffer()));
});
if (!about.recorded) {
  new Handles(view, controls, (drag) => {
    pull.end(false);
    controls.dragging = true;
    connection.ask({ ...wanted(), drag });
  });
  pull = new Pull(view, connection, () => share.number);
}
for (const kind of ["contacts", "reactions"]) document.getElementById(kind).disabled = !about[kind] || !view.scene;
view.askForces = () => connection.ask(wanted());
if (about.contacts && view.scene) view.showForces("contacts", true);
else connection.ask(wanted());
