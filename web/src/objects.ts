// The objects, folded, each with what changed since the base and with the lines of the spec it comes from.
import { decode } from "./core";
import { diff, type Line } from "./diff";
import { count, h } from "./dom";
import { Viewer } from "./editor";
import type { Doc, Sound } from "./types";

/** More objects than these are not listed. */
const LISTED = 200;

interface One {
  /** The same for the same object of another run. */
  key: string;
  doc: Doc;
  text: string;
  /** Its lines, the run's name out of them: it is in most names, and every change would change it. */
  plain: string;
}

interface Row {
  element: HTMLDetailsElement;
  badge: HTMLElement;
  links: HTMLElement;
  title: HTMLElement;
  viewer?: Viewer;
  viewed?: string;
}

function ones(preview: Sound): One[] {
  const seen = new Map<string, number>();
  return preview.documents.slice(0, LISTED).map((doc) => {
    const text = decode(preview.made, doc.from, doc.to);
    const run = doc.job === null ? undefined : preview.jobs[doc.job]?.run;
    const plain = (of: string) => (run ? of.replaceAll(run, "<run>") : of);
    const name = `${doc.kind || "other"} ${doc.namespace ?? ""} ${plain(doc.name)}`;
    const number = seen.get(name) ?? 0;
    seen.set(name, number + 1);
    return { key: `${name} ${number}`, doc, text, plain: plain(text) };
  });
}

export class Objects {
  private readonly rows = new Map<string, Row>();
  private base = new Map<string, string>();
  private now: One[] = [];
  private readonly gone = h("p", { class: "gone" });
  private readonly left = h("p", {});
  private readonly list = h("div", {});

  constructor(
    parent: HTMLElement,
    private readonly place: (job: number, field: string) => [number, number] | undefined,
    private readonly go: (place: [number, number]) => void,
  ) {
    parent.append(this.list, this.gone, this.left);
  }

  /** What later states are compared with. */
  setBase(preview: Sound) {
    this.base = new Map(ones(preview).map((one) => [one.key, one.plain]));
  }

  show(preview: Sound) {
    this.now = ones(preview);
    const keys = new Set(this.now.map((one) => one.key));
    for (const [key, row] of this.rows) {
      if (keys.has(key)) continue;
      row.viewer?.destroy();
      row.element.remove();
      this.rows.delete(key);
    }
    this.now.forEach((one, index) => this.row(one, index));
    const gone = [...this.base.keys()].filter((key) => !keys.has(key)).map((key) => key.replace(/ \d+$/, ""));
    this.gone.textContent = gone.length ? `Gone since the base: ${gone.join(", ")}` : "";
    const left = preview.documents.length - this.now.length;
    const jobs = preview.leftOut
      ? `${count(preview.leftOut, "more job")} hold; \`khorovod render\` makes their objects too. `
      : "";
    this.left.textContent = jobs + (left > 0 ? `${count(left, "more object")} not listed.` : "");
  }

  private row(one: One, index: number) {
    let row = this.rows.get(one.key);
    if (!row) {
      const badge = h("span", { class: "badge" });
      const title = h("span", { class: "name" });
      const links = h("div", { class: "origins" });
      const body = h("div", { class: "yaml" });
      const element = h(
        "details",
        { ontoggle: () => this.view(one.key) },
        h("summary", {}, h("span", { class: "kind" }, one.doc.kind || "passes as it is"), title, badge),
        links,
        body,
      );
      row = { element, badge, links, title };
      this.rows.set(one.key, row);
    }
    if (this.list.children[index] !== row.element)
      this.list.insertBefore(row.element, this.list.children[index] ?? null);
    if (row.title.textContent !== one.doc.name) row.title.textContent = one.doc.name;
    const before = this.base.get(one.key);
    const badge = before === undefined ? "new" : before === one.plain ? "" : "changed";
    if (row.badge.textContent !== badge) {
      row.badge.textContent = badge;
      row.badge.className = `badge ${badge}`;
    }
    if (row.element.open) this.view(one.key);
  }

  private view(key: string) {
    const row = this.rows.get(key)!;
    const one = this.now.find((other) => other.key === key);
    if (!row.element.open || !one) return;
    this.origins(row, one.doc);
    const before = this.base.get(key) ?? "";
    const state = `${one.text}\0${before}`;
    if (row.viewed === state) return;
    row.viewed = state;
    row.viewer ??= new Viewer(row.element.querySelector(".yaml")!, `${one.doc.kind} ${one.doc.name}, YAML`);
    row.viewer.show(one.text.trimEnd(), lines(before, one));
  }

  private origins(row: Row, doc: Doc) {
    const fields = doc.fields.map((field) => {
      const place = doc.job === null ? undefined : this.place(doc.job, field);
      const name = field.replace(/^spec\./, "");
      return place
        ? h("button", { type: "button", class: "origin-link", onclick: () => this.go(place) }, `from ${name}`)
        : h("span", { class: "default" }, `${name}: not in the spec, so by default`);
    });
    row.links.replaceChildren(...fields);
  }
}

function lines(before: string, one: One): Line[] {
  if (before === "" || before === one.plain) return [];
  return diff(before.trimEnd().split("\n"), one.plain.trimEnd().split("\n"));
}
