// "What if": sliders for the size of a job, which write into the spec, and what the job costs at a price per GPU hour.
import type { Compiler, State } from "./compiler";
import { count, h, number, setAttributes, setText, setVisible } from "./dom";
import type { Drafts } from "./drafts";
import { once } from "./once";
import { gpus } from "./total";
import type { PlacedText, Report } from "./wire/types";

/** Where the price is stored. */
const PRICE = "price";
const REPLICAS = "spec.workers.replicas";
const GPUS = "spec.workers.gpus";
/** The fields with a slider. */
const FIELDS = [
  { path: REPLICAS, label: "Workers", least: 1, most: 16 },
  { path: GPUS, label: "GPUs per worker", least: 0, most: 8 },
] as const;
type Path = (typeof FIELDS)[number]["path"];

/** The ranges of the fields in a spec, each from its key to the end of its value. */
type Ranges = Partial<Record<Path, [number, number]>>;

/** The edit that sets a field to a number. A field that the spec lacks is added behind the number of workers. */
export function editOf(spec: string, ranges: Ranges, path: Path, value: number): PlacedText | undefined {
  const [from, to] = ranges[path] ?? [];
  if (from !== undefined && to !== undefined) {
    const digits = /\d+$/.exec(spec.slice(from, to));
    return digits ? { from: from + digits.index, to, text: String(value) } : undefined;
  }
  const [start, end] = ranges[REPLICAS] ?? [];
  if (start === undefined || end === undefined) return undefined;
  const field = `${path.split(".").at(-1)}: ${value}`;
  const indent = spec.slice(spec.lastIndexOf("\n", start - 1) + 1, start);
  if (indent.trim()) return { from: end, to: end, text: `, ${field}` };
  // Behind a comment on the same line.
  const lineEnd = (spec.indexOf("\n", end) + 1 || spec.length + 1) - 1;
  return { from: lineEnd, to: lineEnd, text: `\n${indent}${field}` };
}

/** The ranges behind an edit of `editOf`. */
export function rangesBehind(ranges: Ranges, path: Path, { from, to, text }: PlacedText): Ranges {
  const by = text.length - (to - from);
  // An insertion behind a field does not belong to it.
  const shift = (at: number) => (at > to || (at === to && from < to) ? at + by : at);
  const moved: Ranges = {};
  for (const { path: other } of FIELDS) {
    const range = ranges[other];
    if (range) moved[other] = [shift(range[0]), shift(range[1])];
  }
  const added = /[a-z].*$/.exec(text);
  if (!ranges[path] && added) moved[path] = [from + added.index, from + text.length];
  return moved;
}

/** The edit that turns one text into another: all between what both begin with and what both end with. */
export function editBetween(before: string, after: string): PlacedText {
  const most = Math.min(before.length, after.length);
  let from = 0;
  while (from < most && before[from] === after[from]) from++;
  let same = 0;
  while (same < most - from && before.at(-1 - same) === after.at(-1 - same)) same++;
  return { from, to: before.length - same, text: after.slice(from, after.length - same) };
}

/** Reads a price, with a decimal point or comma. Returns undefined if it cannot be read: `1,000` may be one or a thousand. */
export function priceFrom(text: string): number | undefined {
  const trimmed = text.trim();
  if (!/^(\d+([.,]\d*)?|[.,]\d+)$/.test(trimmed) || /^[1-9]\d*,\d{3}$/.test(trimmed)) return undefined;
  return Number(trimmed.replace(",", "."));
}

const money = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });

/** Describes the GPUs of jobs and their cost: per hour, and until the deadlines. The price may be unknown. */
export function costOf(reports: Pick<Report, "cost">[], price: number | undefined): string {
  const [least, most] = ([0, 1] as const).map((end) => reports.reduce((all, { cost }) => all + cost.bounds[end], 0));
  if (!most || least === undefined) return "The job requests no GPUs.";
  const range = least === most ? "" : `${money.format(least * (price ?? 0))} to `;
  const perHour = price === undefined ? "" : ` cost ${range}${money.format(most * price)} per hour`;
  const unlimited = reports.filter(({ cost }) => cost.bounds[1] && cost.mostHours === undefined).length;
  if (unlimited) {
    const some = reports.length > 1 ? `${count(unlimited, "job")} without a deadline` : "The job has no deadline";
    return `${gpus(reports)}${perHour}. ${some}: set spec.lifecycle.deadline to limit the cost.`;
  }
  const hours = reports.reduce((all, { cost }) => all + (cost.mostHours ?? 0), 0);
  const inHours = count(hours, "GPU hour");
  // Kubernetes counts the GPUs of such a node until the pod is deleted, and another pod has GPUs too.
  const without = "without GPUs of nodes that do not answer";
  if (price === undefined) return `${gpus(reports)}, at most ${inHours} until the deadline, ${without}.`;
  return `${gpus(reports)}${perHour}, and at most ${money.format(hours * price)} until the deadline (${inHours}), ${without}.`;
}

/** The largest number of a slider: a power of two with room to grow. */
export const mostOf = (value: number, most: number) => Math.max(most, 2 ** Math.ceil(Math.log2(value * 1.5 || 1)));

interface Context {
  /** The text of the spec. */
  text: () => string;
  replace: (edit: PlacedText) => void;
  compiler: () => Compiler;
  drafts: Drafts;
  storage: Storage | undefined;
  /** Shows the error of an action, if it has one. */
  report: (action: Promise<unknown>) => void;
}

export class WhatIf {
  private job = 0;
  private state: State | undefined;
  /** The spec behind the last edit of a slider, which may have errors. */
  private written: { spec: string; ranges: Ranges } | undefined;
  /** The specs before the first and behind the last edit of a slider, until something else changes the spec. */
  private moved: { before: string; after: string } | undefined;
  private readonly jobs = h("select", { "aria-label": "Job", onchange: () => this.chooseJob() });
  private readonly jobLabel = h("label", {}, h("span", {}, "Job"), this.jobs);
  private readonly sliders = FIELDS.map((field) => {
    const value = h("b", { "aria-hidden": "true" });
    const oninput = () => this.set(field.path, Number(input.value));
    const input = h("input", { type: "range", min: field.least, max: field.most, oninput });
    return { field, input, value, label: h("label", {}, h("span", {}, `${field.label} `, value), input) };
  });
  private readonly price = h("input", {
    type: "text",
    inputmode: "decimal",
    autocomplete: "off",
    placeholder: "2.50",
    "aria-describedby": "price-unread",
    oninput: () => this.priceChanged(),
  });
  /** Why the price is not used. */
  private readonly unread = h("p", { class: "warn", id: "price-unread", role: "alert" });
  private readonly cost = h("p", { role: "status" });
  private readonly reset = h(
    "button",
    { type: "button", disabled: true, onclick: () => this.takeBack() },
    "Reset sliders",
  );
  private readonly hint = h("p", { class: "hint" });

  private readonly comparison = once(async () => {
    const { Comparison } = await import("./compare");
    return new Comparison(this.context);
  });

  constructor(
    parent: HTMLElement,
    private readonly context: Context,
  ) {
    const onclick = () => context.report(this.compare());
    const compare = h("button", { type: "button", onclick }, "Compare with another spec…");
    const priceLabel = h("label", {}, h("span", {}, "Price per GPU hour"), this.price);
    parent.append(
      h(
        "div",
        { class: "fields" },
        this.jobLabel,
        ...this.sliders.map(({ label }) => label),
        this.reset,
        priceLabel,
        compare,
      ),
      this.unread,
      this.cost,
      this.hint,
    );
    try {
      this.price.value = context.storage?.getItem(PRICE) ?? "";
    } catch {
      // The browser lets the page store nothing.
    }
  }

  /** Shows the last state without errors. */
  show(state: State) {
    this.state = state;
    const { jobs } = state.compiled;
    if (this.job >= jobs.length) this.job = 0;
    setVisible(this.jobLabel, jobs.length > 1);
    const names = jobs.map(({ job }) => job);
    if (names.join("\n") !== [...this.jobs.options].map(({ text }) => text).join("\n")) {
      this.jobs.replaceChildren(...names.map((name, index) => h("option", { value: index }, name)));
      this.jobs.value = String(this.job);
    }
    this.draw();
  }

  /** The ranges of the fields in the spec as it is now; undefined if it has errors that no slider has made. */
  private ranges(): Ranges | undefined {
    const spec = this.context.text();
    if (spec === this.written?.spec) return this.written.ranges;
    return spec === this.state?.spec ? this.state.compiled.places[this.job] : undefined;
  }

  private draw() {
    const { compiled } = this.state ?? {};
    const report = compiled?.jobs[this.job];
    if (!compiled || !report) return;
    const spec = this.context.text();
    const ranges = this.ranges();
    for (const { field, input, value } of this.sliders) {
      const { path, least, most } = field;
      const range = ranges?.[path];
      const written = range && /\d+$/.exec(spec.slice(...range))?.[0];
      const now = Number(written ?? (path === GPUS ? report.workers[0]?.gpus : report.workers[0]?.replicas) ?? least);
      // The scale stays the same while the slider moves.
      if (now > Number(input.max) || !input.matches(":active, :focus")) input.max = String(mostOf(now, most));
      input.value = String(now);
      input.disabled = !ranges?.[REPLICAS];
      setText(value, number(now));
    }
    this.reset.disabled = spec !== this.moved?.after || spec === this.moved.before;
    setText(this.hint, this.hintFor(ranges, spec));
    setVisible(this.hint, this.hint.textContent !== "");
    const price = this.priceOf();
    const isUnread = price === undefined && this.price.value.trim() !== "";
    setText(this.unread, isUnread ? "This price cannot be read: write a number such as 2.50." : "");
    setVisible(this.unread, isUnread);
    setAttributes(this.price, { "aria-invalid": String(isUnread) });
    const all = compiled.jobs.length > 1 ? ` All jobs: ${costOf(compiled.jobs, price)}` : "";
    setText(this.cost, costOf([report], price) + all);
  }

  private priceOf(): number | undefined {
    return priceFrom(this.price.value);
  }

  /** Compares the last state without errors with another spec. */
  private async compare() {
    const comparison = await this.comparison();
    if (this.state) await comparison.open(this.state.spec, this.priceOf(), this.context.text() !== this.state.spec);
  }

  private hintFor(ranges: Ranges | undefined, spec: string): string {
    if (!ranges) return "The spec has errors: fix them to move the sliders.";
    if (spec !== this.state?.spec) return "With these numbers the spec has errors: they are listed below the spec.";
    return ranges[REPLICAS] ? "" : "The spec does not set workers.replicas, so there is nothing to slide.";
  }

  private set(path: Path, value: number) {
    const spec = this.context.text();
    const ranges = this.ranges();
    const edit = ranges && editOf(spec, ranges, path, value);
    if (!edit) return;
    const after = spec.slice(0, edit.from) + edit.text + spec.slice(edit.to);
    this.written = { spec: after, ranges: rangesBehind(ranges, path, edit) };
    this.moved = { before: spec === this.moved?.after ? this.moved.before : spec, after };
    this.context.replace(edit);
    this.draw();
  }

  /** Puts the spec back to what it was before the sliders moved. */
  private takeBack() {
    const spec = this.context.text();
    if (!this.moved || spec !== this.moved.after) return;
    this.context.replace(editBetween(spec, this.moved.before));
    this.written = undefined;
    this.moved = undefined;
    this.draw();
    // The button is off, so it has lost the focus.
    this.sliders.find(({ input }) => !input.disabled)?.input.focus();
  }

  private chooseJob() {
    this.job = Number(this.jobs.value);
    this.written = undefined;
    this.draw();
  }

  private priceChanged() {
    try {
      this.context.storage?.setItem(PRICE, this.price.value);
    } catch {
      // The price lasts until the page is closed.
    }
    this.draw();
  }
}
