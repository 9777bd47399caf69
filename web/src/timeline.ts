// Shows what happens to a run: the timeline that the compiler draws, with a scrubber, and what the pods do and the log prints at
// that moment. The page loads this file when the view is opened.
import { type Advice, adviceIn } from "./advice";
import { h, markup, s, setAttributes, setText, setVisible } from "./dom";
import "./timeline.css";
import type { DrawnTimeline, Phase, Scenario, TimeSource } from "./wire/types";

export { editFor } from "./advice";

/** A narrower timeline cannot show its texts. */
const MIN_WIDTH = 280;
/** An arrow key moves by this part of a phase. */
const STEPS = 4;
/** The distance of the pods' lanes from the upper edge of the picture. */
const LANES = 120;
/** How long playing takes per phase, in ms. */
const PER_PHASE = 1_600;
/** At most this many lines of the log are shown. */
const LINES = 9;

const SOURCES: [TimeSource, string][] = [
  ["runtime", "at most: khorovod's runtime, tested; no field sets it"],
  ["kubernetes", "a default of Kubernetes"],
  ["spec", "set in the spec, or its default"],
  ["program", "depends on Horovod or torchrun"],
  ["example", "an example: depends on your cluster and program"],
  ["person", "until you act"],
];

/** Asks the compiler for the timeline of a job. Returns null if there is none, as for a target with another controller. */
export type Ask = (job: number, scenario: Scenario, width: number) => Promise<DrawnTimeline | null>;

interface Actions {
  ask: Ask;
  /** Called when another scenario was chosen. */
  choose: (scenario: Scenario) => void;
  /** Sets a field of a job in the spec. */
  set: (job: number, advice: Advice) => void;
  /** The name of the target if it is not plain Kubernetes. */
  otherTarget: () => string | undefined;
  /** Renders for plain Kubernetes. */
  useKubernetes: () => void;
  fail: (error: unknown) => void;
}

export class TimelineView {
  private width = 0;
  private job = 0;
  private drawn: DrawnTimeline | undefined;
  /** The position of the scrubber: whole numbers are the starts of phases. */
  private at = 0;
  private playing: number | undefined;
  private isDrawing = false;
  private isStale = false;

  private readonly jobs = h("select", { "aria-label": "Job" });
  private readonly choices = h("div", { class: "choices", role: "group", "aria-label": "Events" });
  private readonly headline = h("h2", { class: "headline" });
  private readonly notes = h("p", { class: "notes" });
  private readonly advice = h("div", { class: "advice" });
  private readonly svg = s("svg", { role: "img" });
  private readonly parts = s("g");
  private readonly line = s("path", { class: "line" });
  private readonly playhead = s(
    "g",
    { class: "playhead", "aria-hidden": "true" },
    this.line,
    s("path", { class: "tip", d: "M-6 8h12l-6 10z" }),
  );
  private readonly scrubber = h("input", {
    type: "range",
    class: "scrubber",
    "aria-label": "Moment of the run",
    min: 0,
    step: 1,
  });
  private readonly play = h("button", { type: "button", class: "play" }, "Play");
  private readonly moment = h("div", { class: "moment" });
  private readonly log = h("pre", { class: "log", tabindex: 0, "aria-label": "Log of the launcher until now" });
  private readonly steps = h("ol", { class: "steps", "aria-label": "All steps" });
  private readonly legend = h("ul", { class: "legend", "aria-label": "Where the times come from" });
  /** Why there is no timeline. */
  private readonly missing = h("div", { class: "missing", role: "status" });

  constructor(
    parent: HTMLElement,
    private scenario: Scenario,
    private readonly actions: Actions,
  ) {
    this.svg.append(this.parts, this.playhead);
    const picture = h("div", { class: "drawing" });
    picture.append(this.svg, this.scrubber);
    const button = (text: string, label: string, by: number) =>
      h("button", { type: "button", "aria-label": label, onclick: () => this.step(by) }, text);
    const view = h(
      "div",
      { class: "timeline" },
      this.missing,
      this.jobs,
      this.choices,
      // A status of its own: with this role, the headline would not be a heading.
      h("div", { role: "status" }, this.headline),
      this.notes,
      this.advice,
      picture,
      h(
        "div",
        { class: "controls" },
        button("◀", "Previous step", -1),
        this.play,
        button("▶", "Next step", 1),
        this.legend,
      ),
      h(
        "div",
        { class: "detail" },
        this.moment,
        h("div", { class: "printed" }, h("h3", {}, "The log until now"), this.log),
      ),
      h("details", { class: "all" }, h("summary", {}, "All steps as a list"), this.steps),
    );
    parent.append(view);
    for (const [source, text] of SOURCES) {
      const mark = s(
        "svg",
        { width: 26, height: 8, "aria-hidden": "true" },
        s("path", { class: `source ${source}`, d: "M2 4H24" }),
      );
      this.legend.append(h("li", { "data-source": source }, mark, text));
    }
    this.jobs.addEventListener("change", () => {
      this.job = Number(this.jobs.value);
      this.refresh();
    });
    this.scrubber.addEventListener("input", () => {
      this.stop();
      this.moveTo(this.momentAt(this.scrubber.valueAsNumber));
    });
    this.scrubber.addEventListener("keydown", (event) => this.keyPressed(event));
    this.play.addEventListener("click", () => (this.playing === undefined ? this.start() : this.stop()));
    this.parts.addEventListener("click", (event) => this.phaseClicked(event));
    new ResizeObserver(([entry]) => {
      const room = Math.floor(entry?.contentRect.width ?? 0);
      const width = room && Math.max(MIN_WIDTH, room);
      if (width === this.width) return;
      this.width = width;
      this.refresh();
    }).observe(view);
  }

  /** Asks for the timeline again: the spec, the scenario or the width has changed. */
  refresh() {
    this.isStale = true;
    if (!this.isDrawing && this.width) void this.draw();
  }

  /** Shows a scenario, as if its button was pressed. */
  choose(scenario: Scenario) {
    if (scenario === this.scenario) return;
    this.stop();
    this.scenario = scenario;
    this.refresh();
  }

  private async draw() {
    this.isDrawing = true;
    try {
      while (this.isStale) {
        this.isStale = false;
        const drawn = await this.actions.ask(this.job, this.scenario, this.width);
        if (drawn) this.show(drawn);
        else this.explainMissing();
      }
    } catch (error) {
      this.actions.fail(error);
    }
    this.isDrawing = false;
  }

  private explainMissing() {
    this.stop();
    const target = this.actions.otherTarget();
    if (target === undefined) {
      this.missing.replaceChildren(h("p", {}, "The spec has errors, so there is no timeline."));
      return;
    }
    const text =
      "The steps and times of this view are those of plain Kubernetes objects, whose pods watch each other and start the " +
      `ranks again. With ${target}, steps and times are different.`;
    const onclick = () => this.actions.useKubernetes();
    this.missing.replaceChildren(
      h("h2", { class: "headline" }, `There is no timeline for ${target}`),
      h("p", {}, text),
      h("button", { type: "button", onclick }, "Render for Kubernetes"),
    );
  }

  private show(drawn: DrawnTimeline) {
    const { timeline, width, height, svg, description, jobs, choices } = drawn;
    const isNew = this.drawn?.timeline.scenario !== timeline.scenario;
    this.drawn = drawn;
    this.missing.replaceChildren();
    setVisible(this.jobs, jobs.length > 1);
    this.jobs.replaceChildren(
      ...jobs.map((job, index) => h("option", { value: index, selected: index === this.job }, job)),
    );
    this.showChoices(choices, timeline.scenario);
    this.headline.replaceChildren(...markup(timeline.headline));
    this.notes.replaceChildren(...markup(timeline.notes.join(" ")));
    this.advice.replaceChildren(
      ...adviceIn(timeline.notes).map((advice) => {
        const onclick = () => this.actions.set(this.job, advice);
        return h("button", { type: "button", onclick }, `Set ${advice.path}: ${advice.value}`);
      }),
    );
    setAttributes(this.svg, { viewBox: `0 0 ${width} ${height}`, width, height, "aria-label": description });
    // The compiler escapes texts, and the page's policy forbids scripts.
    this.parts.innerHTML = svg;
    const [left, right] = [drawn.spans[0]?.[0] ?? 0, rightOf(drawn.spans)];
    this.scrubber.style.setProperty("--left", `${left}px`);
    this.scrubber.style.setProperty("--right", `${width - right}px`);
    setAttributes(this.scrubber, { min: left, max: right });
    const used = new Set<string>(timeline.phases.filter(({ kind }) => kind !== "end").map((phase) => phase.source));
    for (const item of this.legend.children)
      if (item instanceof HTMLElement) setVisible(item, used.has(item.dataset["source"] ?? ""));
    this.steps.replaceChildren(
      ...timeline.phases.map((phase, index) => {
        const onclick = () => this.moveTo(index + 0.5);
        const title = h("button", { type: "button", onclick }, phase.title);
        const text = h("span", {}, ...markup(phase.text));
        return h("li", {}, title, h("span", { class: "length" }, this.lengthOf(index)), text);
      }),
    );
    this.moveTo(isNew ? (timeline.fault ?? 0) + 0.5 : Math.min(this.at, timeline.phases.length));
  }

  /** The buttons stay, so that the focus does. */
  private showChoices(choices: DrawnTimeline["choices"], shown: Scenario) {
    if (this.choices.childElementCount !== choices.length) {
      this.choices.replaceChildren(
        ...choices.map(({ scenario, label }) => {
          const onclick = () => {
            this.choose(scenario);
            this.actions.choose(scenario);
          };
          return h("button", { type: "button", "data-scenario": scenario, onclick }, label);
        }),
      );
    }
    for (const [index, button] of [...this.choices.children].entries()) {
      setText(button, choices[index]?.label ?? "");
      setAttributes(button, { "aria-pressed": String(button.getAttribute("data-scenario") === shown) });
    }
  }

  /** The length of a phase with the origin of the number. */
  private lengthOf(index: number): string {
    const phase = this.drawn?.timeline.phases[index];
    const length = this.drawn?.lengths[index];
    if (!phase || (!length && phase.kind === "end")) return "";
    if (!length) return "does not end by itself";
    const before: Partial<Record<TimeSource, string>> = {
      runtime: "at most ",
      example: "for example ",
      program: "about ",
    };
    return `${before[phase.source] ?? ""}${length}`;
  }

  /** Moves the scrubber, and shows that moment. */
  private moveTo(at: number) {
    if (!this.drawn) return;
    const { timeline, spans, height } = this.drawn;
    const { phases } = timeline;
    this.at = Math.min(phases.length, Math.max(0, at));
    const index = Math.min(phases.length - 1, Math.floor(this.at));
    const phase = phases[index];
    const span = spans[index];
    if (!phase || !span) return;
    const x = span[0] + (this.at - index) * span[1];
    this.playhead.style.transform = `translateX(${x}px)`;
    setAttributes(this.line, { d: `M0 ${LANES}V${height - 8}` });
    this.scrubber.value = String(Math.round(x));
    setAttributes(this.scrubber, {
      "aria-valuetext": `Step ${index + 1} of ${phases.length}: ${phase.title}. ${plain(phase.text)}`,
    });
    for (const part of this.parts.querySelectorAll(".phase"))
      part.classList.toggle("current", part.getAttribute("data-phase") === String(index));
    for (const [number, step] of [...this.steps.children].entries()) {
      if (number === index) step.setAttribute("aria-current", "step");
      else step.removeAttribute("aria-current");
    }
    this.showMoment(phase, index);
  }

  /** The position of the scrubber for a distance from the left edge of the picture. */
  private momentAt(x: number): number {
    const spans = this.drawn?.spans ?? [];
    const index = spans.findIndex(([start, width]) => x < start + width);
    const span = spans[index];
    return span ? index + Math.max(0, (x - span[0]) / span[1]) : spans.length;
  }

  /** The keys of the scrubber: a part of a phase, or a phase. */
  private keyPressed(event: KeyboardEvent) {
    const part = 1 / STEPS;
    const steps = { ArrowRight: part, ArrowUp: part, ArrowLeft: -part, ArrowDown: -part, PageUp: 1, PageDown: -1 };
    const step = Object.entries(steps).find(([key]) => key === event.key)?.[1];
    if (step === undefined) return;
    event.preventDefault();
    this.stop();
    this.moveTo(this.at + step);
  }

  private showMoment(phase: Phase, index: number) {
    if (!this.drawn) return;
    const { timeline } = this.drawn;
    const pods = timeline.lanes.flatMap((lane, number) => {
      const activity = phase.pods[number];
      if (!activity || (activity.state === "absent" && activity.does === "not there")) return [];
      return [
        h("tr", { class: activity.state }, h("th", { scope: "row" }, lane.name), h("td", {}, ...markup(activity.does))),
      ];
    });
    const length = this.lengthOf(index);
    const source = h("p", { class: "why" }, h("strong", {}, length), length ? " – " : "", ...markup(phase.reason));
    const more = phase.dead ? `; the scheduler still counts ${phase.dead} for pods on the dead node` : "";
    const held = `${phase.held} ${timeline.unit}${phase.held === 1 ? "" : "s"} held${more}`;
    this.moment.replaceChildren(
      h("h3", { class: phase.kind }, `${index + 1}. ${phase.title}`),
      h("p", {}, ...markup(phase.text)),
      source,
      h(
        "table",
        { class: "pods" },
        h("tbody", {}, ...pods, h("tr", {}, h("th", { scope: "row" }, `${timeline.unit}s`), h("td", {}, held))),
      ),
    );
    this.showLog(index);
  }

  /** The lines of the log until now; those of this phase are marked. */
  private showLog(index: number) {
    const { phases } = this.drawn?.timeline ?? { phases: [] };
    const until = this.at - index >= 0.5 ? index : index - 1;
    const lines = phases
      .slice(0, until + 1)
      .flatMap((phase, number) => phase.log.map((line) => ({ line, isNew: number === index })));
    const shown = lines.slice(-LINES);
    const children = shown.map(({ line, isNew }) => h("span", { class: isNew ? "new" : "old" }, `khorovod: ${line}\n`));
    if (children.length) this.log.replaceChildren(...children);
    else setText(this.log, "Nothing yet.");
  }

  private phaseClicked(event: MouseEvent) {
    const part = event.target instanceof Element ? event.target.closest("[data-phase]") : null;
    if (!part) return;
    this.stop();
    this.moveTo(Number(part.getAttribute("data-phase")) + 0.5);
  }

  /** Goes to the middle of another step. */
  private step(by: number) {
    this.stop();
    const last = (this.drawn?.timeline.phases.length ?? 1) - 1;
    this.moveTo(Math.min(last, Math.max(0, Math.floor(this.at) + by)) + 0.5);
  }

  private start() {
    const length = this.drawn?.timeline.phases.length ?? 0;
    if (this.at >= length - 0.5) this.moveTo(0);
    setText(this.play, "Pause");
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    let before = performance.now();
    const next = (now: number) => {
      const passed = (now - before) / PER_PHASE;
      if (!still || passed >= 1) {
        this.moveTo(still ? Math.floor(this.at) + 1.5 : this.at + passed);
        before = now;
      }
      if (this.at >= length - 0.5) this.stop();
      else this.playing = requestAnimationFrame(next);
    };
    this.playing = requestAnimationFrame(next);
  }

  private stop() {
    if (this.playing !== undefined) cancelAnimationFrame(this.playing);
    this.playing = undefined;
    setText(this.play, "Play");
  }
}

function rightOf(spans: DrawnTimeline["spans"]): number {
  const last = spans.at(-1);
  return last ? last[0] + last[1] : 0;
}

const plain = (text: string) => text.replaceAll("`", "");
