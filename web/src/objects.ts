// The rendered objects as a tree: each job, its objects, and what a controller creates from them. An object can be opened; it
// then shows its purpose, the fields that it comes from, and what changed in it since the base.
import { type Compiled, decode, type State } from "./compiler";
import { diff, type Line } from "./diff";
import { count, h, markup, setText } from "./dom";
import { icon } from "./icons";
import { changeList } from "./plan";
import { Viewer } from "./viewer";
import type { Changes, ObjectName, RenderedDocument, Report } from "./wire/types";

/** At most this many objects are listed. */
const LISTED = 200;

type Range = [number, number];

interface Actions {
  /** The range of a job's field in the spec. */
  rangeOf: (job: number, field: string) => Range | undefined;
  /** Marks a range of the spec. */
  highlight: (range: Range) => void;
  /** Computes what happens to running jobs if the spec `now` replaces the spec `old`. */
  changes: (old: string, now: string) => Promise<Changes>;
  /** Makes the current state the one to compare with. */
  restart: () => void;
}

interface RenderedObject {
  /** Identifies the same object in another state. */
  key: string;
  document: RenderedDocument;
  /** The description of the object; undefined for a document that is not part of a job. */
  about: ObjectName | undefined;
  text: string;
  /** The text without the run's name: the name is in most objects, and every change of the spec changes it. */
  comparable: string;
}

interface Row {
  /** The object in the tree, with what is created from it below. */
  branch: HTMLElement;
  element: HTMLDetailsElement;
  title: HTMLElement;
  fact: HTMLElement;
  badge: HTMLElement;
  purpose: HTMLElement;
  origins: HTMLElement;
  created: HTMLElement;
  /** Identifies what `created` shows. */
  creates: string;
  /** Where the viewer is made once the row is opened. */
  body: HTMLElement;
  viewer?: Viewer;
  /** Identifies what the viewer shows. */
  viewed?: string;
}

/** A job with its objects, or the documents between two jobs. */
interface Root {
  element: HTMLElement;
  line: HTMLElement;
  branches: HTMLElement;
}

function objectsOf({ documents, jobs, rendered }: Compiled): RenderedObject[] {
  const seen = new Map<string, number>();
  /** The number of objects of each job so far: a report lists them in the order of the documents. */
  const counts: number[] = [];
  return documents.slice(0, LISTED).map((document) => {
    const { job } = document;
    const index = job === null ? 0 : (counts[job] ?? 0);
    if (job !== null) counts[job] = index + 1;
    const about = job === null ? undefined : jobs[job]?.objects[index];
    const text = decode(rendered, document.from, document.to);
    const run = document.job === null ? undefined : jobs[document.job]?.run;
    const withoutRun = (part: string) => (run ? part.replaceAll(run, "<run>") : part);
    const name = `${document.kind || "other"} ${document.namespace ?? ""} ${withoutRun(document.name)}`;
    const earlier = seen.get(name) ?? 0;
    seen.set(name, earlier + 1);
    return { key: `${name} ${earlier}`, document, about, text, comparable: withoutRun(text) };
  });
}

export class Objects {
  private readonly rows = new Map<string, Row>();
  /** The state that later states are compared with. */
  private base: State | undefined;
  /** The base that the user has chosen. */
  private chosen: State | undefined;
  /** The comparable texts of the base, by key. */
  private texts = new Map<string, string>();
  /** The state that is shown. */
  private state: State | undefined;
  private current: RenderedObject[] = [];
  private readonly roots: Root[] = [];
  private readonly changes = h("div", { class: "base" }, h("p", {}, "Loading the scripts of the pods…"));
  private readonly list = h("ul", { class: "tree" });
  private readonly removed = h("p", { class: "gone" });
  private readonly rest = h("p");

  constructor(
    parent: HTMLElement,
    private readonly actions: Actions,
  ) {
    parent.append(this.changes, this.list, this.removed, this.rest);
  }

  /** Shows the objects of a state, their differences from the base, and what these do to a running job of the base. */
  async show(state: State, base: State) {
    if (base !== this.base) {
      this.texts = new Map(objectsOf(base.compiled).map(({ key, comparable }) => [key, comparable]));
    }
    this.base = base;
    this.state = state;
    this.showTree(state.compiled);
    if (base.spec === state.spec) {
      this.changes.replaceChildren(h("p", {}, "Changes that you make from now on are marked."));
      return;
    }
    const changes = await this.actions.changes(base.spec, state.spec);
    if (state !== this.state) return;
    const onclick = () => {
      this.chosen = state;
      this.actions.restart();
    };
    const about = "From now on, the marks and this list show what differs from the spec as it is now.";
    const restart = h("button", { type: "button", onclick, title: about }, "Compare from here on");
    const jobs = base.compiled.jobs.map(({ job }) => `\`${job}\``).join(", ");
    const when = base === this.chosen ? "at “Compare from here on”" : "that was opened last, before all changes";
    const title = `Compared with the spec ${when} (job ${jobs}). If you applied that one, and now apply this one:`;
    this.changes.replaceChildren(h("p", {}, ...markup(title)), ...changeList(changes), restart);
  }

  private showTree(compiled: Compiled) {
    this.current = objectsOf(compiled);
    const keys = new Set(this.current.map((object) => object.key));
    for (const [key, row] of this.rows) {
      if (keys.has(key)) continue;
      row.viewer?.destroy();
      row.branch.remove();
      this.rows.delete(key);
    }
    const groups = groupsOf(this.current);
    for (const [index, objects] of groups.entries()) this.showGroup(index, objects, compiled.jobs);
    for (const { element } of this.roots.splice(groups.length)) element.remove();
    const removed = [...this.texts.keys()].filter((key) => !keys.has(key)).map((key) => key.replace(/ \d+$/, ""));
    setText(this.removed, removed.length ? `Removed since the base: ${removed.join(", ")}` : "");
    this.rest.replaceChildren(...markup(notListed(compiled, this.current.length)));
  }

  /** Opens an object by its index in the rendered documents, and moves the focus to it. */
  reveal(index: number) {
    const row = this.rows.get(this.current[index]?.key ?? "");
    if (!row) return;
    row.element.open = true;
    row.element.scrollIntoView({ block: "start" });
    row.element.querySelector("summary")?.focus();
  }

  /** Shows the objects of a job below it. */
  private showGroup(index: number, objects: RenderedObject[], jobs: Report[]) {
    const root = this.roots[index] ?? this.addRoot();
    const job = objects[0]?.document.job ?? null;
    const report = job === null ? undefined : jobs[job];
    const name = report ? `${report.job}, run ${report.run}` : "Documents that are not jobs";
    if (root.line.textContent !== name) root.line.replaceChildren(...this.rootLine(job, report, name));
    // Objects that run pods come first, as the others serve these pods. Otherwise the order is that of the documents.
    const runsPods = ({ about }: RenderedObject) => about?.creates !== undefined;
    const ordered = [...objects.filter(runsPods), ...objects.filter((object) => !runsPods(object))];
    for (const [place, object] of ordered.entries()) this.update(object, root.branches, place);
  }

  private addRoot(): Root {
    const line = h("div", { class: "root" });
    const branches = h("ul");
    const root: Root = { element: h("li", {}, line, branches), line, branches };
    this.list.append(root.element);
    this.roots.push(root);
    return root;
  }

  private rootLine(job: number | null, report: Report | undefined, name: string): HTMLElement[] {
    if (job === null || !report) return [h("span", {}, name)];
    const onclick = () => {
      const range = this.actions.rangeOf(job, "metadata.name");
      if (range) this.actions.highlight(range);
    };
    return [h("button", { type: "button", onclick, title: "Show it in the spec" }, icon("TrainingJob"), name)];
  }

  private update(object: RenderedObject, list: HTMLElement, index: number) {
    const row = this.rows.get(object.key) ?? this.addRow(object);
    const { branch, element, title, badge } = row;
    const { about } = object;
    if (list.children[index] !== branch) list.insertBefore(branch, list.children[index] ?? null);
    setText(title, object.document.name);
    branch.dataset["index"] = String(this.current.indexOf(object));
    setText(row.fact, about?.fact ?? "");
    const creates = JSON.stringify(about?.creates ?? []);
    if (row.creates !== creates) {
      row.creates = creates;
      row.created.replaceChildren(...createdBy(about));
    }
    const before = this.texts.get(object.key);
    const state = before === undefined ? "new" : before === object.comparable ? "" : "changed";
    if (badge.textContent !== state) {
      badge.textContent = state;
      badge.className = `badge ${state}`;
    }
    if (element.open) this.view(row, object);
  }

  private addRow({ key, document }: RenderedObject): Row {
    const title = h("span", { class: "name" });
    const badge = h("span", { class: "badge" });
    const origins = h("div", { class: "origins" });
    const body = h("div", { class: "yaml" });
    const kind = h("span", { class: "kind" }, document.kind || "unchanged");
    const fact = h("span", { class: "fact" });
    const purpose = h("p", { class: "purpose" });
    const summary = h("summary", {}, icon(document.kind), kind, title, fact, badge);
    const element = h("details", {}, summary, purpose, origins, body);
    const created = h("ul", { class: "created" });
    const branch = h("li", {}, element, created);
    const row: Row = { branch, element, title, fact, badge, purpose, origins, created, creates: "[]", body };
    element.addEventListener("toggle", () => {
      const object = this.current.find((other) => other.key === key);
      if (element.open && object) this.view(row, object);
    });
    this.rows.set(key, row);
    return row;
  }

  /** Shows the object's purpose, origins and text in its open row. */
  private view(row: Row, object: RenderedObject) {
    const purpose = object.about?.purpose ?? "";
    if (row.purpose.textContent !== purpose.replaceAll("`", "")) row.purpose.replaceChildren(...markup(purpose));
    row.origins.replaceChildren(...object.document.fields.map((field) => this.origin(object.document.job, field)));
    const before = this.texts.get(object.key) ?? "";
    const viewed = `${object.text}\0${before}`;
    if (row.viewed === viewed) return;
    row.viewed = viewed;
    row.viewer ??= new Viewer(row.body, `${object.document.kind} ${object.document.name}, YAML`);
    row.viewer.show(object.text.trimEnd(), changedLines(before, object.comparable));
  }

  /** A link to a field in the spec, or a note that its default was used. */
  private origin(job: number | null, field: string): HTMLElement {
    const range = job === null ? undefined : this.actions.rangeOf(job, field);
    const name = field.replace(/^spec\./, "");
    if (!range) return h("span", { class: "default" }, `${name}: default, not in the spec`);
    const onclick = () => this.actions.highlight(range);
    return h("button", { type: "button", class: "origin-link", onclick }, `from ${name}`);
  }
}

/** Splits objects where the job changes. */
function groupsOf(objects: RenderedObject[]): RenderedObject[][] {
  const groups: RenderedObject[][] = [];
  for (const object of objects) {
    const last = groups.at(-1);
    if (last && last[0]?.document.job === object.document.job) last.push(object);
    else groups.push([object]);
  }
  return groups;
}

/** A line for each kind of objects that a controller creates from an object. */
const createdBy = (about: ObjectName | undefined) =>
  (about?.creates ?? []).map((created) =>
    h(
      "li",
      {},
      icon(created.kind),
      h("span", { class: "kind" }, count(created.count, created.kind)),
      h("span", { class: "name" }, created.count > 1 ? `${created.name} …` : created.name),
      h("span", { class: "fact" }, created.fact),
    ),
  );

/** A sentence about the objects that are not listed; empty if all are. */
function notListed({ documents, leftOut }: Compiled, listed: number): string {
  const objects = documents.length - listed;
  const jobs = leftOut ? `The objects of ${count(leftOut, "more job")} are not shown; downloads have all. ` : "";
  return `${jobs}${objects > 0 ? `${count(objects, "more object")} not listed.` : ""}`;
}

function changedLines(before: string, now: string): Line[] {
  if (before === "" || before === now) return [];
  return diff(before.trimEnd().split("\n"), now.trimEnd().split("\n"));
}
