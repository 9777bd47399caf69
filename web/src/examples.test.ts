import { describe, expect, it } from "vitest";
import { examples } from "./all-examples";
import { smallest, summaryOf } from "./examples";

describe("the examples", () => {
  it("start with the smallest", () => {
    expect(examples[0]).toEqual({ name: "smallest", spec: smallest });
  });

  it.each(examples)("$name has a summary", ({ spec }) => {
    expect(summaryOf(spec)).toMatch(/^\S.{10,}[^.]$/);
  });
});

describe("summaryOf", () => {
  it("is the first sentence of the comment at the top", () => {
    expect(summaryOf("# Runs on v1.2\n# with GPUs. More text.\nkind: a\n")).toBe("Runs on v1.2 with GPUs");
    expect(summaryOf("# No full stop\nkind: a\n")).toBe("No full stop");
    expect(summaryOf("kind: a\n")).toBe("");
  });
});
