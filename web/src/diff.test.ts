import { describe, expect, it } from "vitest";
import { diff, equalRuns } from "./diff";

const shown = (old: string[], now: string[]) =>
  diff(old, now).map(({ kind, text }) => `${{ same: " ", added: "+", removed: "-" }[kind]}${text}`);

describe("diff", () => {
  it("marks nothing in equal texts", () => {
    expect(shown(["a", "b"], ["a", "b"])).toEqual([" a", " b"]);
  });

  it("shows a removed line before the line that replaces it", () => {
    expect(shown(["a", "b", "c"], ["a", "x", "c"])).toEqual([" a", "-b", "+x", " c"]);
  });

  it("keeps the longest common lines", () => {
    expect(shown(["a", "b", "c", "d"], ["b", "x", "d", "e"])).toEqual(["-a", " b", "-c", "+x", " d", "+e"]);
  });

  it("replaces everything between the common ends of very long texts", () => {
    const lines = (seed: number) => Array.from({ length: 1_100 }, (_, line) => `${seed} ${line}`);
    const found = diff(["first", ...lines(1), "last"], ["first", ...lines(2), "last"]);
    expect(found.length).toBe(2_202);
    expect(found.slice(1, 1_101).every((line) => line.kind === "removed")).toBe(true);
  });
});

describe("equal runs", () => {
  const lines = (from: number, to: number) =>
    Array.from({ length: to - from + 1 }, (_, index) => `line ${from + index}`);
  const runs = (old: string[], now: string[]) => equalRuns(diff(old, now));

  it("leave three lines on each side of a difference", () => {
    expect(runs(lines(1, 40), [...lines(1, 19), "x", ...lines(21, 40)])).toEqual([
      [1, 16],
      [24, 40],
    ]);
  });

  it("are numbered as in the new text", () => {
    const old = lines(1, 40);
    expect(runs(old, [...lines(1, 9), ...lines(12, 30), "x", "y", ...lines(31, 40)])).toEqual([
      [1, 6],
      [13, 25],
      [34, 40],
    ]);
  });

  it("are left out if they are short, or if nothing differs", () => {
    expect(runs(lines(1, 40), lines(1, 40))).toEqual([]);
    expect(runs(lines(1, 12), [...lines(1, 6), "x", ...lines(7, 12)])).toEqual([]);
  });
});
