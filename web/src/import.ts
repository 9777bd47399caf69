// The dialog that imports a file of another system: the job replaces the spec, and a table lists the outcome of each field.
import "./import.css";
import { asError, type Compiler } from "./compiler";
import { count, h, markup, setVisible } from "./dom";
import { grouped, type Group, inDialog, inOrder, lackingValues, VERDICTS } from "./import-fields";
import type { FieldOutcome, Imported, ImportProblem } from "./wire/types";

const LACKING = "Values that the file lacks";

/** A field that the file may lack, and that the user can fill in. */
function optionInput(name: string, label: string, hint: string) {
  const input = h("input", { id: `import-${name}`, placeholder: hint, spellcheck: "false", autocomplete: "off" });
  return { input, label: h("label", { for: input.id }, label) };
}

export class ImportDialog {
  private readonly file = h("textarea", {
    id: "import-file",
    rows: 12,
    spellcheck: "false",
    autocomplete: "off",
    oninput: () => void this.detect(),
  });
  private readonly system = h(
    "select",
    { id: "import-system", onchange: () => this.systemChosen(true) },
    h("option", { value: "" }, "not recognised yet"),
  );
  private readonly about = h("p", { class: "help" });
  private readonly options = {
    name: optionInput("name", "Job name", "only if it is not in the file, or to replace it"),
    image: optionInput("image", "Image", "only if it is not in the file, or to replace it"),
    command: optionInput("command", "Command", "if you start it by hand: mpirun -np 4 … python train.py"),
  };
  private readonly lackingNames = h("summary", {}, LACKING);
  private readonly lacking = h(
    "details",
    {},
    this.lackingNames,
    ...Object.values(this.options).flatMap(({ label, input }) => [label, input]),
  );
  private readonly result = h("div", { id: "import-result", role: "status" });
  private readonly title = h("h2", { id: "import-title" });
  /** The fields of an import; hidden if the dialog only shows the report of an earlier one. */
  private readonly form: HTMLElement;
  private readonly close: HTMLElement;
  private readonly dialog: HTMLDialogElement;
  /** The user has chosen the system, so it is not detected. */
  private chosenByUser = false;

  constructor(
    private readonly compiler: () => Compiler,
    /** Puts the job into the editor. Returns whether the spec before it is kept as a draft. */
    private readonly load: (imported: Imported) => boolean,
    private readonly download: (name: string, text: string) => void,
    /** Called when the dialog is closed. */
    onClose: () => void,
  ) {
    const run = () => this.run().catch((error: unknown) => this.warn(asError(error).message));
    this.form = h(
      "div",
      {},
      h(
        "p",
        {},
        "Paste Helm values, an MPIJob, PyTorchJob, TFJob, TrainJob or JobSet, an FfDL manifest or a Slurm script. It stays in this page.",
      ),
      h("label", { for: "import-file" }, "File to import"),
      this.file,
      h("label", { for: "import-system" }, "System"),
      this.system,
      this.about,
      this.lacking,
      h(
        "div",
        { class: "buttons" },
        h("button", { type: "button", class: "main", onclick: () => void run() }, "Import"),
        h("button", { type: "button", onclick: () => this.dialog.close() }, "Close"),
      ),
    );
    this.close = h("button", { type: "button", onclick: () => this.dialog.close() }, "Close");
    this.dialog = h(
      "dialog",
      { id: "import", "aria-labelledby": "import-title" },
      this.title,
      this.form,
      this.result,
      this.close,
    );
    this.dialog.addEventListener("close", onClose);
    document.body.append(this.dialog);
  }

  /** Opens the dialog; with a file and its system, imports at once. */
  async open(file = "", system = "") {
    this.show("Import", true);
    this.file.focus();
    this.result.replaceChildren();
    await this.listSystems();
    if (file) {
      this.file.value = file;
      this.system.value = system;
      this.systemChosen(system !== "");
    }
    await this.detect();
    if (file && system) await this.run();
  }

  /** Fills the list of systems when the dialog is first opened. */
  private async listSystems() {
    if (this.system.options.length > 1) return;
    const systems = await this.compiler().systems();
    this.system.append(...systems.map(({ name, about }) => h("option", { value: name, title: about }, name)));
  }

  private async detect() {
    if (this.chosenByUser) return;
    this.system.value = await this.compiler().detectSystem(this.file.value);
    this.systemChosen(false);
  }

  private systemChosen(byUser: boolean) {
    this.chosenByUser = byUser && this.system.value !== "";
    this.about.textContent = this.system.selectedOptions[0]?.title ?? "";
  }

  private async run() {
    if (!this.system.value) {
      this.warn(
        this.file.value.trim() ? "The system is not recognised: choose it above." : "Paste the file to import first.",
      );
      return;
    }
    const { name, image, command } = this.options;
    const { imported, problems } = await this.compiler().importFile(this.file.value, this.system.value, {
      name: name.input.value,
      image: image.input.value,
      command: command.input.value,
    });
    const notes = imported ? imported.fields.map(({ note }) => note) : problems.map(({ hint }) => hint ?? "");
    this.showLacking(lackingValues(notes));
    if (!imported) {
      this.result.replaceChildren(...problems.map((problem) => problemRow(problem)));
      return;
    }
    this.showReport(imported, this.load(imported));
  }

  /** Names the values that the file lacks, and opens their fields. */
  private showLacking(names: string[]) {
    this.lackingNames.textContent = names.length ? `${LACKING}: ${names.join(", ")}` : LACKING;
    if (names.length) this.lacking.open = true;
  }

  /** Opens the dialog with the report of an earlier import. */
  openReport(imported: Imported) {
    this.show("Import report", false);
    this.showReport(imported, false);
  }

  private show(title: string, hasForm: boolean) {
    this.title.textContent = title;
    setVisible(this.form, hasForm);
    setVisible(this.close, !hasForm);
    this.dialog.showModal();
  }

  private showReport(imported: Imported, isKept: boolean) {
    this.result.replaceChildren(...this.report(imported, isKept));
    const done = this.result.querySelector<HTMLElement>(".done");
    done?.focus({ preventScroll: true });
    done?.scrollIntoView({ block: "start" });
  }

  private warn(text: string) {
    this.result.replaceChildren(h("p", { class: "warn" }, text));
  }

  private report({ fields, secrets }: Imported, isKept: boolean): HTMLElement[] {
    const number = (verdict: FieldOutcome["verdict"]) => fields.filter((field) => field.verdict === verdict).length;
    const verdicts = VERDICTS.map((verdict) => `${number(verdict)} ${verdict}`).join(", ");
    const heads = ["verdict", "field of the file", "in the spec"].map((head) => h("th", { scope: "col" }, head));
    const onclick = () => this.download("secrets.yaml", secrets.replace(/^---\n/, ""));
    return [
      h(
        "p",
        { class: "done", tabindex: "-1" },
        `The job is in the editor. ${count(fields.length, "field")}: ${verdicts}.`,
        isKept &&
          " The spec before the import is kept as a draft: “Bring it back” at the top of the page returns to it.",
      ),
      ...(secrets
        ? [
            h("p", { class: "warn" }, "The file holds secrets. The job refers to them by name; download them here: "),
            h("button", { type: "button", onclick }, "Download secrets.yaml"),
          ]
        : []),
      h("table", {}, h("thead", {}, h("tr", {}, ...heads)), h("tbody", {}, ...grouped(inOrder(fields)).map(fieldRow))),
    ];
  }
}

/** The row of fields with the same outcome. */
function fieldRow(group: Group): HTMLElement {
  const [{ verdict, to, note }] = group;
  const targets = to.flatMap((target, index) => [index ? ", " : "", h("code", {}, target)]);
  const outcome = [...targets, ...(to.length && note ? [": "] : []), ...markup(inDialog(note))];
  const fields = group.map(({ path, line }) => h("div", {}, h("code", {}, path), ` line ${line}`));
  const field = h("td", {}, ...fields);
  return h("tr", { class: verdict }, h("td", {}, verdict), field, h("td", {}, ...outcome));
}

function problemRow({ line, message, hint }: ImportProblem): HTMLElement {
  return h(
    "div",
    { class: "problem error" },
    h("p", {}, line === null ? "" : `line ${line}: `, ...markup(message)),
    hint !== null && h("p", { class: "help" }, ...markup(inDialog(hint))),
  );
}
