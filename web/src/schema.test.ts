import { describe, expect, it } from "vitest";
import text from "../../schema/training-job.v1alpha1.schema.json?raw";
import { checkSchema, Fields, flow } from "./schema";
import { parse } from "./wire/check";

const fields = new Fields(parse(checkSchema, text));

describe("Fields", () => {
  it("names the fields of a map", () => {
    const names = fields.in(["spec"]).map((field) => field.name);
    expect(names).toContain("image");
    expect(names).not.toContain("apiVersion");
  });

  it("marks required fields", () => {
    expect(fields.in([]).find((field) => field.name === "metadata")?.required).toBe(true);
  });

  it("follows a path through a list", () => {
    expect(fields.in(["spec", "storage", "[]"]).map((field) => field.name)).toContain("mountPath");
  });

  it("offers the values of a field, its default among them", () => {
    const values = fields.values(["spec", "launcher", "kind"]).map((value) => value.text);
    expect(values).toContain("torchrun");
    expect(fields.values(["spec", "placement", "hostNetwork"]).map((value) => value.text)).toEqual(["true", "false"]);
  });

  it("finds nothing at a path that the schema does not have", () => {
    expect(fields.at(["spec", "nonsense", "[]"])).toEqual([]);
  });
});

describe("flow", () => {
  it("writes a value on one line, with quotes only if YAML needs them", () => {
    expect(flow({ name: "data", sizes: ["10Gi", 3, true], odd: "a: b", answer: "no" })).toBe(
      '{name: data, sizes: [10Gi, 3, true], odd: "a: b", answer: "no"}',
    );
  });
});
