// The page: each change of the spec goes to the compiler, and the views show what it returns.
import schemaFile from "../../schema/training-job.v1alpha1.schema.json?url";
import moduleFile from "../pkg/khorovod_web_bg.wasm?url";
import targetsModuleFile from "../pkg/khorovod_web_targets_bg.wasm?url";
import { bookAddress, bookLink } from "./book";
import { asError, type Compiled, Compiler } from "./compiler";
import { byId, count, h, markup, setText } from "./dom";
import { Drafts, type Offered, type StoredDraft } from "./drafts";
import { Editor } from "./editor";
import { loadExamples, smallest } from "./examples";
import { fixAll } from "./fix-all";
import type { ImportDialog } from "./import";
import { ImportReport } from "./import-report";
import { decodePermalink, encodePermalink, maskSecrets, PLAIN, SPEC } from "./link";
import { once } from "./once";
import { ProblemList, summarize, worstOf } from "./problems";
import { Result, VIEWS } from "./result";
import { makeSplit } from "./split";
import type { Preview, Problem, Scenario } from "./wire/types";

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
/** The notice beside a spec that is not the user's draft, and its button. */
const NOTICES: Record<Offered["because"], [string, string]> = {
  link: ["This spec came with the link. Your own one is kept. ", "Back to mine"],
  replaced: ["The spec before this one is kept as a draft. ", "Bring it back"],
};
/** How long the result of an action is shown, in ms. */
const ANNOUNCED = 12_000;

const NO_WEBASSEMBLY =
  "This browser has no WebAssembly, or it is switched off; the preview needs it. You can still edit the spec here.";
const STILL_AN_EDITOR = "Reload the page to try again. You can still edit the spec here.";
const DAMAGED_LINK =
  "The spec in this link cannot be read: the link was cut or changed. The page shows another spec. Ask for the link again.";

export class Page {
  private compiler: Compiler | undefined;
  /** Loads the parts that the first preview does without. A view that cannot be loaded is loaded again when it is opened. */
  private readonly loadParts = once(() => this.makeParts());
  private readonly importDialog = once(() => this.makeImportDialog());
  private readonly importReport = new ImportReport(storage("sessionStorage"), (imported) =>
    this.report(this.importDialog().then((dialog) => dialog.openReport(imported))),
  );
  private readonly targetsModule = once(() => compileModule(targetsModuleFile));
  private target = PLAIN;
  /** How many previews were shown. Tests wait for it to change. */
  private shown = 0;
  /** Called when a preview is shown. */
  private firstShown: () => void = () => undefined;
  /** Ends the message about the result of an action. */
  private announcement: ReturnType<typeof setTimeout> | undefined;

  private readonly editor: Editor;
  private readonly problems: ProblemList;
  private readonly result: Result;
  private readonly drafts = new Drafts(storage("localStorage"), storage("sessionStorage"), (spec) => this.masked(spec));
  /** The page runs without a compiler. */
  private hasFailed = false;

  constructor() {
    this.editor = new Editor(
      byId("editor"),
      (spec, byUser) => this.specChanged(spec, byUser),
      () => this.editor.highlight(null),
      (text) => this.announce(text),
    );
    this.problems = new ProblemList(byId("problems"), this.editor, (found) => this.report(this.fixAll(found)));
    this.result = new Result({
      compiler: () => this.compiler,
      editor: this.editor,
      target: () => this.target,
      otherTarget: () => (this.target === PLAIN ? undefined : TARGETS.find(([name]) => name === this.target)?.[1]),
      useKubernetes: () => {
        this.chooseTarget(PLAIN);
        byId("tab-timeline").focus();
      },
      drafts: this.drafts,
      storage: storage("localStorage"),
      highlight: (range) => {
        this.showPane("spec");
        this.editor.highlight(range);
      },
      onNavigate: () => this.nameView(),
      setStatus: (text) => this.setStatus(text),
      announce: (text) => this.announce(text),
    });
  }

  private async makeImportDialog(): Promise<ImportDialog> {
    const { ImportDialog } = await import("./import");
    return new ImportDialog(
      () => this.loadedCompiler(),
      (imported) => {
        const isKept = this.loadOwn(imported.job);
        this.importReport.keep(imported);
        // The preview may already be there, without what the report adds to it.
        this.compiler?.preview(this.editor.text);
        return isKept;
      },
      (name, text) => void this.result.parts().then(({ apply }) => apply.download(name, text)),
      () => {
        // The button that opened the dialog may be gone, such as an offer among the problems. Then nothing on the page has the focus.
        if (!document.activeElement?.closest("header, main")) this.editor.focus();
      },
    );
  }

  private openImport(file?: string, system?: string) {
    this.report(this.importDialog().then((dialog) => dialog.open(file, system)));
  }

  /** Shows the error of an action, if it has one. */
  private report(action: Promise<unknown>) {
    action.catch((error: unknown) => this.announce(asError(error).message));
  }

  /** Shows the first spec, then loads the compiler and the schema. */
  async start() {
    keepVersion();
    makeSplit(storage("localStorage"));
    this.listen();
    this.showPane("spec");
    this.openLinkedEvent();
    this.report(this.useTarget(decodePermalink(location.hash).target));
    this.result.open(VIEWS.find((view) => view === decodePermalink(location.hash).view) ?? "picture");
    const linked = await this.specOfLink();
    if (linked === undefined || this.drafts.isOpened(linked)) {
      this.editor.load(this.drafts.restore() ?? smallest);
      const offered = this.drafts.offered();
      // There may be a notice that the link is damaged.
      if (offered && byId("notice").hidden) this.offerBack(offered);
    } else this.openLinked(linked);
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
    compiler.width = this.result.width;
    const isShown = new Promise<void>((resolve) => (this.firstShown = resolve));
    compiler.preview(this.editor.text);
    // Nothing else is loaded before the first preview is shown.
    await isShown;
    const codes = compiler.loadTexts();
    this.report(this.loadParts());
    await Promise.all([this.loadTools(), this.loadParts().catch(() => undefined)]);
    this.problems.codes = await codes;
    compiler.loadHere();
    // The objects before have no scripts.
    this.result.restart();
    this.result.hasScripts = true;
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

  private async makeParts() {
    const [{ listenForFiles, makeStartMenu }, examples] = await Promise.all([
      import("./later"),
      loadExamples(),
      this.result.parts(),
    ]);
    const andFocus = (act: () => void) => {
      act();
      this.editor.focus();
    };
    makeStartMenu(examples, this.drafts, {
      loadExample: ({ name, spec }) => andFocus(() => this.loadExample(name, spec)),
      loadEmpty: () => andFocus(() => this.load("")),
      continueDraft: (id) => this.continueDraft(id),
    });
    listenForFiles({
      open: (text) => andFocus(() => this.loadOwn(text)),
      announce: (text) => this.announce(text),
    });
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
    history.replaceState(null, "", encodePermalink(name, this.result.view, "", this.target));
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
    this.result.restart();
    this.compiler?.preview(this.editor.text);
  }

  /** Renders for another target, and puts it into the address. */
  private chooseTarget(name?: string) {
    this.report(this.useTarget(name).then(() => this.nameView()));
  }

  /**
   * Puts another spec into the editor. Its first state without errors becomes the base. If the editor had a draft of the user, it stays
   * in the list, and a notice offers the way back. Returns whether that is so.
   */
  private load(spec: string): boolean {
    const { text } = this.editor;
    this.drafts.flush();
    const id = this.drafts.current;
    this.drafts.open(spec);
    this.show(spec);
    if (id === undefined || text === spec) return false;
    this.offerBack({ because: "replaced", draft: { id, spec: text, time: Date.now() } });
    return true;
  }

  /** Puts a spec of the user into the editor, such as a file: it becomes a draft. */
  private loadOwn(spec: string): boolean {
    const isKept = this.load(spec);
    this.drafts.openOwn(spec);
    return isKept;
  }

  /** Shows a notice with a button that continues a draft. */
  private offerBack(offered: Offered) {
    const [text, label] = NOTICES[offered.because];
    const { draft } = offered;
    const hide = () => {
      this.hideNotice();
      this.editor.focus();
    };
    const notice = byId("notice");
    notice.className = "info";
    notice.replaceChildren(
      text,
      h("button", { type: "button", onclick: () => this.continueDraft(draft.id, draft) }, label),
      " ",
      h("button", { type: "button", onclick: hide }, "Hide"),
    );
    notice.hidden = false;
    this.drafts.offer(offered);
  }

  private hideNotice() {
    byId("notice").hidden = true;
    this.drafts.offer(undefined);
  }

  /** Applies the fixes of these problems, and of those that are found after them, as one change. */
  private async fixAll(found: Problem[]) {
    const { text } = this.editor;
    const changes = await fixAll(text, found, (spec) => this.loadedCompiler().compile(spec, 0));
    // The user may have typed meanwhile.
    if (text === this.editor.text) this.editor.change(changes);
    this.editor.focus();
  }

  private show(spec: string) {
    // The message may be about the spec before.
    this.announce("");
    this.importReport.forget();
    this.result.forget();
    clearAddress();
    this.hideNotice();
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
    if (own && own.spec !== spec) this.offerBack({ because: "link", draft: own });
  }

  /** Continues a stored draft. If it is not stored, as the browser may store nothing, uses `otherwise`. */
  private continueDraft(id: string, otherwise?: StoredDraft) {
    this.drafts.flush();
    const draft = this.drafts.others().find((one) => one.id === id) ?? otherwise;
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
    this.result.show(spec, compiled);
    const { lost } = this.importReport;
    const losses = lost ? `${count(lost, "part")} of the imported file ${lost === 1 ? "is" : "are"} lost` : "";
    if (losses) {
      const act = () => this.importReport.open();
      this.problems.suggest({ text: `${losses}.`, label: "Open the report", act, dismiss: () => this.dismissLosses() });
    }
    const problems = losses && !found.problems.length ? "" : summarize(found);
    this.setStatus(isEmpty ? "" : [problems, losses].filter(Boolean).join("; "));
    const worst = worstOf(found) || (losses ? "warning" : "");
    if (byId("status").dataset["worst"] !== worst) byId("status").dataset["worst"] = worst;
    const { dataset } = document.documentElement;
    dataset["memory"] = String(this.compiler?.memory ?? 0);
    dataset["shown"] = String(++this.shown);
    if (this.result.hasScripts) dataset["ready"] = "";
    if (this.shown === 1) performance.mark("interactive");
    this.firstShown();
  }

  /** Removes the message that parts of the imported file are lost. */
  private dismissLosses() {
    this.importReport.dismiss();
    this.compiler?.preview(this.editor.text);
    this.editor.focus();
  }

  /** Puts the open view into an address that names an example. */
  private nameView() {
    const { example } = decodePermalink(location.hash);
    if (example === undefined) return;
    const { view, scenario } = this.result;
    const event = view === "timeline" ? scenario : "";
    history.replaceState(null, "", encodePermalink(example, view, event, this.target));
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

  /** Shows the event of the timeline that the address names. */
  private openLinkedEvent() {
    const { event } = decodePermalink(location.hash);
    const scenario = SCENARIOS.find((one) => one === event);
    if (scenario) this.result.choose(scenario);
  }

  /** Selects the half of the page that a narrow screen shows. */
  private showPane(pane: "spec" | "result") {
    document.body.dataset["pane"] = pane;
    byId("show-spec").setAttribute("aria-pressed", String(pane === "spec"));
    byId("show-result").setAttribute("aria-pressed", String(pane === "result"));
  }

  private listen() {
    byId("show-spec").addEventListener("click", () => this.showPane("spec"));
    byId("show-result").addEventListener("click", () => {
      this.showPane("result");
      this.result.redraw();
    });
    const target = byId("target", HTMLSelectElement);
    target.append(...TARGETS.map(([value, label]) => h("option", { value }, label)));
    target.addEventListener("change", () => this.chooseTarget(target.value));
    const docs = bookAddress("docs/start.html") === undefined ? [] : bookLink("docs/start.html", "Docs");
    const source = h("a", { href: REPOSITORY, target: "_top" }, "Source");
    byId("links").append(...docs, source, h("span", {}, VERSION));
    byId("import-open").addEventListener("click", () => this.openImport());
    byId("share").addEventListener("click", () => {
      this.report(
        this.result
          .parts()
          .then(({ apply }) => apply.share())
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
    if (view) this.result.open(view);
    if (spec !== undefined && spec !== this.editor.text) this.openLinked(spec);
    else if (spec !== undefined && decodePermalink(location.hash).example === undefined) clearAddress();
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
    if (this.shown === 0) Promise.all([this.loadTools(), this.loadParts()]).catch(() => undefined);
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
