// Opens files of the user: those that are chosen with "Open file…", and those that are dropped anywhere on the page except into a
// dialog. A file may be a spec, or another text, which the page offers to import.
import { asError } from "./compiler";
import { byId, h } from "./dom";

/** The largest file that is opened, in bytes. */
const MAX_FILE = 16 << 20;

interface Actions {
  open: (text: string) => void;
  announce: (text: string) => void;
}

export function listenForFiles({ open, announce }: Actions) {
  const read = async (file: File) => {
    if (file.size > MAX_FILE) {
      announce(`${file.name} is too large: the limit is ${MAX_FILE >> 20} MB.`);
      return;
    }
    open(await file.text());
    announce(`${file.name} is open.`);
  };
  const receive = (file: File | undefined) => {
    if (file) read(file).catch((error: unknown) => announce(asError(error).message));
  };
  const input = h("input", { type: "file", accept: ".yaml,.yml,.sh,.sbatch,.json,text/*", hidden: true });
  input.addEventListener("change", () => {
    receive(input.files?.[0]);
    input.value = "";
  });
  byId("open-file").after(input);
  byId("open-file").addEventListener("click", () => input.click());
  const hasFiles = (event: DragEvent) =>
    event.dataTransfer?.types.includes("Files") && !document.querySelector("dialog[open]");
  document.addEventListener("dragover", (event) => hasFiles(event) && event.preventDefault(), { capture: true });
  document.addEventListener(
    "drop",
    (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      // The editor would insert the file at the cursor.
      event.stopPropagation();
      receive(event.dataTransfer?.files[0]);
    },
    { capture: true },
  );
}
