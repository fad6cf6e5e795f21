/** What can be changed: parameters, method, step size, end, a second method, neighbours of the start. */

export class Controls {
  /** @param {HTMLFormElement} form @param about what the page knows of its system @param changed called on every change */
  constructor(form, about, changed) {
    this.form = form;
    this.about = about;
    this.changed = changed;
    this.start = null;
    this.neighbours = null;
    this.fields = new Map();
    if (about.recorded) return;
    this.parameters();
    this.method();
    this.more();
    form.addEventListener("submit", (event) => event.preventDefault());
  }

  parameters() {
    const group = this.group("Parameters");
    for (const parameter of this.about.parameters) {
      const [low, high] = bounds(parameter);
      const row = make("div", { className: "slider" });
      const id = `parameter ${parameter.name}`.replace(/[^\w]+/g, "-");
      row.append(make("label", { htmlFor: id, textContent: parameter.name.replaceAll("_", " ") }));
      const number = make("input", { type: "number", step: "any", value: parameter.value, name: parameter.name });
      number.setAttribute("aria-label", `${parameter.name}, exact`);
      const slider = make("input", { type: "range", id, min: low, max: high, value: parameter.value });
      slider.step = parameter.whole ? 1 : (high - low) / 400;
      slider.value = parameter.value;
      slider.addEventListener("input", () => {
        number.value = parameter.whole ? slider.value : Number(Number(slider.value).toPrecision(6));
        this.changed();
      });
      number.addEventListener("change", () => {
        slider.value = number.value;
        this.changed();
      });
      row.append(number, slider);
      group.append(row);
      this.fields.set(parameter.name, { parameter, number, slider });
    }
    if (!this.about.parameters.length) group.append(make("p", { textContent: "none" }));
  }

  method() {
    const group = this.group("Method");
    this.methodField = this.select(group, "method", "Method", this.about.methods, this.about.method);
    this.describe();
    this.methodField.addEventListener("change", () => this.describe());
    this.h = this.number(group, "h", "step size h", this.about.h);
    this.end = this.number(group, "t_end", "end t", this.about.t_end);
  }

  describe() {
    this.explained ??= this.methodField.closest("fieldset").appendChild(make("p", { className: "hint" }));
    const chosen = this.about.methods.find((method) => method.name === this.methodField.value);
    this.explained.textContent = chosen ? `Order ${chosen.order}. Keeps: ${chosen.keeps || "nothing exactly"}.` : "";
  }

  more() {
    const group = this.group("Compare");
    const none = [{ name: "", label: "none" }, ...this.about.methods];
    this.besideField = this.select(group, "beside", "beside it", none, "");
    this.distance = this.number(group, "distance", "distance of starts", 0.001, false);
    const perturb = make("button", { type: "button", id: "perturb", textContent: "perturb" });
    perturb.title = "Runs from starts at this distance fan out";
    perturb.setAttribute("aria-pressed", "false");
    perturb.addEventListener("click", () => {
      const wanted = perturb.getAttribute("aria-pressed") !== "true";
      perturb.setAttribute("aria-pressed", String(wanted));
      this.neighbours = wanted ? 8 : null;
      this.changed();
    });
    const reset = make("button", { type: "button", id: "reset", textContent: "reset all" });
    reset.addEventListener("click", () => this.reset());
    this.perturb = perturb;
    this.buttons = make("div", { className: "buttons" });
    this.work = make("button", { type: "button", id: "work", textContent: "work-precision" });
    this.work.title = "How large the error at the end is, and how long it takes, by step size";
    this.work.addEventListener("click", () => this.changed({ work: true }));
    this.buttons.append(perturb, this.work, reset);
    group.append(this.buttons);
  }

  reset() {
    for (const { parameter, number, slider } of this.fields.values())
      number.value = slider.value = parameter.value;
    this.methodField.value = this.about.method;
    this.besideField.value = "";
    this.h.value = this.about.h;
    this.end.value = this.about.t_end;
    this.perturb.setAttribute("aria-pressed", "false");
    this.neighbours = null;
    this.start = null;
    this.describe();
    this.changed();
  }

  /** The request that the fields mean; only what is not as it was at the beginning is named. */
  request() {
    if (this.about.recorded) return { kind: "run", parameters: {}, method: this.about.method };
    const parameters = {};
    for (const [name, { parameter, number }] of this.fields) {
      const value = Number(number.value);
      if (number.value !== "" && value !== parameter.value) parameters[name] = value;
    }
    const request = { kind: "run", parameters, method: this.methodField.value };
    request.h = Number(this.h.value);
    request.t_end = Number(this.end.value);
    if (this.besideField.value) request.beside = this.besideField.value;
    if (this.neighbours) request.neighbours = { count: this.neighbours, distance: Number(this.distance.value) };
    if (this.start) Object.assign(request, this.start);
    return request;
  }

  group(name) {
    const group = make("fieldset", {});
    group.append(make("legend", { textContent: name }));
    this.form.append(group);
    return group;
  }

  select(group, id, name, options, value) {
    const label = make("label", { textContent: `${name} ` });
    const field = make("select", { id, name: id });
    for (const option of options)
      field.append(make("option", { value: option.name, textContent: option.label ?? option.name, title: option.about ?? "" }));
    field.value = value;
    field.addEventListener("change", () => this.changed());
    label.append(field);
    group.append(label);
    return field;
  }

  number(group, id, name, value, changes = true) {
    const label = make("label", { textContent: `${name} ` });
    const field = make("input", { type: "number", step: "any", id, name: id, value });
    field.addEventListener("change", () => (changes || this.neighbours) && this.changed());
    label.append(field);
    group.append(label);
    return field;
  }
}

/** Between which values a slider runs: a tenth and two and a half times of what it is. */
function bounds({ value, whole }) {
  if (whole) return [1, Math.max(10, 3 * value)];
  if (value === 0) return [-1, 1];
  const ends = [0.1 * value, 2.5 * value];
  return value > 0 ? ends : ends.reverse();
}

export function make(kind, properties) {
  return Object.assign(document.createElement(kind), properties);
}

