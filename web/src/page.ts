// The page: each change of the spec goes to the compiler, and the views show what it returns.
import schemaFile from "../../schema/training-job.v1alpha1.schema.json?url";
import moduleFile from "../pkg/khorovod_web_bg.wasm?url";
import targetsModuleFile from "../pkg/khorovod_web_targets_bg.wasm?url";
import type { Apply } from "./apply";
import { bookAddress, bookLink } from "./book";
import { asError, type Compiled, Compiler } from "./compiler";
import { byId, count, h, markup, setText, setVisible } from "./dom";
import { Details } from "./details";
import { Drafts, titleOf } from "./drafts";
import { Editor } from "./editor";
import { type Example, loadExamples, smallest, summaryOf } from "./examples";
import type { ImportDialog } from "./import";
import { decodePermalink, encodePermalink, maskSecrets, PLAIN, SPEC } from "./link";
import type { Objects } from "./objects";
import { once } from "./once";
import { type Part, Picture } from "./picture";
import { pngOf } from "./png";
import { changeList, gpus, plan } from "./plan";
import { ProblemList, summarize, worstOf } from "./problems";
import { makeSplit } from "./split";
import type { TimelineView } from "./timeline";
import type { WhatIf } from "./what-if";
import type { PlacedText, Preview, Report, Scenario } from "./wire/types";

const VIEWS = ["picture", "timeline", "plan", "objects", "apply"] as const;
type View = (typeof VIEWS)[number];
/** The events of the timeline that an address can name. */
const SCENARIOS: Scenario[] = [
  "nothing",
  "workerNode",
  "launcherNode",
  "crash",
  "hang",
  "eviction",
  "deadline",
  "change",
];
/** The targets that the page can render for, by the names that `--target` takes. */
const TARGETS: [string, string][] = [
  [PLAIN, "Kubernetes"],
  ["jobset", "JobSet"],
  ["mpijob", "MPIJob"],
  ["trainjob", "TrainJob"],
  ["volcano", "Volcano"],
  ["slurm", "Slurm"],
];
/** At most this many jobs have a plan in the page. */
const PLANS = 20;
/** The examples that an empty page offers. */
const FIRST_EXAMPLES = ["smallest", "torchrun", "elastic", "self-healing", "deepspeed", "s3"];
/** The largest file that is opened, in bytes. */
const MAX_FILE = 16 << 20;
/** How long the spec has errors until the result is marked as an earlier one, in ms. */
const STALE_AFTER = 700;
/** How long the result of an action is shown, in ms. */
const ANNOUNCED = 12_000;

const NO_WEBASSEMBLY =
  "This browser has no WebAssembly, or it is switched off; the preview needs it. You can still edit the spec here.";
const STILL_AN_EDITOR = "Reload the page to try again. You can still edit the spec here.";
const DAMAGED_LINK =
  "The spec in this link cannot be read: the link was cut or changed. The page shows another spec. Ask for the link again.";

/** A state of the spec without errors. */
interface State {
  spec: string;
  compiled: Compiled;
}

export class Page {
  private compiler: Compiler | undefined;
  private view: View = "picture";
  /** The last state without errors. */
  private current: State | undefined;
  /** The state that the objects are compared with; undefined if the next state without errors becomes it. */
  private base: State | undefined;
  /** Views that do not show the current state. */
  private readonly stale = new Set<View>(VIEWS);
  // These parts are loaded when they are needed.
  private readonly timeline = once(() => this.loadTimeline());
  private readonly loadObjects = once(() => this.makeObjects());
  private readonly loadApply = once(() => this.makeApply());
  private readonly importDialog = once(() => this.makeImportDialog());
  private readonly loadWhatIf = once(() => this.makeWhatIf());
  private readonly targetsModule = once(() => compileModule(targetsModuleFile));
  private whatIf: WhatIf | undefined;
  private shownTimeline: TimelineView | undefined;
  private objects: Objects | undefined;
  /** The state that the view of the objects compares with. */
  private compared: State | undefined;
  private apply: Apply | undefined;
  private examples: Example[] = [];
  /** The event that the timeline shows. */
  private scenario: Scenario = "workerNode";
  private target = PLAIN;
  /** Whether rendered objects contain the scripts of pods, which are loaded after the first preview. */
  private hasScripts = false;
  /** Whether the compiler draws the picture for another width. */
  private isDrawing = false;
  /** How many previews were shown. Tests wait for it to change. */
  private shown = 0;
  /** Called when a preview is shown. */
  private firstShown: () => void = () => undefined;
  private staleTimer: ReturnType<typeof setTimeout> | undefined;
  /** Ends the message about the result of an action. */
  private announcement: ReturnType<typeof setTimeout> | undefined;

  private readonly editor: Editor;
  private readonly problems: ProblemList;
  private readonly picture: Picture;
  private readonly details: Details;
  private readonly drafts = new Drafts(storage("localStorage"), storage("sessionStorage"), (spec) => this.masked(spec));
  /** The page runs without a compiler. */
  private hasFailed = false;
  private readonly changesSinceBase = h("div", { class: "base" });

  constructor() {
    this.editor = new Editor(
      byId("editor"),
      (spec, byUser) => this.specChanged(spec, byUser),
      () => this.editor.highlight(null),
    );
    this.problems = new ProblemList(byId("problems"), this.editor);
    this.picture = new Picture(
      byId("view-picture"),
      (part) => this.partChosen(part),
      () => this.drawPicture(),
    );
    const saveAs = (type: "SVG" | "PNG") =>
      h(
        "button",
        {
          type: "button",
          onclick: () => this.report(this.savePicture(type)),
        },
        `Save as ${type}`,
      );
    byId("view-picture").append(h("div", { class: "buttons save" }, saveAs("SVG"), saveAs("PNG")));
    this.details = new Details(byId("view-picture"), {
      goToField: (job, field) => {
        const range = this.rangeOf(job, field);
        return range && (() => this.highlight(range));
      },
      openObject: (index) => this.openObject(index),
    });
    byId("view-objects").append(this.changesSinceBase);
  }

  private async makeObjects(): Promise<Objects> {
    const { Objects } = await import("./objects");
    this.objects = new Objects(
      byId("view-objects"),
      (job, field) => this.rangeOf(job, field),
      (range) => this.highlight(range),
    );
    return this.objects;
  }

  private async makeApply(): Promise<Apply> {
    const { Apply } = await import("./apply");
    const context = {
      compiler: () => this.loadedCompiler(),
      spec: () => this.editor.text,
      target: () => this.target,
      secrets: (spec: string) => this.compiler?.secrets(spec) ?? [],
    };
    this.apply = new Apply(byId("view-apply"), context, () => this.redrawView("apply"));
    return this.apply;
  }

  private async makeImportDialog(): Promise<ImportDialog> {
    const { ImportDialog } = await import("./import");
    return new ImportDialog(
      () => this.loadedCompiler(),
      (spec) => this.load(spec),
      (name, text) => void this.loadApply().then((apply) => apply.download(name, text)),
      () => {
        // The button that opened the dialog may be gone, such as an offer among the problems. Then nothing on the page has the focus.
        if (!document.activeElement?.closest("header, main")) this.editor.focus();
      },
    );
  }

  private async makeWhatIf() {
    const { WhatIf } = await import("./what-if");
    const spec = { text: () => this.editor.text, replace: (edit: PlacedText) => this.editor.replace(edit) };
    this.whatIf = new WhatIf(byId("what-if"), spec, storage("localStorage"));
    if (this.current) this.whatIf.show(this.current);
  }

  private openImport(file?: string, system?: string) {
    this.report(this.importDialog().then((dialog) => dialog.open(file, system)));
  }

  /** Shows the error of an action, if it has one. */
  private report(action: Promise<unknown>) {
    action.catch((error: unknown) => this.announce(asError(error).message));
  }

  private redrawView(view: View) {
    this.stale.add(view);
    this.drawView();
  }

  /** Shows the first spec, then loads the compiler and the schema. */
  async start() {
    keepVersion();
    makeSplit(storage("localStorage"));
    this.listen();
    this.showPane("spec");
    this.openLinkedEvent();
    this.report(this.useTarget(decodePermalink(location.hash).target));
    this.openView(VIEWS.find((view) => view === decodePermalink(location.hash).view) ?? "picture");
    const linked = await this.specOfLink();
    if (linked === undefined || this.drafts.isOpened(linked)) this.editor.load(this.drafts.restore() ?? smallest);
    else this.openLinked(linked);
    this.claimDraft();
    if (typeof WebAssembly !== "object") {
      this.fail(NO_WEBASSEMBLY);
      return;
    }
    try {
      await this.loadCompiler();
    } catch (error) {
      this.fail("The preview could not start: ", asError(error).message, `. ${STILL_AN_EDITOR}`);
    }
    if (import.meta.env.PROD && "serviceWorker" in navigator && isSecureContext)
      navigator.serviceWorker.register("./sw.js").catch(() => undefined);
  }

  private async loadCompiler() {
    const { target, module } = await this.firstModule();
    const compiler = new Compiler(
      module,
      target,
      (spec, preview, compiled) => this.showPreview(spec, preview, compiled),
      (error) => this.fail("The preview stopped: ", error.message),
    );
    this.compiler = compiler;
    compiler.width = this.picture.width;
    const isShown = new Promise<void>((resolve) => (this.firstShown = resolve));
    compiler.preview(this.editor.text);
    // Nothing else is loaded before the first preview is shown.
    await isShown;
    const codes = compiler.loadTexts();
    await Promise.all([this.loadTools(), this.fillExamples(), this.loadViews()]);
    this.problems.codes = await codes;
    compiler.loadHere();
    // The objects of the base have no scripts.
    this.base = undefined;
    this.hasScripts = true;
    compiler.preview(this.editor.text);
  }

  /** The module for the target, which the user may change until it is loaded. */
  private async firstModule() {
    for (;;) {
      const { target } = this;
      const module = await (target === PLAIN ? compileModule(moduleFile) : this.targetsModule());
      if (target === this.target) return { target, module };
    }
  }

  /** Loads what the editor needs besides editing. */
  private async loadTools() {
    const schema = fetch(schemaFile).then((response) => response.text());
    const tools = await import("./editor-tools");
    this.editor.useTools(tools, tools.readSchema(await schema));
  }

  /** Loads the small parts that most users open, so that no later click has to wait. A part that fails is loaded when it is opened. */
  private async loadViews() {
    await Promise.all([this.loadObjects(), this.loadApply(), import("./what-if")]).catch(() => undefined);
  }

  private loadedCompiler(): Compiler {
    if (!this.compiler) throw new Error("the compiler is not loaded yet");
    return this.compiler;
  }

  /** A spec without the values that look like secrets; undefined while the compiler, which finds them, is not loaded. */
  private masked(spec: string): string | undefined {
    const secrets = this.hasFailed ? [] : this.compiler?.secrets(spec);
    return secrets && maskSecrets(spec, secrets);
  }

  private specChanged(spec: string, byUser: boolean) {
    if (byUser) {
      this.drafts.store(spec);
      clearAddress();
    }
    this.compiler?.preview(spec);
  }

  /** Puts an example into the editor, and its name into the address. */
  private loadExample(name: string, spec: string) {
    this.load(spec);
    history.replaceState(null, "", encodePermalink(name, this.view, "", this.target));
  }

  /** Renders for the target with this name, once its module is loaded; the name of an address may be unknown. */
  private async useTarget(name = PLAIN) {
    const target = TARGETS.some(([known]) => known === name) ? name : PLAIN;
    const chosen = byId("target", HTMLSelectElement);
    chosen.value = target;
    let module: WebAssembly.Module | undefined;
    // The module of the other targets also has the plain one.
    if (this.compiler && target !== PLAIN) {
      try {
        module = await this.targetsModule();
      } catch (error) {
        if (chosen.value === target) chosen.value = this.target;
        throw new Error(`The code for this target could not be loaded: ${asError(error).message}`, { cause: error });
      }
      // Another target was chosen meanwhile.
      if (chosen.value !== target) return;
    }
    if (target === this.target) return;
    this.target = target;
    this.compiler?.setTarget(target, module);
    // The objects of two targets have little in common.
    this.base = undefined;
    this.compiler?.preview(this.editor.text);
  }

  /** Renders for another target, and puts it into the address. */
  private chooseTarget(name?: string) {
    this.report(this.useTarget(name).then(() => this.nameView()));
  }

  /** Opens a file of the user: a spec, or another text, which the page offers to import. */
  private async openFile(file: File | undefined) {
    if (!file) return;
    if (file.size > MAX_FILE) {
      this.announce(`${file.name} is too large: the limit is ${MAX_FILE >> 20} MB.`);
      return;
    }
    this.load(await file.text());
    this.announce(`${file.name} is open.`);
    this.editor.focus();
  }

  /** Puts another spec into the editor; the user's draft stays in the list. Its first state without errors becomes the base. */
  private load(spec: string) {
    this.drafts.open(spec);
    this.show(spec);
  }

  private show(spec: string) {
    this.base = undefined;
    clearAddress();
    byId("notice").hidden = true;
    this.editor.load(spec);
  }

  /** Opens the spec of a link, and offers the way back to the user's own. */
  private openLinked(spec: string) {
    this.drafts.flush();
    const [mine] = this.drafts.others();
    const own =
      this.drafts.current === undefined ? mine : { id: this.drafts.current, spec: this.editor.text, time: Date.now() };
    const { hash } = location;
    this.load(spec);
    // The name of an example stays in the address, as it is short and can be shared.
    if (decodePermalink(hash).example !== undefined) history.replaceState(null, "", hash);
    if (!own || own.spec === spec) return;
    const back = h("button", { type: "button", onclick: () => this.continueDraft(own.id) }, "Back to mine");
    const notice = byId("notice");
    notice.className = "info";
    notice.replaceChildren("This spec came with the link. Your own one is kept. ", back);
    notice.hidden = false;
  }

  private continueDraft(id: string) {
    this.drafts.flush();
    const draft = this.drafts.others().find((one) => one.id === id);
    if (!draft) return;
    this.show(draft.spec);
    this.drafts.continue(draft);
    this.editor.focus();
  }

  /** A tab that was duplicated has the same draft as this one: only one of the two goes on with it. */
  private claimDraft() {
    const id = this.drafts.current;
    if (id === undefined || !("locks" in navigator)) return;
    const hold = (lock: Lock | null) => {
      if (lock) return new Promise<never>(() => undefined);
      this.drafts.leave();
      return undefined;
    };
    navigator.locks.request(`draft ${id}`, { ifAvailable: true }, hold).catch(() => undefined);
  }

  private showPreview(spec: string, preview: Preview, compiled: Compiled | undefined) {
    // The spec has changed since; the preview of the new one is on its way.
    if (spec !== this.editor.text) return;
    const isEmpty = !spec.trim();
    // An empty spec is a start, not a mistake.
    const found = isEmpty ? { problems: [], more: 0 } : preview;
    this.editor.showProblems(found.problems);
    this.problems.show(found);
    const noJob = found.problems.find((problem) => problem.code === "no-training-job");
    if (isEmpty || (noJob && !noJob.fix)) void this.suggestStart(spec);
    if (compiled) {
      this.current = { spec, compiled };
      if (!this.base) this.setBase(this.current);
      for (const view of VIEWS) this.stale.add(view);
    }
    // An empty spec shows nothing, not the last job.
    const blank = !this.current || isEmpty;
    byId("result").classList.toggle("blank", blank);
    setVisible(byId("nothing"), blank);
    setVisible(byId("start"), isEmpty);
    this.markStale(!compiled && !blank);
    setText(byId("sum"), blank || !this.current ? "" : total(this.current.compiled));
    this.drawView();
    setVisible(byId("what-if"), !blank);
    if (this.current && byId("what-if", HTMLDetailsElement).open) this.whatIf?.show(this.current);
    this.setStatus(isEmpty ? "" : summarize(found));
    const worst = worstOf(found);
    if (byId("status").dataset["worst"] !== worst) byId("status").dataset["worst"] = worst;
    const name = this.current?.compiled.jobs[0]?.job;
    const title = name && !blank ? `${name} – khorovod preview` : "khorovod preview";
    if (document.title !== title) document.title = title;
    const { dataset } = document.documentElement;
    dataset["memory"] = String(this.compiler?.memory ?? 0);
    dataset["shown"] = String(++this.shown);
    if (this.hasScripts) dataset["ready"] = "";
    if (this.shown === 1) performance.mark("interactive");
    this.firstShown();
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
  private partChosen(part: Part) {
    if (!this.current) return;
    this.details.open(this.current.compiled, part, this.picture.elementOf(part));
    const range = this.rangeOf(part.item.job, part.item.field ?? "");
    if (range) this.editor.highlight(range);
  }

  private openObject(index: number) {
    this.openView("objects");
    this.report(this.loadObjects().then((objects) => objects.reveal(index)));
  }

  private async savePicture(type: "SVG" | "PNG") {
    if (!this.current) return;
    const { compiled, spec } = this.current;
    const svg = await this.loadedCompiler().svg(spec);
    const name = compiled.jobs.length === 1 ? (compiled.jobs[0]?.job ?? "jobs") : "jobs";
    const apply = await this.loadApply();
    if (type === "SVG") apply.save(`${name}.svg`, new TextEncoder().encode(svg), "image/svg+xml");
    else apply.save(`${name}.png`, await pngOf(svg), "image/png");
    this.announce(`${name}.${type.toLowerCase()} is downloaded.`);
  }

  private highlight(range: [number, number] | undefined) {
    if (!range) return;
    this.showPane("spec");
    this.editor.highlight(range);
  }

  /** Draws the open view if it is stale. */
  private drawView() {
    if (!this.current || !this.stale.delete(this.view)) return;
    const { compiled } = this.current;
    switch (this.view) {
      case "picture":
        this.drawPicture();
        break;
      case "timeline":
        this.drawTimeline().catch((error: unknown) => this.setStatus(asError(error).message));
        break;
      case "plan":
        drawPlans(compiled);
        break;
      case "objects":
        if (!this.hasScripts) {
          this.changesSinceBase.replaceChildren(h("p", {}, "Loading the scripts of the pods…"));
          break;
        }
        if (!this.objects) {
          this.report(this.loadObjects().then(() => this.redrawView("objects")));
          break;
        }
        if (this.base && this.base !== this.compared) this.objects.setBase(this.base.compiled);
        this.compared = this.base;
        this.objects.show(compiled);
        this.drawChanges(this.current).catch((error: unknown) => this.setStatus(asError(error).message));
        break;
      case "apply":
        if (this.apply) this.apply.show(compiled);
        else this.report(this.loadApply().then(() => this.redrawView("apply")));
        break;
    }
  }

  /** Shows the picture of the current state. If it has another width than the view, the compiler draws it again. */
  private drawPicture() {
    const { width } = this.picture;
    if (this.compiler) this.compiler.width = width;
    const state = this.current;
    if (!state || !width) return;
    const { jobs, picture } = state.compiled;
    this.details.show(state.compiled);
    if (picture?.width === width) this.picture.show(picture);
    else if (jobs.length > 0 && !this.isDrawing) void this.redraw(state, width);
  }

  private async redraw(state: State, width: number) {
    this.isDrawing = true;
    try {
      const picture = await this.loadedCompiler().draw(state.spec, width);
      if (picture) state.compiled.picture = picture;
      if (picture && this.current === state) this.picture.show(picture);
    } catch (error) {
      this.setStatus(asError(error).message);
    }
    this.isDrawing = false;
    if (this.current !== state || this.picture.width !== width) this.drawPicture();
  }

  private async drawTimeline() {
    (await this.timeline()).refresh();
  }

  private async loadTimeline(): Promise<TimelineView> {
    const { TimelineView } = await import("./timeline");
    this.shownTimeline = new TimelineView(
      byId("view-timeline"),
      this.scenario,
      async (job, scenario, width) => {
        const { current } = this;
        return current ? this.loadedCompiler().timeline(current.spec, job, scenario, width) : null;
      },
      (scenario) => {
        this.scenario = scenario;
        this.nameView();
      },
      (error) => this.setStatus(asError(error).message),
    );
    return this.shownTimeline;
  }

  /** Puts the open view into an address that names an example. */
  private nameView() {
    const { example } = decodePermalink(location.hash);
    if (example === undefined) return;
    const event = this.view === "timeline" ? this.scenario : "";
    history.replaceState(null, "", encodePermalink(example, this.view, event, this.target));
  }

  /** Shows what happens to a running job of the base if the current spec is applied. */
  private async drawChanges(current: State) {
    if (!this.base || this.base.spec === current.spec) {
      this.changesSinceBase.replaceChildren(h("p", {}, "Changes that you make from now on are marked."));
      return;
    }
    const changes = await this.loadedCompiler().changes(this.base.spec, current.spec);
    if (current !== this.current) return;
    const restart = h("button", { type: "button", onclick: () => this.restartComparison() }, "Compare from here on");
    const title = h("p", {}, "If you apply this spec over the one you started with:");
    this.changesSinceBase.replaceChildren(title, ...changeList(changes), restart);
  }

  private restartComparison() {
    if (!this.current) return;
    this.setBase(this.current);
    this.redrawView("objects");
  }

  private setBase(state: State) {
    this.base = state;
  }

  /** Suggests what to do with a text that holds no job: import it, or start from an example if it is empty. */
  private async suggestStart(text: string) {
    if (!text.trim()) {
      const act = () => this.load(smallest);
      this.problems.suggest({ text: "The spec is empty.", label: "Start from the smallest job", act });
      return;
    }
    const system = await this.loadedCompiler().detectSystem(text);
    if (!system || text !== this.editor.text) return;
    const act = () => this.openImport(text, system);
    this.problems.suggest({ text: `This looks like a file of \`${system}\`.`, label: "Import it", act });
  }

  private setStatus(text: string) {
    setText(byId("status"), text);
  }

  /** Shows the result of an action for a while, over the page. */
  private announce(text: string) {
    clearTimeout(this.announcement);
    setText(byId("toast"), text);
    this.announcement = setTimeout(() => setText(byId("toast"), ""), ANNOUNCED);
  }

  private openView(next: View, focus = false) {
    this.view = next;
    this.nameView();
    for (const view of VIEWS) {
      const tab = byId(`tab-${view}`);
      tab.setAttribute("aria-selected", String(view === next));
      tab.tabIndex = view === next ? 0 : -1;
      byId(`view-${view}`).hidden = view !== next;
      if (focus && view === next) tab.focus();
    }
    this.drawView();
  }

  /** Shows the event of the timeline that the address names. */
  private openLinkedEvent() {
    const { event } = decodePermalink(location.hash);
    const scenario = SCENARIOS.find((one) => one === event);
    if (!scenario) return;
    this.scenario = scenario;
    this.shownTimeline?.choose(scenario);
  }

  /** Selects the half of the page that a narrow screen shows. */
  private showPane(pane: "spec" | "result") {
    document.body.dataset["pane"] = pane;
    byId("show-spec").setAttribute("aria-pressed", String(pane === "spec"));
    byId("show-result").setAttribute("aria-pressed", String(pane === "result"));
  }

  private listen() {
    for (const [index, view] of VIEWS.entries()) {
      byId(`tab-${view}`).addEventListener("click", () => this.openView(view));
      byId(`tab-${view}`).addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        const next = step && VIEWS.at((index + step) % VIEWS.length);
        if (next) this.openView(next, true);
      });
    }
    byId("show-spec").addEventListener("click", () => this.showPane("spec"));
    byId("show-result").addEventListener("click", () => {
      this.showPane("result");
      this.redrawView(this.view);
    });
    byId("what-if").addEventListener("toggle", () => {
      this.report(this.loadWhatIf().then(() => this.current && this.whatIf?.show(this.current)));
    });
    const target = byId("target", HTMLSelectElement);
    target.append(...TARGETS.map(([value, label]) => h("option", { value }, label)));
    target.addEventListener("change", () => this.chooseTarget(target.value));
    this.listenForDrafts();
    this.listenForFiles();
    const links = bookAddress("docs/start.html") === undefined ? [] : bookLink("docs/start.html", "Docs");
    byId("links").append(...links);
    setVisible(byId("links"), links.length > 0);
    byId("import-open").addEventListener("click", () => this.openImport());
    byId("share").addEventListener("click", () => {
      this.report(
        this.loadApply()
          .then((apply) => apply.share())
          .then((text) => this.announce(text)),
      );
    });
    addEventListener("hashchange", () => void this.addressChanged());
    // A page that is left or hidden may get no further time.
    addEventListener("pagehide", () => this.drafts.flush());
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "hidden") this.drafts.flush();
    });
  }

  /** Shows what a changed address names. */
  private async addressChanged() {
    const spec = await this.specOfLink();
    const view = VIEWS.find((one) => one === decodePermalink(location.hash).view);
    this.openLinkedEvent();
    if (spec !== undefined) this.chooseTarget(decodePermalink(location.hash).target);
    if (view) this.openView(view);
    if (spec !== undefined && spec !== this.editor.text) this.openLinked(spec);
    else if (spec !== undefined && decodePermalink(location.hash).example === undefined) clearAddress();
  }

  /** Opens files that are chosen, or dropped anywhere on the page except into a dialog. */
  private listenForFiles() {
    const open = (file: File | undefined) =>
      void this.openFile(file).catch((error: unknown) => this.announce(asError(error).message));
    const input = h("input", { type: "file", accept: ".yaml,.yml,.sh,.sbatch,.json,text/*", hidden: true });
    input.addEventListener("change", () => {
      open(input.files?.[0]);
      input.value = "";
    });
    byId("open-file").after(input);
    byId("open-file").addEventListener("click", () => input.click());
    const hasFiles = (event: DragEvent) =>
      event.dataTransfer?.types.includes("Files") && !document.querySelector("dialog[open]");
    document.addEventListener("dragover", (event) => hasFiles(event) && event.preventDefault(), { capture: true });
    document.addEventListener(
      "drop",
      (event) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        // The editor would insert the file at the cursor.
        event.stopPropagation();
        open(event.dataTransfer?.files[0]);
      },
      { capture: true },
    );
  }

  /** Lists the examples, once they are loaded. */
  private async fillExamples() {
    this.examples = await loadExamples();
    const options = this.examples.map(({ name, spec }) => h("option", { value: name }, `${name} – ${summaryOf(spec)}`));
    byId("examples")
      .querySelector('[value="empty"]')
      ?.after(...options);
    this.fillStart();
  }

  private listenForDrafts() {
    const select = byId("examples", HTMLSelectElement);
    const drafts = h("optgroup", { label: "Your drafts in this browser" });
    select.append(h("option", { value: "" }, "Start from…"), h("option", { value: "empty" }, "an empty spec"));
    const listDrafts = () => {
      this.drafts.flush();
      const all = this.drafts.others();
      drafts.replaceChildren(
        ...all.map((draft) => h("option", { value: `draft ${draft.id}` }, titleOf(draft, Date.now()))),
      );
      if (all.length) select.append(drafts);
      else drafts.remove();
    };
    listDrafts();
    // Before the list opens: other tabs may have stored drafts.
    select.addEventListener("pointerdown", listDrafts);
    select.addEventListener("focus", listDrafts);
    select.addEventListener("change", () => {
      const { value } = select;
      select.value = "";
      if (!value) return;
      if (value.startsWith("draft ")) this.continueDraft(value.slice("draft ".length));
      else {
        const example = this.examples.find(({ name }) => name === value);
        if (example) this.loadExample(example.name, example.spec);
        else this.load("");
      }
      this.editor.focus();
    });
  }

  /** Fills the empty page: some examples, the import and a file. */
  private fillStart() {
    const cards = FIRST_EXAMPLES.flatMap((wanted) => {
      const example = this.examples.find(({ name }) => name === wanted);
      if (!example) return [];
      const onclick = () => {
        this.loadExample(example.name, example.spec);
        this.editor.focus();
      };
      const summary = h("span", {}, ...markup(summaryOf(example.spec)));
      return [h("button", { type: "button", class: "card", onclick }, h("strong", {}, example.name), " ", summary)];
    });
    const button = (text: string, id: string) => h("button", { type: "button", onclick: () => byId(id).click() }, text);
    byId("start").append(
      h("h2", {}, "Start from an example"),
      h("div", { class: "cards" }, ...cards),
      h("h2", {}, "Or from what you have"),
      h(
        "div",
        { class: "buttons" },
        button("Open a spec…", "open-file"),
        button("Import a job of another system…", "import-open"),
      ),
    );
  }

  /** The spec in the address. If it is damaged, a notice appears, as the editor then shows another spec. */
  private async specOfLink(): Promise<string | undefined> {
    const { hash } = location;
    const { example } = decodePermalink(hash);
    const notice = byId("notice");
    notice.hidden = true;
    if (example !== undefined) return (await loadExamples()).find(({ name }) => name === example)?.spec;
    if (!hash.startsWith(`#${SPEC}`)) return undefined;
    const { decodeSpec } = await import("./packed");
    try {
      return decodeSpec(hash);
    } catch {
      notice.className = "broken";
      notice.textContent = DAMAGED_LINK;
      notice.hidden = false;
      return undefined;
    }
  }

  /** Shows why the preview does not run. */
  private fail(...texts: string[]) {
    this.hasFailed = true;
    this.firstShown();
    // Without a compiler the page is still an editor.
    if (this.shown === 0) this.loadTools().catch(() => undefined);
    byId("broken").replaceChildren(...texts.flatMap((text) => markup(text)));
    byId("broken").hidden = false;
    this.setStatus("not running");
  }
}

/** Keeps the files of this version in the service worker's caches while the tab is open: it holds a lock with the script's address. */
function keepVersion() {
  if (!("locks" in navigator)) return;
  const forever = () => new Promise<never>(() => undefined);
  navigator.locks.request(import.meta.url, { mode: "shared" }, forever).catch(() => undefined);
}

/** A storage of the browser, if the page may use it. */
function storage(name: "localStorage" | "sessionStorage"): Storage | undefined {
  try {
    return window[name];
  } catch {
    return undefined;
  }
}

/** Removes the spec of a link from the address: it would come back with a reload. */
function clearAddress() {
  if (location.hash) history.replaceState(null, "", location.pathname + location.search);
}

async function compileModule(file: string): Promise<WebAssembly.Module> {
  const response = await fetch(file);
  if (!response.ok) throw new Error(`${file}: ${response.status}`);
  // Streaming needs the right content type, which not every server sends.
  const streams = response.headers.get("Content-Type")?.startsWith("application/wasm");
  return streams ? WebAssembly.compileStreaming(response) : WebAssembly.compile(await response.arrayBuffer());
}

/** The path without its last step: `spec.storage[0].name` → `spec.storage[0]` → `spec.storage`; empty for a single step. */
function parentOf(path: string): string {
  const parent = path.replace(/(\.[^.[]*|\[\d+\])$/, "");
  return parent === path ? "" : parent;
}

/** The total of the jobs: `32 GPUs · 32 ranks · 5 pods`, with the number of jobs if there are several. */
function total({ jobs, leftOut }: Compiled): string {
  if (!jobs.length) return "";
  const sum = (of: (report: Report) => number) => jobs.reduce((all, report) => all + of(report), 0);
  const all = [
    gpus(jobs),
    count(
      sum(({ ranks }) => ranks),
      "rank",
    ),
    count(
      sum(({ pods }) => pods),
      "pod",
    ),
  ].join(" · ");
  if (leftOut) return `${count(jobs.length + leftOut, "job")}; the first ${jobs.length}: ${all}`;
  return jobs.length > 1 ? `${count(jobs.length, "job")}: ${all}` : all;
}

function drawPlans({ jobs, leftOut }: Compiled) {
  const view = byId("view-plan");
  const rest = leftOut + Math.max(0, jobs.length - PLANS);
  const wasOpen = view.querySelector("details[open]") !== null;
  view.replaceChildren(
    ...jobs.slice(0, PLANS).map(plan),
    ...(rest ? [h("p", {}, `${count(rest, "more job")} not shown.`)] : []),
  );
  if (wasOpen) view.querySelector("details")?.setAttribute("open", "");
}
