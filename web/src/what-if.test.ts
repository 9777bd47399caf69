import { describe, expect, it } from "vitest";
import { costOf, editBetween, editOf, mostOf, priceFrom, rangesBehind } from "./what-if";

const REPLICAS = "spec.workers.replicas";
const GPUS = "spec.workers.gpus";

/** The range of a field in a spec, as the compiler returns it. */
function rangeOf(spec: string, key: string): [number, number] {
  const found = new RegExp(`${key}: \\d+`).exec(spec);
  if (!found) throw new Error(`no ${key}`);
  return [found.index, found.index + found[0].length];
}

/** The spec after fields are set one after the other. */
function set(spec: string, has: ("replicas" | "gpus")[], ...values: [typeof REPLICAS | typeof GPUS, number][]): string {
  let ranges = Object.fromEntries(has.map((key) => [`spec.workers.${key}`, rangeOf(spec, key)]));
  let text = spec;
  for (const [path, value] of values) {
    const edit = editOf(text, ranges, path, value);
    if (!edit) throw new Error("no edit");
    ranges = rangesBehind(ranges, path, edit);
    text = text.slice(0, edit.from) + edit.text + text.slice(edit.to);
  }
  return text;
}

describe("a slider", () => {
  it("writes into a map on one line", () => {
    const spec = "workers: {replicas: 4, gpus: 8} # all\n";
    const wanted = "workers: {replicas: 128, gpus: 4} # all\n";
    expect(set(spec, ["replicas", "gpus"], [REPLICAS, 12], [GPUS, 4], [REPLICAS, 128])).toBe(wanted);
    expect(set(spec, ["replicas", "gpus"], [GPUS, 4], [REPLICAS, 12], [REPLICAS, 128])).toBe(wanted);
  });

  it("keeps comments, and the order of the fields", () => {
    const spec = "workers:\n  gpus: 8 # H100\n  # four\n  replicas: 4 # racks\n";
    const wanted = "workers:\n  gpus: 16 # H100\n  # four\n  replicas: 1 # racks\n";
    expect(set(spec, ["replicas", "gpus"], [GPUS, 16], [REPLICAS, 10], [REPLICAS, 1])).toBe(wanted);
  });

  it("adds a field that is missing", () => {
    expect(
      set("workers:\n  replicas: 4 # racks\n  cpu: 1\n", ["replicas"], [GPUS, 2], [REPLICAS, 10], [GPUS, 12]),
    ).toBe("workers:\n  replicas: 10 # racks\n  gpus: 12\n  cpu: 1\n");
    expect(set("workers: {replicas: 4}", ["replicas"], [GPUS, 2], [REPLICAS, 10], [GPUS, 3])).toBe(
      "workers: {replicas: 10, gpus: 3}",
    );
    expect(set("workers:\n  replicas: 4", ["replicas"], [GPUS, 2])).toBe("workers:\n  replicas: 4\n  gpus: 2");
    expect(editOf("workers: {}", {}, GPUS, 2)).toBeUndefined();
  });

  it("is taken back by an edit of what it has changed", () => {
    for (const [before, after, edit] of [
      ["replicas: 16, gpus: 8", "replicas: 4, gpus: 8", { from: 10, to: 12, text: "4" }],
      ["replicas: 4, gpus: 4", "replicas: 4, gpus: 8", { from: 19, to: 20, text: "8" }],
      ["a: 1\n  gpus: 2\nb: 2", "a: 1\nb: 2", { from: 5, to: 15, text: "" }],
      ["replicas: 11", "replicas: 1", { from: 11, to: 12, text: "" }],
      ["a", "a", { from: 1, to: 1, text: "" }],
    ] as const) {
      expect(editBetween(before, after)).toEqual(edit);
      expect(before.slice(0, edit.from) + edit.text + before.slice(edit.to)).toBe(after);
    }
  });

  it("has room above its number", () => {
    expect([1, 4, 10, 16, 100].map((value) => mostOf(value, 16))).toEqual([16, 16, 16, 32, 256]);
    expect(mostOf(0, 8)).toBe(8);
  });
});

describe("the cost", () => {
  const report = (gpus: number, bounds: [number, number], mostHours?: number) => ({
    cost: { gpus, bounds, ...(mostHours === undefined ? {} : { mostHours }) },
  });

  it("is that until the deadline", () => {
    expect(costOf([report(32, [32, 32], 768)], 2.5)).toBe(
      "32 GPUs cost 80.00 per hour, and at most 1,920.00 until the deadline (768 GPU hours), without GPUs of nodes that do not answer.",
    );
    expect(costOf([report(32, [32, 32], 768)], undefined)).toBe(
      "32 GPUs, at most 768 GPU hours until the deadline, without GPUs of nodes that do not answer.",
    );
  });

  it("has bounds if the job is elastic", () => {
    expect(costOf([report(16, [8, 32], 10)], 1)).toMatch(
      /^8 to 32 GPUs cost 8.00 to 32.00 per hour, and at most 10.00/,
    );
  });

  it("is unlimited without a deadline", () => {
    expect(costOf([report(8, [8, 8])], 1)).toBe(
      "8 GPUs cost 8.00 per hour. The job has no deadline: set spec.lifecycle.deadline to limit the cost.",
    );
    expect(costOf([report(8, [8, 8]), report(8, [8, 8], 4)], 1)).toContain("1 job without a deadline");
    expect(costOf([report(0, [0, 0])], 1)).toBe("The job requests no GPUs.");
  });
});

describe("priceFrom", () => {
  it("reads a decimal point or comma", () => {
    expect(["2.50", "2,50", " 3 ", "0,125", ",5"].map(priceFrom)).toEqual([2.5, 2.5, 3, 0.125, 0.5]);
  });

  it("does not guess", () => {
    expect(["", "-1", "1,000", "2.50 €", "1.2.3", "1,000.50"].map(priceFrom)).toEqual(Array(6).fill(undefined));
  });
});
