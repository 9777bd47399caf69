import { expect, it } from "vitest";
import { grouped, inDialog, lackingValues } from "./import-fields";
import type { FieldOutcome } from "./wire/types";

const field = (line: number, note: string): FieldOutcome => ({
  path: `line ${line}`,
  line,
  verdict: "changed",
  to: ["spec.command"],
  note,
});

it("the rows of fields with the same note are one row", () => {
  const fields = [field(1, "a part"), field(2, ""), field(3, "a part"), field(4, "")];
  expect(grouped(fields).map((group) => group.map(({ line }) => line))).toEqual([[1, 3], [2], [4]]);
});

it("advice names the fields of the dialog", () => {
  const note = "pass the line with `--command LINE`, or use `--image NAME`";
  expect(inDialog(note)).toBe(
    "pass the line with the field “Command” of “Import…”, or use the field “Image” of “Import…”",
  );
  expect(lackingValues([note, "unchanged"])).toEqual(["image", "command"]);
  expect(lackingValues(["unchanged"])).toEqual([]);
});
