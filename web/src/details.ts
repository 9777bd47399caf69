// Shows the details of a part of the picture: its host, GPUs, ranks, objects and the lines of the spec.
import type { Compiled } from "./compiler";
import { count, h } from "./dom";
import type { Part } from "./picture";
import { amounts, source } from "./plan";
import type { Report, Workers } from "./wire/types";

interface Actions {
  /** Marks the lines of a field in the spec; undefined if the spec does not have the field. */
  goToField: (job: number, field: string) => (() => void) | undefined;
  /** Opens an object, by its index in the rendered documents. */
  openObject: (index: number) => void;
}

type Row = [string, (string | HTMLElement)[]];

export class Details {
  private part: Part | undefined;
  private readonly panel = h("aside", {
    class: "details",
    "aria-label": "Details of the part",
    "aria-live": "polite",
    hidden: true,
  });

  constructor(
    private readonly parent: HTMLElement,
    private readonly actions: Actions,
  ) {
    parent.append(this.panel);
    parent.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !this.panel.hidden) this.close();
    });
  }

  /** Shows what is behind a part, and scrolls so that the panel does not cover it. */
  open(compiled: Compiled, part: Part, element: Element | null) {
    this.part = part;
    this.show(compiled);
    if (this.panel.hidden || !element) return;
    const covered = element.getBoundingClientRect().bottom + 8 - this.panel.getBoundingClientRect().top;
    if (covered > 0) this.parent.scrollBy({ top: covered });
  }

  /** Shows the same part of another state; closes if there is nothing to show. */
  show(compiled: Compiled) {
    const report = this.part && compiled.jobs[this.part.item.job];
    const content = report && this.part && describe(report, this.part);
    if (!content || !this.part) {
      this.close();
      return;
    }
    const { item } = this.part;
    const field = item.field ?? "";
    const rows: Row[] = [
      ...content.rows,
      ["objects", this.objects(compiled, item.job, [field, ...content.fields], content.names)],
      ["spec", [this.field(item.job, field)]],
    ];
    const close = h(
      "button",
      { type: "button", class: "close", "aria-label": "Close", onclick: () => this.close() },
      "×",
    );
    this.panel.replaceChildren(
      h("h3", {}, content.title, close),
      h(
        "table",
        { class: "plan" },
        h("tbody", {}, ...rows.filter(([, cell]) => cell.length > 0).map(([label, cell]) => row(label, cell))),
      ),
    );
    this.panel.hidden = false;
  }

  close() {
    this.part = undefined;
    this.panel.hidden = true;
  }

  private objects({ documents }: Compiled, job: number, fields: string[], names: string[]): HTMLElement[] {
    return documents.flatMap((document, index) => {
      const isWorkload = ["StatefulSet", "Job"].includes(document.kind) && names.includes(document.name);
      const isBehind = isWorkload || fields.some((field) => document.fields.includes(field));
      if (document.job !== job || !isBehind) return [];
      const onclick = () => this.actions.openObject(index);
      return [h("button", { type: "button", class: "origin-link", onclick }, `${document.kind} ${document.name}`)];
    });
  }

  private field(job: number, field: string): HTMLElement {
    const name = field.replace(/^spec\./, "");
    const goTo = this.actions.goToField(job, field);
    if (!goTo) return h("span", { class: "default" }, `${name}: default, not in the spec`);
    return h("button", { type: "button", class: "origin-link", onclick: goTo }, name);
  }
}

const row = (label: string, cell: (string | HTMLElement)[]) =>
  h("tr", {}, h("th", { scope: "row" }, label), h("td", {}, ...cell));

interface Content {
  title: string;
  rows: Row[];
  /** Further fields whose objects are listed, and names of objects. */
  fields: string[];
  names: string[];
}

function describe(report: Report, { item, kind, index, worker }: Part): Content | undefined {
  const { head } = report;
  // The PodGroup of a gang belongs to all of `scheduling`.
  if (kind === "frame") {
    const fields = item.field === "spec.scheduling.gang" ? ["spec.scheduling"] : [];
    return { title: item.tip ?? "", rows: [], fields, names: [] };
  }
  if (kind === "head") {
    const rows: Row[] = [
      ["host", [h("code", {}, head.host)]],
      ["starts", [report.launcher.replaceAll("`", "")]],
      ["ranks", head.ranks ? [String(head.ranks)] : []],
      ["requests", head.requests.length ? [amounts(head.requests)] : []],
    ];
    return { title: "launcher", rows, fields: [], names: [head.host.split(".")[0] ?? ""] };
  }
  if (kind === "volume") {
    const volume = report.storage[index];
    if (!volume) return undefined;
    const rows: Row[] = [
      ["mounted at", [h("code", {}, volume.mountPath)]],
      ["source", [source(volume)]],
    ];
    return { title: `volume ${volume.name}`, rows, fields: [], names: [] };
  }
  const group = report.workers[index];
  if (!group || !["worker", "team", "grid"].includes(kind)) return undefined;
  const each: Row[] = [["requests", [`${amounts(group.requests) || "none"}; /dev/shm ${group.shm}`]]];
  const of = group.group === undefined ? "" : `${group.group}, `;
  if (worker === undefined) {
    const [first, last] = group.hosts;
    const rows: Row[] = [
      ["hosts", [h("code", {}, first === last ? first : `${first} … ${last}`)]],
      ["each has", [`${count(group.gpus, "GPU")}, ${count(group.slots, "rank")}`]],
      ...each,
    ];
    return { title: `${of}${count(group.replicas, "worker")}`, rows, fields: [], names: [group.workload] };
  }
  const rows: Row[] = [
    ["host", [h("code", {}, hostOf(group, worker))]],
    ["GPUs", [group.gpus ? String(group.gpus) : "none"]],
    ["ranks", [ranksOf(report, group, worker)]],
    ...each,
  ];
  return { title: `${of}worker ${worker}`, rows, fields: [], names: [group.workload] };
}

/** The host name of a worker: that of the first worker with another number. */
const hostOf = ({ hosts: [first] }: Workers, worker: number) => first.replace("-0.", `-${worker}.`);

/** The ranks of a worker, and where they pass gradients. */
export function ranksOf(report: Report, group: Workers, worker: number): string {
  if (worker >= group.replicas)
    return report.elastic ? "none until it joins, if there is room" : "none until it takes the place of a lost worker";
  if (group.firstRank === undefined) return `${group.slots}; numbered when the run starts`;
  const first = group.firstRank + worker * group.slots;
  const last = first + group.slots - 1;
  const all = first === last ? String(first) : `${first}–${last}`;
  return report.ranks > 1 ? `${all}; rank ${last} passes gradients to rank ${(last + 1) % report.ranks}` : all;
}
