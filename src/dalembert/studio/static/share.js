/** What leaves the studio: a script, a picture, a page, a file, a film. */
import { make } from "studio/controls";

export class Share {
  /** @param {HTMLElement} home @param {string} base @param about @param view */
  constructor(home, base, about, view) {
    this.base = base;
    this.view = view;
    this.said = make("p", { className: "hint", id: "shared" });
    this.said.setAttribute("role", "status");
    const group = make("fieldset", {});
    group.append(make("legend", { textContent: "Share" }));
    const row = make("div", { className: "buttons" });
    const button = (id, name, does) => {
      const made = make("button", { type: "button", id, textContent: name });
      made.addEventListener("click", () => does().catch((reason) => this.say(String(reason.message ?? reason))));
      row.append(made);
    };
    if (about.script) button("copy-script", "copy script", () => this.script());
    button("save-png", "PNG", () => this.picture());
    button("save-html", "HTML", () => this.file("run.html"));
    button("save-nc", "netCDF", () => this.file("run.nc"));
    button("save-gif", "GIF", () => this.file("run.gif"));
    button("save-mp4", "MP4", () => this.file("run.mp4"));
    this.text = make("textarea", { id: "script", hidden: true, readOnly: true, rows: 8 });
    this.text.setAttribute("aria-label", "the script");
    group.append(row, this.said, this.text);
    home.append(group);
  }

  say(text) {
    this.said.textContent = text;
  }

  async fetch(name) {
    if (!this.number) throw new Error("nothing has been computed yet.");
    this.say(`preparing ${name}`);
    const answer = await fetch(`${this.base}/file/${this.number}/${name}`);
    if (!answer.ok) throw new Error((await answer.text()).trim());
    return answer;
  }

  async script() {
    const text = await (await this.fetch("run.py")).text();
    this.text.value = text;
    this.text.hidden = false;
    try {
      await navigator.clipboard.writeText(text);
      this.say("copied");
    } catch {
      this.text.select();
      this.say("select and copy the script below");
    }
  }

  async file(name) {
    save(await (await this.fetch(name)).blob(), name);
    this.say(`${name} saved`);
  }

  async picture() {
    const { scene } = this.view;
    if (!scene) throw new Error("there is no scene to be saved.");
    scene.draw();
    const blob = await new Promise((done) => scene.canvas.toBlob(done, "image/png"));
    save(blob, "run.png");
    this.say("run.png saved");
  }
}

function save(blob, name) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
