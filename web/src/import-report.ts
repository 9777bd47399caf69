// The report of an import: the button in the header that opens it again while the page shows the imported job, also after a reload.
import { byId } from "./dom";
import * as c from "./wire/check";
import { checkImported, type Imported } from "./wire/types";

/** The entry of the session storage. */
const REPORT = "import";
/** The entry that stores that the user has read how much is lost. */
const DISMISSED = "import-dismissed";

export class ImportReport {
  private last: Imported | undefined;
  private isDismissed = false;

  constructor(
    private readonly tab: Storage | undefined,
    private readonly show: (imported: Imported) => void,
  ) {
    try {
      const stored = tab?.getItem(REPORT);
      if (stored) this.last = c.parse(checkImported, stored);
      this.isDismissed = tab?.getItem(DISMISSED) === "yes";
    } catch {
      // It is of another version, or the browser lets the page store nothing.
    }
    this.button.addEventListener("click", () => this.open());
    this.showButton();
  }

  /** Opens the report again. */
  open() {
    if (this.last) this.show(this.last);
  }

  /** The page shows an imported job. */
  keep(imported: Imported) {
    this.last = imported;
    this.isDismissed = false;
    this.write(DISMISSED, undefined);
    // The secrets are not stored, and the job is in the editor.
    this.store(JSON.stringify({ ...imported, job: "", secrets: "" }));
  }

  /** How many parts of the imported file are lost; 0 after the user has dismissed this message. */
  get lost(): number {
    if (this.isDismissed) return 0;
    return this.last?.fields.filter(({ verdict }) => verdict === "lost").length ?? 0;
  }

  /** The user has read how much is lost. */
  dismiss() {
    this.isDismissed = true;
    this.write(DISMISSED, "yes");
  }

  /** The page shows another spec. */
  forget() {
    this.last = undefined;
    this.store(undefined);
  }

  private get button() {
    return byId("import-report");
  }

  private showButton() {
    this.button.hidden = this.last === undefined;
  }

  private store(text: string | undefined) {
    this.showButton();
    this.write(REPORT, text);
  }

  private write(entry: string, text: string | undefined) {
    try {
      if (text === undefined) this.tab?.removeItem(entry);
      else this.tab?.setItem(entry, text);
    } catch {
      // The report is there until the page is closed.
    }
  }
}
