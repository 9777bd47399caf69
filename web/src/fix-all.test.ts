import { Text } from "@codemirror/state";
import { expect, it } from "vitest";
import { fixAll } from "./fix-all";
import type { Preview, Problem } from "./wire/types";

const problem = (from: number, to: number, text: string): Problem => ({
  code: "unknown-field",
  severity: "error",
  message: "",
  hint: null,
  labels: [],
  fix: { from, to, text },
  otherFix: null,
  fixIsChoice: false,
});
const found = (problems: Problem[]): Promise<Preview> => Promise.resolve({ problems, more: 0 });

/** Has a problem at each `a`, and finds one at a `c` only when there is no `a`. Each turns into the next letter. */
function check(spec: string): Problem[] {
  const next = (letter: string, to: string) =>
    [...spec.matchAll(new RegExp(letter, "g"))].map(({ index }) => problem(index, index + 1, to));
  return spec.includes("a") ? next("a", "b") : next("c", "d\n");
}

it("applies fixes until none is left", async () => {
  const changes = await fixAll("a c a", check("a c a"), (spec) => found(check(spec)));
  const texts: string[] = [];
  changes.iterChanges((from, to, _fromB, _toB, inserted) => texts.push(`${from}-${to} ${inserted.toString()}`));
  expect(texts).toEqual(["0-1 b", "2-3 d\n", "4-5 b"]);
});

it("ends if two fixes undo each other", async () => {
  let rounds = 0;
  const turn = (spec: string) => [problem(0, 1, spec === "a" ? "b" : "a")];
  await fixAll("a", turn("a"), (spec) => {
    rounds++;
    return found(turn(spec));
  });
  expect(rounds).toBe(20);
});

it("leaves a choice between two fixes to the user", async () => {
  const choice = { ...problem(0, 1, "b"), otherFix: { from: 1, to: 2, text: "" } };
  const changes = await fixAll("a c", [choice], () => found([]));
  expect(changes.empty).toBe(true);
});

it("inserts no example value", async () => {
  const example = { ...problem(1, 1, " example"), fixIsChoice: true };
  const changes = await fixAll("a c", [example, problem(0, 1, "b")], () => found([example]));
  expect(changes.apply(Text.of(["a c"])).toString()).toBe("b c");
});
