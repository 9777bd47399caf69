import { describe, expect, it } from "vitest";
import { diff } from "./diff";

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
