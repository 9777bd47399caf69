import { describe, expect, it } from "vitest";
import { examples, lesson, smallest } from "./examples";

describe("the examples", () => {
  it("start with the smallest", () => {
    expect(examples[0]).toEqual({ name: "smallest", spec: smallest });
  });

  it.each(examples)("$name says what it teaches", ({ spec }) => {
    expect(lesson(spec)).toMatch(/^\S.{10,}[^.]$/);
  });
});

describe("lesson", () => {
  it("is the first sentence of the comment at the top", () => {
    expect(lesson("# Runs on v1.2\n# with GPUs. More text.\nkind: a\n")).toBe("Runs on v1.2 with GPUs");
    expect(lesson("# No full stop\nkind: a\n")).toBe("No full stop");
    expect(lesson("kind: a\n")).toBe("");
  });
});
