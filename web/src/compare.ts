// The dialog that compares the spec with another one: size and price, pictures, what the change does to running jobs, and the
// texts line by line.
import "./compare.css";
import { asError, type Compiler } from "./compiler";
import { diff, equalRuns, pairsOf } from "./diff";
import { count, h, markup, s, setText, setVisible } from "./dom";
import { type Drafts, titlesOf } from "./drafts";
import { loadExamples, summaryOf } from "./examples";
import { changeList } from "./plan";
import { type SizeRow, sizesOf } from "./sizes";
import type { Picture } from "./wire/types";

/** The width that a picture is drawn for, in CSS pixels; it is scaled to the column. */
const WIDTH = 500;
const PASTED = "pasted";

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
  /** A note if the spec is an earlier state of the editor. */
  private readonly earlier = h("div");
  private readonly summary = h("p", { role: "status", class: "sr" });
  private readonly result = h("div");
  private readonly dialog = h(
    "dialog",
    { id: "compare", "aria-labelledby": "compare-title" },
    h("h2", { id: "compare-title" }, "Compare with another spec"),
    this.earlier,
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

  /** Opens the dialog for a spec without errors. `isEarlier`: the editor now has errors, and this is its last state without them. */
  async open(spec: string, price: number | undefined, isEarlier: boolean) {
    const note = "The spec in the editor has errors: its last state without errors is compared.";
    this.earlier.replaceChildren(...(isEarlier ? [h("p", { class: "warn" }, note)] : []));
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
    const others = this.context.drafts.others();
    const titles = titlesOf(others, Date.now());
    const drafts = others.map(({ id, spec }, index) => option(`draft ${id}`, spec, titles[index] ?? ""));
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
