// The rows of the report of an import, and its advice in the words of the dialog.
import type { FieldOutcome } from "./wire/types";

/** The outcomes of fields, in the order of the report. */
export const VERDICTS = ["lost", "changed", "dropped", "kept"] as const;
/** The beginning of a note about a value that the user has to check. */
const CHECK = "check: ";
/** An option of the command for a value that the file lacks. */
const OPTION = /`--(name|image|command) [A-Z]+`/g;
/** The fields of the dialog for these options. */
const FIELDS: Record<string, string> = { name: "Job name", image: "Image", command: "Command" };

/** Fields with the same outcome. */
export type Group = [FieldOutcome, ...FieldOutcome[]];

/** The fields with those first that the user has to act on: what is lost, and what the importer asks to check. */
export function inOrder(fields: FieldOutcome[]): FieldOutcome[] {
  const place = ({ verdict, note }: FieldOutcome) => (note.startsWith(CHECK) ? 0.5 : VERDICTS.indexOf(verdict));
  return [...fields].sort((one, other) => place(one) - place(other));
}

/** Puts fields with the same note and the same place in the spec into one row: the lines of a script that is imported as a whole. */
export function grouped(fields: FieldOutcome[]): Group[] {
  const groups = new Map<string, Group>();
  fields.forEach((field, index) => {
    const { verdict, to, note } = field;
    const key = note ? JSON.stringify([verdict, to, note]) : String(index);
    const group = groups.get(key);
    if (group) group.push(field);
    else groups.set(key, [field]);
  });
  return [...groups.values()];
}

/** The names of the values that the notes ask for. */
export function lackingValues(notes: string[]): string[] {
  const asked = new Set(notes.flatMap((note) => [...note.matchAll(OPTION)].map(([, option = ""]) => option)));
  return Object.keys(FIELDS)
    .filter((option) => asked.has(option))
    .map((option) => (option === "name" ? "job name" : option));
}

/** Replaces the options of the command by the fields of the dialog. */
export function inDialog(note: string): string {
  return note.replaceAll(OPTION, (_, option: string) => `the field “${FIELDS[option]}” of “Import…”`);
}
