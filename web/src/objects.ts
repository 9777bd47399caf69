// The rendered objects, folded. Each shows what changed since the base, and links to the fields that it comes from.
import { type Compiled, decode } from "./compiler";
import { diff, type Line } from "./diff";
import { count, h, markup, setText } from "./dom";
import { Viewer } from "./viewer";
import type { RenderedDocument } from "./wire/types";

/** At most this many objects are listed. */
const LISTED = 200;

type Range = [number, number];

interface RenderedObject {
  /** Identifies the same object in another state. */
  key: string;
  document: RenderedDocument;
  text: string;
  /** The text without the run's name: the name is in most objects, and every change of the spec changes it. */
  comparable: string;
}

interface Row {
  element: HTMLDetailsElement;
  title: HTMLElement;
  badge: HTMLElement;
  origins: HTMLElement;
  /** Where the viewer is made once the row is opened. */
  body: HTMLElement;
  viewer?: Viewer;
  /** Identifies what the viewer shows. */
  viewed?: string;
}

function objectsOf({ documents, jobs, rendered }: Compiled): RenderedObject[] {
  const seen = new Map<string, number>();
  return documents.slice(0, LISTED).map((document) => {
    const text = decode(rendered, document.from, document.to);
    const run = document.job === null ? undefined : jobs[document.job]?.run;
    const withoutRun = (part: string) => (run ? part.replaceAll(run, "<run>") : part);
    const name = `${document.kind || "other"} ${document.namespace ?? ""} ${withoutRun(document.name)}`;
    const earlier = seen.get(name) ?? 0;
    seen.set(name, earlier + 1);
    return { key: `${name} ${earlier}`, document, text, comparable: withoutRun(text) };
  });
}

export class Objects {
  private readonly rows = new Map<string, Row>();
  /** The comparable texts of the base, by key. */
  private base = new Map<string, string>();
  private current: RenderedObject[] = [];
  private readonly list = h("div");
  private readonly removed = h("p", { class: "gone" });
  private readonly rest = h("p");

  constructor(
    parent: HTMLElement,
    /** The range of a job's field in the spec. */
    private readonly rangeOf: (job: number, field: string) => Range | undefined,
    private readonly highlight: (range: Range) => void,
  ) {
    parent.append(this.list, this.removed, this.rest);
  }

  /** Sets what later states are compared with. */
  setBase(compiled: Compiled) {
    this.base = new Map(objectsOf(compiled).map(({ key, comparable }) => [key, comparable]));
  }

  show(compiled: Compiled) {
    this.current = objectsOf(compiled);
    const keys = new Set(this.current.map((object) => object.key));
    for (const [key, row] of this.rows) {
      if (keys.has(key)) continue;
      row.viewer?.destroy();
      row.element.remove();
      this.rows.delete(key);
    }
    for (const [index, object] of this.current.entries()) this.update(object, index);
    const removed = [...this.base.keys()].filter((key) => !keys.has(key)).map((key) => key.replace(/ \d+$/, ""));
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

  private update(object: RenderedObject, index: number) {
    const row = this.rows.get(object.key) ?? this.addRow(object);
    const { element, title, badge } = row;
    if (this.list.children[index] !== element) this.list.insertBefore(element, this.list.children[index] ?? null);
    setText(title, object.document.name);
    const before = this.base.get(object.key);
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
    const element = h("details", {}, h("summary", {}, kind, title, badge), origins, body);
    const row: Row = { element, title, badge, origins, body };
    element.addEventListener("toggle", () => {
      const object = this.current.find((other) => other.key === key);
      if (element.open && object) this.view(row, object);
    });
    this.rows.set(key, row);
    return row;
  }

  /** Shows the object's origins and text in its open row. */
  private view(row: Row, object: RenderedObject) {
    row.origins.replaceChildren(...object.document.fields.map((field) => this.origin(object.document.job, field)));
    const before = this.base.get(object.key) ?? "";
    const viewed = `${object.text}\0${before}`;
    if (row.viewed === viewed) return;
    row.viewed = viewed;
    row.viewer ??= new Viewer(row.body, `${object.document.kind} ${object.document.name}, YAML`);
    row.viewer.show(object.text.trimEnd(), changedLines(before, object.comparable));
  }

  /** A link to a field in the spec, or a note that its default was used. */
  private origin(job: number | null, field: string): HTMLElement {
    const range = job === null ? undefined : this.rangeOf(job, field);
    const name = field.replace(/^spec\./, "");
    if (!range) return h("span", { class: "default" }, `${name}: default, not in the spec`);
    const onclick = () => this.highlight(range);
    return h("button", { type: "button", class: "origin-link", onclick }, `from ${name}`);
  }
}

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
