// The dialog that compares the spec with another one: size and price, pictures, what the change does to running jobs, and the
// texts line by line.
import "./compare.css";
import { asError, type Compiler } from "./compiler";
import { diff, equalRuns, type Line } from "./diff";
import { count, h, markup, number, s, setText, setVisible } from "./dom";
import { type Drafts, titleOf } from "./drafts";
import { loadExamples, summaryOf } from "./examples";
import { changeList } from "./plan";
import { gpus } from "./total";
import type { Compiled, Picture, Report } from "./wire/types";

/** The width that a picture is drawn for, in CSS pixels; it is scaled to the column. */
const WIDTH = 500;
const PASTED = "pasted";

/** A line of both texts, or the lines in place of each other. */
export interface Pair {
  left: string | undefined;
  right: string | undefined;
  isSame: boolean;
}

/** Puts removed lines beside the lines that were added in their place. */
export function pairsOf(lines: Line[]): Pair[] {
  const pairs: Pair[] = [];
  let [removed, added]: [string[], string[]] = [[], []];
  const flush = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); at++)
      pairs.push({ left: removed[at], right: added[at], isSame: false });
    [removed, added] = [[], []];
  };
  for (const { kind, text } of lines) {
    if (kind === "removed") removed.push(text);
    else if (kind === "added") added.push(text);
    else {
      flush();
      pairs.push({ left: text, right: text, isSame: true });
    }
  }
  flush();
  return pairs;
}

/** A row of the table of sizes: its label, the value of each side, and their difference. */
export type SizeRow = [string, string, string, string];

const money = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const sum = (reports: Report[], of: (report: Report) => number) => reports.reduce((all, one) => all + of(one), 0);

function differenceOf(one: number | undefined, other: number | undefined, format: (value: number) => string): string {
  if (one === other) return "same";
  if (one === undefined || other === undefined) return "";
  return (other < one ? "−" : "+") + format(Math.abs(other - one));
}

/** Compares the sizes of the jobs of two specs; with a price per GPU hour, their cost too. */
export function sizesOf(left: Compiled, right: Compiled, price: number | undefined): SizeRow[] {
  const rows: SizeRow[] = [];
  type Of = (side: Compiled) => number | undefined;
  const row = (label: string, of: Of, format: (value: number) => string = number) => {
    const [one, other] = [of(left), of(right)];
    const text = (value: number | undefined) => (value === undefined ? "no limit" : format(value));
    rows.push([label, text(one), text(other), differenceOf(one, other, format)]);
  };
  const most: Of = ({ jobs }) => sum(jobs, ({ cost }) => cost.bounds[1]);
  const hours: Of = ({ jobs }) =>
    jobs.some(({ cost }) => cost.bounds[1] && cost.mostHours === undefined)
      ? undefined
      : sum(jobs, ({ cost }) => cost.mostHours ?? 0);
  rows.push(["GPUs", gpus(left.jobs), gpus(right.jobs), differenceOf(most(left), most(right), number)]);
  row("GPU hours until the deadline", hours);
  if (price !== undefined) {
    const times = (of: Of) => (side: Compiled) => {
      const value = of(side);
      return value === undefined ? undefined : value * price;
    };
    row("price per hour", times(most), (value) => money.format(value));
    row("price until the deadline", times(hours), (value) => money.format(value));
  }
  row("workers", ({ jobs }) => sum(jobs, ({ workers }) => workers.reduce((all, one) => all + one.replicas, 0)));
  row("ranks", ({ jobs }) => sum(jobs, ({ ranks }) => ranks));
  row("pods", ({ jobs }) => sum(jobs, ({ pods }) => pods));
  row("objects", ({ documents }) => documents.length);
  const kinds = new Set([...left.documents, ...right.documents].map(({ kind }) => kind));
  const ofKind = (side: Compiled, wanted: string) => side.documents.filter(({ kind }) => kind === wanted).length;
  for (const kind of kinds)
    if (ofKind(left, kind) !== ofKind(right, kind)) row(`of these ${kind}`, (side) => ofKind(side, kind));
  return rows;
}

interface Context {
  compiler: () => Compiler;
  drafts: Drafts;
}

export class Comparison {
  private spec = "";
  private price: number | undefined;
  /** The specs in the list, by the values of their options. */
  private readonly specs = new Map<string, string>();
  private readonly choice = h("select", { id: "compare-with", onchange: () => this.compare() });
  private readonly pasted = h("textarea", {
    rows: 8,
    spellcheck: "false",
    autocomplete: "off",
    "aria-label": "The other spec",
    placeholder: "Paste the other spec here.",
    oninput: () => this.compare(),
  });
  private readonly summary = h("p", { role: "status", class: "sr" });
  private readonly result = h("div");
  private readonly dialog = h(
    "dialog",
    { id: "compare", "aria-labelledby": "compare-title" },
    h("h2", { id: "compare-title" }, "Compare with another spec"),
    h("label", { for: "compare-with" }, "The other spec"),
    this.choice,
    this.pasted,
    this.summary,
    this.result,
    h("div", { class: "buttons" }, h("button", { type: "button", onclick: () => this.dialog.close() }, "Close")),
  );
  /** Counts the comparisons; one that ends after the next one began is not shown. */
  private attempts = 0;

  constructor(private readonly context: Context) {
    document.body.append(this.dialog);
  }

  /** Opens the dialog for a spec without errors. */
  async open(spec: string, price: number | undefined) {
    this.spec = spec;
    this.price = price;
    const chosen = this.choice.value;
    await this.list();
    if (this.specs.has(chosen) || chosen === PASTED) this.choice.value = chosen;
    this.dialog.showModal();
    this.compare();
  }

  private async list() {
    this.specs.clear();
    const option = (value: string, spec: string, label: string) => {
      this.specs.set(value, spec);
      return h("option", { value }, label);
    };
    const examples = (await loadExamples()).map(({ name, spec }) =>
      option(`example ${name}`, spec, `${name} – ${summaryOf(spec)}`),
    );
    const drafts = this.context.drafts
      .others()
      .map((draft) => option(`draft ${draft.id}`, draft.spec, titleOf(draft, Date.now())));
    this.choice.replaceChildren(
      h("option", { value: "" }, "Choose…"),
      h("option", { value: PASTED }, "a spec that I paste"),
      ...(drafts.length ? [h("optgroup", { label: "Your drafts in this browser" }, ...drafts)] : []),
      h("optgroup", { label: "Examples" }, ...examples),
    );
  }

  private compare() {
    const isPasted = this.choice.value === PASTED;
    setVisible(this.pasted, isPasted);
    const other = isPasted ? this.pasted.value : this.specs.get(this.choice.value);
    const attempt = ++this.attempts;
    const show = (content: (Node | string)[]) => attempt === this.attempts && this.result.replaceChildren(...content);
    if (other?.trim()) {
      const failed = (error: unknown) => [h("p", { class: "warn" }, asError(error).message)];
      void this.content(this.spec, other).catch(failed).then(show);
    } else show([]);
  }

  private async content(own: string, other: string): Promise<Node[]> {
    const compiler = this.context.compiler();
    const [left, right, changes] = await Promise.all([
      compiler.compile(own, WIDTH),
      compiler.compile(other, WIDTH),
      compiler.changes(own, other),
    ]);
    if (!left.compiled || !right.compiled) {
      const problems = [...left.problems, ...right.problems].filter(({ severity }) => severity === "error");
      return [
        h("p", { class: "warn" }, "The other spec has errors, so only the texts are compared:"),
        h("ul", {}, ...problems.slice(0, 3).map(({ message }) => h("li", {}, ...markup(message)))),
        ...texts(own, other),
      ];
    }
    const sizes = sizesOf(left.compiled, right.compiled, this.price);
    const [first] = sizes;
    if (first) setText(this.summary, `This spec: ${first[1]}. The other one: ${first[2]}.`);
    const effects = changes.filter(({ effect }) => effect !== "nothing");
    return [
      table("sizes", ["", "this spec", "the other one", "change"], sizes.map(sizeRow)),
      h("div", { class: "pictures" }, ...drawings([left.compiled.picture, right.compiled.picture])),
      h("h2", {}, "If you apply the other one over this one"),
      ...(effects.length ? changeList(effects) : [h("p", {}, "Nothing changes.")]),
      ...texts(own, other),
    ];
  }
}

const table = (kind: string, heads: string[], rows: HTMLElement[]) =>
  h(
    "table",
    { class: kind },
    h("thead", {}, h("tr", {}, ...heads.map((head) => (head ? h("th", { scope: "col" }, head) : h("td"))))),
    h("tbody", {}, ...rows),
  );

const sizeRow = ([label, ...values]: SizeRow) =>
  h("tr", {}, h("th", { scope: "row" }, label), ...values.map((value) => h("td", {}, value)));

/** The pictures of both sides. */
const drawings = (pictures: (Picture | undefined)[]) =>
  pictures.flatMap((picture) => {
    if (!picture) return [];
    const { width, height, description, items } = picture;
    const viewBox = `0 0 ${width} ${height}`;
    const svg = s("svg", { class: "picture", role: "img", viewBox, "aria-label": description });
    // The compiler escapes texts, and the page's policy forbids scripts.
    svg.innerHTML = items.map((item) => `<g transform="translate(${item.x} ${item.y})">${item.svg}</g>`).join("");
    return [svg];
  });

/** Both texts beside each other. */
function texts(own: string, other: string): HTMLElement[] {
  const lines = diff(own.trimEnd().split("\n"), other.trimEnd().split("\n"));
  const title = h("h2", {}, "The texts");
  if (lines.every(({ kind }) => kind === "same")) return [title, h("p", {}, "Both texts are the same.")];
  const folded = new Map(equalRuns(lines));
  const rows: HTMLElement[] = [];
  let hiddenUntil = 0;
  let line = 0;
  for (const { left, right, isSame } of pairsOf(lines)) {
    if (right !== undefined) line++;
    const last = isSame ? folded.get(line) : undefined;
    if (last !== undefined) {
      hiddenUntil = last;
      rows.push(h("tr", {}, h("td", { colspan: 2, class: "folded" }, `… ${count(last - line + 1, "equal line")}`)));
    }
    if (isSame && line <= hiddenUntil) continue;
    const cell = (text: string | undefined, kind: string) =>
      h("td", { class: text !== undefined && !isSame && kind }, text ?? "");
    rows.push(h("tr", {}, cell(left, "removed"), cell(right, "added")));
  }
  return [title, table("texts", ["this spec", "the other one"], rows)];
}
