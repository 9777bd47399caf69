import { describe, expect, it } from "vitest";
import { decodePermalink, encodePermalink, maskSecrets, secretWarning } from "./link";
import { decodeSpec, encodeSpec } from "./packed";

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

  it("names the target, except the usual one", () => {
    const link = encodeSpec("a: 1\n", "slurm") ?? "";
    expect([decodeSpec(link), decodePermalink(link).target]).toEqual(["a: 1\n", "slurm"]);
    expect(encodeSpec("a: 1\n", "plain")).toBe(encodeSpec("a: 1\n"));
    expect(decodePermalink(encodePermalink("gang", "objects", "", "jobset")).target).toBe("jobset");
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

describe("secrets", () => {
  const spec = "a: 1\nPASSWORD: rosebud\n# ghp_x\n";
  const at = (text: string, what: string) => {
    const from = spec.indexOf(text);
    return { what, from, to: from + text.length };
  };
  const found = [at("rosebud", "`PASSWORD`"), at("ghp_x", "an access token")];

  it("are masked", () => {
    expect(maskSecrets(spec, found)).toBe("a: 1\nPASSWORD: …\n# …\n");
    expect(maskSecrets(spec, [])).toBe(spec);
  });

  it("are named in a warning", () => {
    expect(secretWarning(spec, [])).toBe("");
    expect(secretWarning(spec, found)).toContain("secrets: PASSWORD (line 2), an access token (line 3). ");
    expect(secretWarning(spec, [...found, ...found])).toContain(", 1 more. ");
  });
});

it("names an example and a view", () => {
  expect(decodePermalink(encodePermalink("elastic", "plan"))).toEqual({ example: "elastic", view: "plan" });
  expect(decodePermalink("#view=objects")).toEqual({ view: "objects" });
  const event = { example: "elastic", view: "timeline", event: "hang" };
  expect(decodePermalink(encodePermalink("elastic", "timeline", "hang"))).toEqual(event);
  expect(decodePermalink("#spec=abc")).toEqual({});
});
