import { describe, expect, it } from "vitest";
import { decodeSpec, encodeSpec } from "./link";

describe("a link", () => {
  it.each(["", "kind: TrainingJob\n", "# ä𝄞\n", "x".repeat(100_000)])("brings a spec back", (spec) => {
    expect(decodeSpec(encodeSpec(spec) ?? "")).toBe(spec);
  });

  it("is a fragment that needs no escaping", () => {
    expect(encodeSpec("kind: TrainingJob\n".repeat(50))).toMatch(/^#spec=[\w-]+$/);
  });

  it("holds no spec that is too long to be opened", () => {
    expect(encodeSpec("x".repeat((4 << 20) + 1))).toBeUndefined();
  });

  it("without a spec decodes to nothing", () => {
    expect(decodeSpec("")).toBeUndefined();
    expect(decodeSpec("#other")).toBeUndefined();
  });

  it("that was cut is refused", () => {
    const fragment = encodeSpec("kind: TrainingJob\nspec: {image: 'a:1'}\n") ?? "";
    expect(() => decodeSpec(fragment.slice(0, -8))).toThrow();
    expect(() => decodeSpec("#spec=%%%")).toThrow();
  });
});
