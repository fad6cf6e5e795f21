/** The websocket to the studio: connects again when it is lost; of what is asked, only the newest counts. */
import { unpack } from "studio/data";

const SOONEST = 250;
const LATEST = 4000;

export class Connection {
  /** @param {string} address @param hear {asked, progress, run, more, work, live, error, state}: functions */
  constructor(address, hear) {
    this.address = address;
    this.hear = hear;
    this.wait = SOONEST;
    this.identity = 0;
    this.asked = 0;
    this.last = null;
    this.sent = new Map();
    this.open();
  }

  open() {
    this.socket = new WebSocket(this.address);
    this.socket.binaryType = "arraybuffer";
    this.socket.addEventListener("open", () => {
      this.wait = SOONEST;
      this.hear.state("connected");
      if (this.last) this.send(this.last);
    });
    this.socket.addEventListener("message", (event) => this.receive(event.data));
    this.socket.addEventListener("close", () => {
      this.hear.state("connection lost, trying again");
      setTimeout(() => this.open(), this.wait);
      this.wait = Math.min(2 * this.wait, LATEST);
    });
  }

  /** Ask for something, at most once in a frame. */
  ask(request) {
    this.last = request;
    if (this.due) return;
    this.due = true;
    requestAnimationFrame(() => {
      this.due = false;
      this.send(this.last);
    });
  }

  send(request) {
    if (this.socket.readyState !== WebSocket.OPEN) return;
    this.identity += 1;
    this.sent.set(this.identity, performance.now());
    this.sent.delete(this.identity - 50);
    this.asked = this.identity;
    this.socket.send(JSON.stringify({ ...request, identity: this.identity }));
    document.documentElement.dataset.asked = this.identity;
    this.hear.asked();
  }

  /** Say something that is not repeated when the connection comes back. */
  tell(message) {
    if (this.socket.readyState !== WebSocket.OPEN) return;
    this.identity += 1;
    this.socket.send(JSON.stringify({ ...message, identity: this.identity }));
  }

  receive(data) {
    if (typeof data !== "string") {
      const message = unpack(data);
      message.asked = this.sent.get(message.header.identity);
      const { kind, identity } = message.header;
      const current = kind === "run" || identity >= this.asked;
      if (current) this.hear[message.header.kind](message);
      return;
    }
    const content = JSON.parse(data);
    if (content.identity < this.asked) return;
    if (content.kind === "progress") this.hear.progress(content.taken);
    else this.hear.error(content.text);
  }
}
