import { expect, it } from "vitest";
import { fixLabel } from "./fix-label";

it.each([
  ["   ", "  ", "Remove 1 space"],
  [" ", "", "Remove 1 space"],
  ["  ", "    ", "Add 2 spaces"],
  ["", " ", "Add 1 space"],
  ["gpu: 8\n", "", "Remove"],
  ["gpu", "gpus", "Fix: gpus"],
  ["", "\n  image: a:1", "Add: image: a:1"],
])("the button that replaces %j by %j", (replaced, text, label) => {
  expect(fixLabel({ from: 3, to: 3 + replaced.length, text }, replaced)).toBe(label);
});
