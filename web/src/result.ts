// The right side of the page: the last state of the spec without errors, in the view that is open.
import type { Apply } from "./apply";
import { asError, type Compiled, type Compiler, type State } from "./compiler";
import type { Details } from "./details";
import { byId, h, setText, setVisible } from "./dom";
import { type Drafts, hasMuchOf } from "./drafts";
import type { Editor } from "./editor";
import type { Objects } from "./objects";
import { once } from "./once";
import { type Part, Picture } from "./picture";
import type { TimelineView } from "./timeline";
import { total } from "./total";
import type { WhatIf } from "./what-if";
import type { Scenario } from "./wire/types";

export const VIEWS = ["picture", "timeline", "plan", "objects", "apply"] as const;
export type View = (typeof VIEWS)[number];
/** How long the spec has errors until the result is marked as an earlier one, in ms. */
const STALE_AFTER = 700;

/** The parts of the page that the result uses. */
interface Context {
  /** The compiler, once it is loaded. */
  compiler: () => Compiler | undefined;
  editor: Editor;
  /** The target that the spec is rendered for. */
  target: () => string;
  /** The name of the target if it is not plain Kubernetes. */
  otherTarget: () => string | undefined;
  /** Renders for plain Kubernetes. */
  useKubernetes: () => void;
  drafts: Drafts;
  /** Where the price is stored. */
  storage: Storage | undefined;
  /** Marks a range of the spec and shows it, on a narrow screen too. */
  highlight: (range: [number, number]) => void;
  /** Another view is open, or the timeline shows another event. */
  onNavigate: () => void;
  setStatus: (text: string) => void;
  announce: (text: string) => void;
}

/** The parts that the first preview does without. */
interface Parts {
  apply: Apply;
  details: Details;
  objects: Objects;
  whatIf: WhatIf;
  drawPlans: (view: HTMLElement, compiled: Compiled) => void;
}

export class Result {
  /** The view that is open. */
  view: View = "picture";
  /** The event that the timeline shows. */
  scenario: Scenario = "workerNode";
  /** Whether rendered objects contain the scripts of pods, which are loaded after the first preview. */
  hasScripts = false;
  /** Loads what the first preview does without. */
  readonly parts = once(() => this.loadParts());
  private loaded: Parts | undefined;
  private readonly timeline = once(() => this.loadTimeline());
  private shownTimeline: TimelineView | undefined;
  private readonly picture: Picture;
  private current: State | undefined;
  /** The state that the objects are compared with; undefined if the next state without errors becomes it. */
  private base: State | undefined;
  /** Views that do not show the current state. */
  private readonly stale = new Set<View>(VIEWS);
  private staleTimer: ReturnType<typeof setTimeout> | undefined;
  /** Whether the compiler draws the picture for another width. */
  private isDrawing = false;

  constructor(private readonly context: Context) {
    this.picture = new Picture(
      byId("view-picture"),
      (part) => this.report(this.openDetails(part)),
      () => this.drawPicture(),
    );
    const saveAs = (type: "SVG" | "PNG") =>
      h("button", { type: "button", onclick: () => this.report(this.savePicture(type)) }, `Save as ${type}`);
    byId("view-picture").append(h("div", { class: "buttons save" }, saveAs("SVG"), saveAs("PNG")));
    for (const [index, view] of VIEWS.entries()) {
      byId(`tab-${view}`).addEventListener("click", () => this.open(view));
      byId(`tab-${view}`).addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        const next = step && VIEWS.at((index + step) % VIEWS.length);
        if (next) this.open(next, true);
      });
    }
    byId("what-if").addEventListener("toggle", () => {
      this.report(this.parts().then(({ whatIf }) => this.current && whatIf.show(this.current)));
    });
  }

  /** The width of the picture, in CSS pixels; 0 while it is hidden. */
  get width(): number {
    return this.picture.width;
  }

  /**
   * Shows the result for a spec; `compiled` is undefined if the spec has errors. A spec that is empty, or whose text has little in
   * common with that of the last job, shows nothing instead of that job.
   */
  show(spec: string, compiled: Compiled | undefined) {
    if (compiled) {
      this.current = { spec, compiled };
      this.base ??= this.current;
      for (const view of VIEWS) this.stale.add(view);
    } else if (this.current && !isRestOf(spec, this.current.spec)) this.current = undefined;
    const { current } = this;
    const isEmpty = !spec.trim();
    const blank = !current || isEmpty;
    byId("result").classList.toggle("blank", blank);
    setVisible(byId("nothing"), blank);
    setVisible(byId("start"), isEmpty);
    this.markStale(!compiled && !blank);
    setText(byId("sum"), blank ? "" : total(current.compiled));
    this.draw();
    setVisible(byId("what-if"), !blank);
    if (current && byId("what-if", HTMLDetailsElement).open) this.loaded?.whatIf.show(current);
    const name = current?.compiled.jobs[0]?.job;
    const title = name && !blank ? `${name} – khorovod preview` : "khorovod preview";
    if (document.title !== title) document.title = title;
  }

  /** The next state without errors becomes the one that objects are compared with. The target may be another one. */
  restart() {
    this.base = undefined;
    // A timeline depends on the target, also if the spec has errors for that.
    this.stale.add("timeline");
  }

  /** Another document is in the editor: the result of the one before is not its earlier state. */
  forget() {
    this.current = undefined;
    this.restart();
  }

  /** Opens a view. */
  open(next: View, focus = false) {
    this.view = next;
    this.context.onNavigate();
    for (const view of VIEWS) {
      const tab = byId(`tab-${view}`);
      tab.setAttribute("aria-selected", String(view === next));
      tab.tabIndex = view === next ? 0 : -1;
      byId(`view-${view}`).hidden = view !== next;
      if (focus && view === next) tab.focus();
    }
    this.draw();
  }

  /** Chooses an event of the timeline, which need not be open. */
  choose(scenario: Scenario) {
    this.scenario = scenario;
    this.shownTimeline?.choose(scenario);
  }

  /** Draws a view again, if it is open. */
  redraw(view = this.view) {
    this.stale.add(view);
    this.draw();
  }

  private async loadParts(): Promise<Parts> {
    const { Apply, Details, drawPlans, Objects, WhatIf } = await import("./later");
    const { context } = this;
    const rangeOf = (job: number, field: string) => this.rangeOf(job, field);
    const spec = () => context.editor.text;
    this.loaded = {
      apply: new Apply(
        byId("view-apply"),
        {
          compiler: () => this.compiler,
          spec,
          target: context.target,
          secrets: (text) => context.compiler()?.secrets(text) ?? [],
        },
        () => this.redraw("apply"),
      ),
      details: new Details(byId("view-picture"), {
        goToField: (job, field) => {
          const range = this.rangeOf(job, field);
          return range && (() => context.highlight(range));
        },
        openObject: (index) => {
          this.open("objects");
          this.loaded?.objects.reveal(index);
        },
      }),
      objects: new Objects(byId("view-objects"), {
        rangeOf,
        highlight: context.highlight,
        changes: (old, now) => this.compiler.changes(old, now),
        restart: () => {
          this.base = this.current;
          this.redraw("objects");
        },
      }),
      whatIf: new WhatIf(byId("what-if"), {
        text: spec,
        replace: (edit) => context.editor.replace(edit),
        compiler: () => this.compiler,
        drafts: context.drafts,
        storage: context.storage,
        report: (action) => this.report(action),
      }),
      drawPlans,
    };
    return this.loaded;
  }

  private get compiler(): Compiler {
    const compiler = this.context.compiler();
    if (!compiler) throw new Error("the compiler is not loaded yet");
    return compiler;
  }

  /** Shows the error of an action, if it has one. */
  private report(action: Promise<unknown>) {
    action.catch((error: unknown) => this.context.announce(asError(error).message));
  }

  /** Marks the result as that of an earlier spec, but only after a pause: most errors are half a line that is being typed. */
  private markStale(isStale: boolean) {
    clearTimeout(this.staleTimer);
    const mark = () => {
      byId("result").classList.toggle("old", isStale);
      setVisible(byId("stale"), isStale);
      setVisible(byId("private"), !isStale);
    };
    if (isStale && byId("stale").hidden) this.staleTimer = setTimeout(mark, STALE_AFTER);
    else if (!isStale) mark();
  }

  /** The range in the spec of a field, or else of the nearest field that contains it, except the whole spec. */
  private rangeOf(job: number, field: string): [number, number] | undefined {
    const ranges = this.current?.compiled.places[job] ?? {};
    for (let path = field; path && path !== "spec"; path = parentOf(path)) {
      const range = ranges[path];
      if (range) return range;
    }
    return undefined;
  }

  /** Shows what is behind a part of the picture, and marks its lines. */
  private async openDetails(part: Part) {
    const range = this.rangeOf(part.item.job, part.item.field ?? "");
    if (range) this.context.editor.highlight(range);
    const { details } = this.loaded ?? (await this.parts());
    if (this.current) details.open(this.current.compiled, part, this.picture.elementOf(part));
  }

  private async savePicture(type: "SVG" | "PNG") {
    const { apply } = await this.parts();
    if (this.current) this.context.announce(await apply.savePicture(type, this.current));
  }

  /** Draws the open view if it is stale. */
  private draw() {
    const { current, loaded, view } = this;
    if (!current || !this.stale.has(view)) return;
    if (view !== "picture" && !loaded) {
      this.report(this.parts().then(() => this.draw()));
      return;
    }
    this.stale.delete(view);
    const { compiled } = current;
    const showError = (error: unknown) => this.context.setStatus(asError(error).message);
    switch (view) {
      case "picture":
        this.drawPicture();
        break;
      case "timeline":
        this.timeline()
          .then((timeline) => timeline.refresh())
          .catch(showError);
        break;
      case "plan":
        loaded?.drawPlans(byId("view-plan"), compiled);
        break;
      case "objects":
        if (this.hasScripts) loaded?.objects.show(current, this.base ?? current).catch(showError);
        break;
      case "apply":
        loaded?.apply.show(compiled);
        break;
    }
  }

  /** Shows the picture of the current state. If it has another width than the view, the compiler draws it again. */
  private drawPicture() {
    const { current, width } = this;
    const compiler = this.context.compiler();
    if (compiler) compiler.width = width;
    if (!current || !width) return;
    const { jobs, picture } = current.compiled;
    this.loaded?.details.show(current.compiled);
    if (picture?.width === width) this.picture.show(picture);
    else if (jobs.length > 0 && !this.isDrawing) void this.drawForWidth(current, width);
  }

  private async drawForWidth(state: State, width: number) {
    this.isDrawing = true;
    try {
      const picture = await this.compiler.draw(state.spec, width);
      if (picture) state.compiled.picture = picture;
      if (picture && this.current === state) this.picture.show(picture);
    } catch (error) {
      this.context.setStatus(asError(error).message);
    }
    this.isDrawing = false;
    if (this.current !== state || this.width !== width) this.drawPicture();
  }

  private async loadTimeline(): Promise<TimelineView> {
    const { TimelineView, editFor } = await import("./timeline");
    this.shownTimeline = new TimelineView(byId("view-timeline"), this.scenario, {
      ask: async (job, scenario, width) => {
        const { current } = this;
        return current ? this.compiler.timeline(current.spec, job, scenario, width) : null;
      },
      choose: (scenario) => {
        this.scenario = scenario;
        this.context.onNavigate();
      },
      set: (job, advice) => {
        const { spec, compiled } = this.current ?? {};
        const ranges = compiled?.places[job];
        const edit = ranges && spec === this.context.editor.text ? editFor(spec, ranges, advice) : undefined;
        if (edit) this.context.editor.replace(edit);
        else this.context.setStatus(`Set spec.${advice.path}: ${advice.value} in the spec.`);
      },
      otherTarget: this.context.otherTarget,
      useKubernetes: this.context.useKubernetes,
      fail: (error) => this.context.setStatus(asError(error).message),
    });
    return this.shownTimeline;
  }
}

/** Whether a text is an edited state of another one, not a new text in its place. */
function isRestOf(text: string, other: string): boolean {
  return text.length * 3 >= other.length && hasMuchOf(text, other);
}

/** The path without its last step: `spec.storage[0].name` → `spec.storage[0]` → `spec.storage`; empty for a single step. */
function parentOf(path: string): string {
  const parent = path.replace(/(\.[^.[]*|\[\d+\])$/, "");
  return parent === path ? "" : parent;
}
