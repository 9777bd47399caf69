// The report of an import: the button in the header that opens it again while the page shows the imported job, also after a reload.
import { byId } from "./dom";
import * as c from "./wire/check";
import { checkImported, type Imported } from "./wire/types";

/** The entry of the session storage. */
const REPORT = "import";

export class ImportReport {
  private last: Imported | undefined;

  constructor(
    private readonly tab: Storage | undefined,
    open: (imported: Imported) => void,
  ) {
    try {
      const stored = tab?.getItem(REPORT);
      if (stored) this.last = c.parse(checkImported, stored);
    } catch {
      // It is of another version, or the browser lets the page store nothing.
    }
    this.button.addEventListener("click", () => this.last && open(this.last));
    this.showButton();
  }

  /** The page shows an imported job. */
  keep(imported: Imported) {
    this.last = imported;
    // The secrets are not stored, and the job is in the editor.
    this.store(JSON.stringify({ ...imported, job: "", secrets: "" }));
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
    try {
      if (text === undefined) this.tab?.removeItem(REPORT);
      else this.tab?.setItem(REPORT, text);
    } catch {
      // The report is there until the page is closed.
    }
  }
}
