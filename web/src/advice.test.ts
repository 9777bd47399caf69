import { expect, test } from "vitest";
import { adviceIn, editFor } from "./advice";

const stall = { path: "lifecycle.stall", value: "{timeout: 20m}" };

/** The ranges of fields that are given by their text. */
const rangesOf = (spec: string, texts: Record<string, string>) =>
  Object.fromEntries(
    Object.entries(texts).map(([path, text]): [string, [number, number]] => {
      const from = spec.indexOf(text);
      return [path, [from, from + text.length]];
    }),
  );

const edited = (spec: string, texts: Record<string, string>, advice = stall) => {
  const edit = editFor(spec, rangesOf(spec, texts), advice);
  return edit && spec.slice(0, edit.from) + edit.text + spec.slice(edit.to);
};

test("notes name fields and values", () => {
  const notes = [
    "Set `lifecycle: {stall: {timeout: 20m}}`: then the log shows it. With `lifecycle.retries: 3`, the training starts again.",
    "`lifecycle.deadline` is not set. Set `lifecycle.deadline: 24h`, and the run ends.",
  ];
  expect(adviceIn(notes)).toEqual([
    stall,
    { path: "lifecycle.retries", value: "3" },
    { path: "lifecycle.deadline", value: "24h" },
  ]);
});

test("a field is added in the notation of the spec", () => {
  const image = { "spec.image": "image: a" };
  expect(edited("spec:\n  image: a # old\nx: 1\n", image)).toBe(
    "spec:\n  image: a # old\n  lifecycle: {stall: {timeout: 20m}}\nx: 1\n",
  );
  const flow = { ...image, "spec.lifecycle": "lifecycle: {retries: 0}", "spec.lifecycle.retries": "retries: 0" };
  expect(edited("spec:\n  image: a\n  lifecycle: {retries: 0}", flow)).toBe(
    "spec:\n  image: a\n  lifecycle: {retries: 0, stall: {timeout: 20m}}",
  );
  const empty = { ...image, "spec.lifecycle": "lifecycle: {}" };
  expect(edited("spec:\n  image: a\n  lifecycle: {}\n", empty)).toContain("lifecycle: {stall: {timeout: 20m}}");
  const block = {
    ...image,
    "spec.lifecycle": "lifecycle:\n    retries: 0",
    "spec.lifecycle.retries": "retries: 0",
  };
  const spec = "spec:\n  lifecycle:\n    retries: 0\n  image: a\n";
  expect(edited(spec, block)).toBe("spec:\n  lifecycle:\n    retries: 0\n    stall: {timeout: 20m}\n  image: a\n");
  expect(edited(spec, block, { path: "lifecycle.retries", value: "3" })).toBe(
    "spec:\n  lifecycle:\n    retries: 3\n  image: a\n",
  );
});
