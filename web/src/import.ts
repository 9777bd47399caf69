// Coming from another system: a file is pasted, the job takes its place in the editor, and each of its fields is told of.
import type { Core } from "./core";
import { count, h, words } from "./dom";
import type { ComeOver, Fate, System } from "./types";

export class Import {
  private readonly systems = h(
    "select",
    { id: "import-system", onchange: () => this.chosen() },
    h("option", { value: "" }, "not known yet"),
  );
  private readonly old = h("textarea", {
    id: "import-old",
    rows: 12,
    spellcheck: "false",
    autocomplete: "off",
    oninput: () => this.guess(),
  });
  private readonly about = h("p", { class: "help" });
  private readonly fields = [
    ["name", "The job's name", "where the file has none, or another is wanted"],
    ["image", "The image", "where the old system had none, or another is wanted"],
    ["command", "The launch line", "where it was typed by hand: mpirun -np 4 … python train.py"],
  ].map(([name, label, hint]) => ({
    name: name!,
    label: label!,
    input: h("input", { id: `import-${name}`, placeholder: hint, spellcheck: "false", autocomplete: "off" }),
  }));
  private readonly said = h("div", { id: "import-said", role: "status" });
  private secrets = "";
  private readonly dialog: HTMLDialogElement;
  /** The person has chosen a system, so it is not guessed. */
  private byHand = false;

  constructor(
    private readonly core: () => Core,
    private readonly load: (text: string) => void,
    private readonly save: (name: string, text: string) => void,
  ) {
    this.dialog = h(
      "dialog",
      { id: "import", "aria-labelledby": "import-title" },
      h("h2", { id: "import-title" }, "Import"),
      h(
        "p",
        {},
        "Paste what you have: Helm values, an MPIJob, an FfDL manifest, a Slurm script. It stays in this page.",
      ),
      h("label", { for: "import-old" }, "The old file"),
      this.old,
      h("label", { for: "import-system" }, "It comes from"),
      this.systems,
      this.about,
      h(
        "details",
        {},
        h("summary", {}, "What the file does not say"),
        ...this.fields.flatMap(({ name, label, input }) => [h("label", { for: `import-${name}` }, label), input]),
      ),
      h(
        "div",
        { class: "buttons" },
        h("button", { type: "button", class: "main", onclick: () => void this.run() }, "Import"),
        h("button", { type: "button", onclick: () => this.dialog.close() }, "Close"),
      ),
      this.said,
    );
    document.body.append(this.dialog);
  }

  /** Learns what can be imported, the first time somebody wants to know. */
  private async teach() {
    if (this.systems.length > 1) return;
    const all = JSON.parse(await this.core().ask("systems")) as System[];
    this.systems.append(...all.map(({ name, about }) => h("option", { value: name, title: about }, name)));
    this.chosen(false);
  }

  /** Opens, with a text that was pasted elsewhere. */
  async open(text = "", system = "") {
    this.dialog.showModal();
    this.old.focus();
    this.said.replaceChildren();
    await this.teach();
    this.byHand = !!system;
    if (text) this.old.value = text;
    this.systems.value = system;
    this.chosen(this.byHand);
    if (text && system) void this.run();
  }

  private async guess() {
    if (this.byHand) return;
    this.systems.value = await this.core().ask("guess", this.old.value);
    this.chosen(false);
  }

  private chosen(byHand = true) {
    this.byHand = byHand && !!this.systems.value;
    this.about.textContent = this.systems.selectedOptions[0]?.title ?? "";
  }

  private async run() {
    if (!this.systems.value) {
      this.said.replaceChildren(
        h(
          "p",
          { class: "warn" },
          this.old.value.trim()
            ? "It looks like no system that is known here: say which."
            : "Paste the old file first.",
        ),
      );
      return;
    }
    const rest = this.fields.map(({ input }) => input.value);
    const found = JSON.parse(
      await this.core().ask("come_over", this.old.value, this.systems.value, ...rest),
    ) as ComeOver;
    if (found.job === undefined) {
      this.said.replaceChildren(
        ...(found.problems ?? []).map(({ line, message, hint }) =>
          h(
            "div",
            { class: "problem error" },
            h("p", {}, line ? `line ${line}: ` : "", ...words(message)),
            hint ? h("p", { class: "help" }, ...words(hint)) : null,
          ),
        ),
      );
      return;
    }
    this.secrets = found.secrets ?? "";
    this.load(found.job);
    this.said.replaceChildren(...this.report(found.fields ?? []));
  }

  private report(fields: Fate[]): HTMLElement[] {
    const of = (verdict: Fate["verdict"]) => fields.filter((field) => field.verdict === verdict).length;
    const rows = fields.map(({ path, line, verdict, to, note }) =>
      h(
        "tr",
        { class: verdict },
        h("td", {}, verdict),
        h("td", {}, h("code", {}, path), ` line ${line}`),
        h("td", {}, to.join(", "), to.length && note ? ": " : "", note),
      ),
    );
    return [
      h(
        "p",
        { class: "done" },
        `The job is in the editor: ${of("kept")} kept, ${of("changed")} changed, ${of("lost")} lost of ${count(fields.length, "field")}.`,
      ),
      ...(this.secrets
        ? [
            h("p", { class: "warn" }, "Secrets stood in the old file. They are not in the job, which names them: "),
            h(
              "button",
              { type: "button", onclick: () => this.save("secrets.yaml", this.secrets.replace(/^---\n/, "")) },
              "Download secrets.yaml",
            ),
          ]
        : []),
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h("tr", {}, ...["it is", "the field", "what became of it"].map((head) => h("th", { scope: "col" }, head))),
        ),
        h("tbody", {}, ...rows),
      ),
    ];
  }
}
