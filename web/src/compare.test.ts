import { expect, test } from "vitest";
import { diff, pairsOf } from "./diff";
import { sizesOf } from "./sizes";
import type { Compiled, Report } from "./wire/types";

test("a changed line is beside the line in its place", () => {
  expect(pairsOf(diff(["a", "b", "c", "e"], ["a", "B", "c", "d", "e"]))).toEqual([
    { left: "a", right: "a", isSame: true },
    { left: "b", right: "B", isSame: false },
    { left: "c", right: "c", isSame: true },
    { left: undefined, right: "d", isSame: false },
    { left: "e", right: "e", isSame: true },
  ]);
});

/** A side with one job of these GPUs, which has one worker. */
function side(bounds: [number, number], mostHours: number | undefined, kinds: string[]): Compiled {
  const cost = { gpus: bounds[0], bounds, ...(mostHours === undefined ? {} : { mostHours }) };
  const report = { cost, ranks: bounds[0], pods: 2, workers: [{ replicas: 1 }] };
  // Only the parts that are compared.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return { jobs: [report as Report], documents: kinds.map((kind) => ({ kind })) } as Compiled;
}

test("sizes and prices are compared", () => {
  const small = side([8, 8], 80, ["Job", "Service"]);
  const elastic = side([8, 32], undefined, ["Job", "Service", "Service"]);
  expect(sizesOf(small, elastic, 2)).toEqual([
    ["GPUs", "8 GPUs", "8 to 32 GPUs", "+24"],
    ["GPU hours until the deadline", "80", "no limit", ""],
    ["price per hour", "16.00", "64.00", "+48.00"],
    ["price until the deadline", "160.00", "no limit", ""],
    ["workers", "1", "1", "same"],
    ["ranks", "8", "8", "same"],
    ["pods", "2", "2", "same"],
    ["objects", "2", "3", "+1"],
    ["of these Service", "1", "2", "+1"],
  ]);
  expect(sizesOf(elastic, small, undefined)[0]).toEqual(["GPUs", "8 to 32 GPUs", "8 GPUs", "−24"]);
});
