// The page: a text goes to the core with each change, and what comes back is shown.
import fields from "../../schema/training-job.v1alpha1.schema.json?url";
import wasm from "../pkg/khorovod_web_bg.wasm?url";
import { Apply } from "./apply";
import { Core } from "./core";
import { byId, count, h, say, show, words } from "./dom";
import { Editor, named } from "./editor";
import { examples, lesson } from "./examples";
import { Objects } from "./objects";
import { Picture } from "./picture";
import { Import } from "./import";
import { changes, cost, plan } from "./plan";
import { Fields, type Schema } from "./schema";
import { shared } from "./share";
import { type Change, type Codes, isSound, type Preview, type Problem, type Sound } from "./types";

const VIEWS = ["picture", "plan", "objects", "apply"] as const;
type View = (typeof VIEWS)[number];
/** More jobs than these have no plan of their own in the page. */
const PLANS = 20;
/** More problems than these are underlined but not listed. */
const LISTED = 50;
const DRAFT = "draft";

let core: Core;
let codes: Codes = {};
let view: View = "picture";
/** The last state without errors, and the text it is of. */
let sound: Sound | undefined;
let soundText = "";
/** The state that differences are told from. */
let base: { text: string; preview: Sound } | undefined;
/** Take the next sound state as the base. */
let rebase = true;
/** Views whose content is not of the last state. */
const stale = new Set<View>(VIEWS);

const editor = new Editor(byId("editor"), "", changed, pointBack);
const objects = new Objects(
  byId("view-objects"),
  (job, field) => place(job, field),
  (found) => point(found),
);
const picture = new Picture(byId("view-picture"), (field) => {
  const found = place(0, field);
  if (found) point(found);
});
const apply = new Apply(
  byId("view-apply"),
  () => core,
  () => editor.text,
);
apply.changed = () => {
  stale.add("apply");
  draw();
};

const over = new Import(
  () => core,
  (text) => {
    load(text);
    keep(text);
  },
  (name, text) => apply.keep(name, text),
);

/** Where a field or the nearest that holds it stands; nothing where that is all of the spec. */
function place(job: number, field: string): [number, number] | undefined {
  const places = sound?.places[job];
  for (let path = field; places && path && path !== "spec"; path = path.replace(/(\.[^.[]*|\[\d+\])$/, "")) {
    if (places[path]) return places[path];
    if (!/[.[]/.test(path)) return undefined;
  }
  return undefined;
}

function point(found: [number, number]) {
  pane("spec");
  editor.point(found);
}

/** What was pointed at is let go when the person moves on. */
function pointBack() {
  editor.point(null);
}

function changed(text: string, byHand: boolean) {
  if (byHand) {
    keep(text);
    if (location.hash) {
      history.replaceState(null, "", location.pathname + location.search);
      byId("notice").hidden = true;
    }
  }
  // The first text is there before the core is.
  // oxlint-disable-next-line typescript/no-unnecessary-condition
  core?.preview(text);
}

let keeping: ReturnType<typeof setTimeout> | undefined;

/** Keeps what is written in this browser, for a reload. */
function keep(text: string) {
  clearTimeout(keeping);
  keeping = setTimeout(() => {
    try {
      if (text.length < 1 << 20) localStorage.setItem(DRAFT, text);
    } catch {
      // It is a convenience.
    }
  }, 400);
}

function load(text: string) {
  rebase = true;
  editor.load(text);
}

function shown(text: string, preview: Preview) {
  // What was found in a text that has changed since is of no use; the newer one is under way.
  if (text !== editor.text) return;
  editor.show(preview.problems);
  problems(preview);
  const astray = preview.problems.find((problem) => problem.code === "no-training-job");
  if (astray && !astray.fix) void offer(text);
  if (isSound(preview)) {
    sound = preview;
    soundText = text;
    if (rebase) {
      base = { text, preview: sound };
      objects.setBase(sound);
      rebase = false;
    }
    VIEWS.forEach((one) => stale.add(one));
  }
  // The last job is no state of an empty text.
  const blank = !sound || !text.trim();
  byId("result").classList.toggle("blank", blank);
  byId("result").classList.toggle("old", !isSound(preview));
  show(byId("nothing"), blank);
  show(byId("stale"), !isSound(preview) && !blank);
  say(byId("sum"), blank ? "" : summary(sound!));
  draw();
  const of = (severity: Problem["severity"]) =>
    preview.problems.filter((problem) => problem.severity === severity).length;
  const found = (["error", "warning", "note"] as const).filter(of).map((severity) => count(of(severity), severity));
  status(found.join(", ") || "no problems");
  const { dataset } = document.documentElement;
  dataset.memory = String(core.memory);
  dataset.shown = String(++seen);
  if (seen === 1) performance.mark("interactive");
}

/** States shown so far: with the core's memory, what tests go by. */
let seen = 0;

function summary({ jobs }: Sound): string {
  if (jobs.length !== 1) return jobs.length ? count(jobs.length, "job") : "";
  const [report] = jobs;
  return `${cost(report!)} · ${count(report!.ranks, "rank")} · ${count(report!.pods, "pod")}`;
}

/** Brings the view that is open up to date. */
function draw() {
  if (!sound || !stale.delete(view)) return;
  if (view === "picture") {
    if (sound.jobs[0]) picture.draw(sound.jobs[0]);
  } else if (view === "plan") drawPlan(sound);
  else if (view === "objects") {
    objects.show(sound);
    void drawChanges();
  } else apply.show(sound);
}

function drawPlan({ jobs, leftOut }: Sound) {
  const left = leftOut + Math.max(0, jobs.length - PLANS);
  const open = !!byId("view-plan").querySelector("details[open]");
  byId("view-plan").replaceChildren(
    ...jobs.slice(0, PLANS).map(plan),
    ...(left ? [h("p", {}, `${count(left, "more job")}: see khorovod plan.`)] : []),
  );
  if (open) byId("view-plan").querySelector("details")?.setAttribute("open", "");
}

const head = h("div", { class: "base" });
byId("view-objects").prepend(head);

/** What applying this text over the base would do to a running job. */
async function drawChanges() {
  const text = soundText;
  if (!base || base.text === text) {
    head.replaceChildren(h("p", {}, "What changes from here on is marked."));
    return;
  }
  const found = JSON.parse(await core.ask("changes", base.text, text)) as Change[];
  if (text !== soundText) return;
  const again = h("button", { type: "button", onclick: () => mark() }, "Compare from here on");
  head.replaceChildren(h("p", {}, "Applied over the state you began with:"), ...changes(found), again);
}

function mark() {
  if (!sound) return;
  base = { text: soundText, preview: sound };
  objects.setBase(sound);
  stale.add("objects");
  draw();
}

function problems({ problems: list, more }: Preview) {
  const rest = more + Math.max(0, list.length - LISTED);
  byId("problems").replaceChildren(
    ...list.slice(0, LISTED).map(problemRow),
    ...(rest ? [h("p", {}, `${count(rest, "more problem")}.`)] : []),
  );
}

/** A text that is no job may be another system's file; where there is none, somebody may want one to begin with. */
async function offer(text: string) {
  if (!text.trim()) {
    suggest("Nothing is written yet.", "Start from the smallest job", () => load(examples[0]![1]));
    return;
  }
  const system = await core.ask("guess", text);
  if (system && text === editor.text)
    suggest(`This looks like a file of \`${system}\`.`, "Import it", () => void over.open(text, system));
}

/** Says something above the problems, with a button for the way on. */
function suggest(said: string, name: string, act: () => void) {
  const button = h("button", { type: "button", class: "fix", onclick: act }, name);
  byId("problems").prepend(h("div", { class: "offer" }, h("p", {}, ...words(said)), button));
}

function problemRow(problem: Problem): HTMLElement {
  const at = problem.labels[0];
  const line = at ? editor.view.state.doc.lineAt(Math.min(at.from, editor.view.state.doc.length)).number : 1;
  const { fix } = problem;
  const details = codes[problem.code]?.details;
  return h(
    "div",
    { class: `problem ${problem.severity}` },
    h("button", { type: "button", class: "go", onclick: () => at && editor.go(at.from) }, `line ${line}`),
    h(
      "div",
      {},
      h("p", {}, h("span", { class: "sr" }, `${problem.severity}: `), ...words(problem.message)),
      problem.hint ? h("p", { class: "help" }, ...words(problem.hint)) : null,
      details
        ? h(
            "details",
            {},
            h("summary", {}, problem.code),
            ...details.split("\n\n").map((part) => h("p", {}, ...words(part))),
          )
        : h("p", { class: "help" }, problem.code),
    ),
    fix ? h("button", { type: "button", class: "fix", onclick: () => editor.replace(fix) }, named(problem)) : null,
  );
}

function status(text: string) {
  say(byId("status"), text);
}

function open(next: View, focus = false) {
  view = next;
  for (const one of VIEWS) {
    const tab = byId(`tab-${one}`);
    tab.setAttribute("aria-selected", String(one === next));
    tab.tabIndex = one === next ? 0 : -1;
    byId(`view-${one}`).hidden = one !== next;
    if (focus && one === next) tab.focus();
  }
  draw();
}

/** Which half is seen where there is no room for both. */
function pane(which: "spec" | "result") {
  document.body.dataset.pane = which;
  byId("show-spec").setAttribute("aria-pressed", String(which === "spec"));
  byId("show-result").setAttribute("aria-pressed", String(which === "result"));
}

function wire() {
  for (const one of VIEWS) {
    byId(`tab-${one}`).addEventListener("click", () => open(one));
    byId(`tab-${one}`).addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step) open(VIEWS[(VIEWS.indexOf(view) + step + VIEWS.length) % VIEWS.length]!, true);
    });
  }
  byId("show-spec").addEventListener("click", () => pane("spec"));
  byId("show-result").addEventListener("click", () => {
    pane("result");
    stale.add(view);
    draw();
  });
  const select = byId<HTMLSelectElement>("examples");
  select.append(
    h("option", { value: "" }, "Start from…"),
    h("option", { value: "empty" }, "an empty spec"),
    ...examples.map(([name, text]) => h("option", { value: name }, `${name} – ${lesson(text)}`)),
  );
  select.addEventListener("change", () => {
    const found = examples.find(([name]) => name === select.value);
    if (select.value) load(found ? found[1] : "");
    if (select.value) keep(editor.text);
    select.value = "";
    editor.view.focus();
  });
  byId("import-open").addEventListener("click", () => void over.open());
  byId("share").addEventListener("click", async () => status(await apply.share()));
  addEventListener("hashchange", () => {
    const text = linked();
    if (text !== null && text !== editor.text) load(text);
  });
}

/** The link's spec; one that cannot be read is told of, lest what stands here be taken for it. */
function linked(): string | null {
  const notice = byId("notice");
  notice.hidden = true;
  try {
    return shared();
  } catch {
    notice.textContent =
      "The spec of this link cannot be read: the link was cut or changed on its way. What stands here is another; ask for the link again.";
    notice.hidden = false;
    return null;
  }
}

/** The text to begin with: the link's, the one left here, or the smallest example. */
function first(): string {
  const fromLink = linked();
  if (fromLink !== null) return fromLink;
  try {
    const draft = localStorage.getItem(DRAFT);
    if (draft?.trim()) return draft;
  } catch {
    // Nothing is kept here.
  }
  return examples[0]![1];
}

function broken(...said: string[]) {
  const place = byId("broken");
  place.replaceChildren(...said.flatMap((text) => words(text)));
  place.hidden = false;
  status("not running");
}

async function compile(): Promise<WebAssembly.Module> {
  const response = await fetch(wasm);
  if (!response.ok) throw new Error(`${wasm}: ${response.status}`);
  // A server that does not know wasm calls it something else; then it takes the longer way.
  const known = response.headers.get("Content-Type")?.startsWith("application/wasm");
  return known ? WebAssembly.compileStreaming(response) : WebAssembly.compile(await response.arrayBuffer());
}

async function start() {
  wire();
  pane("spec");
  open("picture");
  editor.load(first());
  if (typeof WebAssembly !== "object") {
    broken(
      "This browser has no WebAssembly, or it is switched off, and the preview is a program in it. The spec stays here to edit; `khorovod plan job.yaml` shows the same in a terminal.",
    );
    return;
  }
  try {
    const module = await compile();
    core = new Core(module, shown, (error) => broken("The preview stopped: ", error.message));
    core.preview(editor.text);
    const [schema, known] = await Promise.all([fetch(fields).then((response) => response.json()), core.ask("codes")]);
    editor.teach(new Fields(schema as Schema));
    codes = JSON.parse(known) as Codes;
    core.comeNear();
    document.documentElement.dataset.ready = "";
  } catch (error) {
    broken(
      "The preview could not start: ",
      (error as Error).message,
      ". `khorovod plan job.yaml` shows the same in a terminal.",
    );
  }
  if (import.meta.env.PROD && "serviceWorker" in navigator && isSecureContext)
    navigator.serviceWorker.register("./sw.js").catch(() => undefined);
}

void start();
