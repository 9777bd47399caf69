import { describe, expect, it } from "vitest";
import * as c from "./check";

interface Job {
  name: string;
  ranks: number[];
  elastic?: [number, number];
  hint: string | null;
  severity: "error" | "note";
}

const job: c.Check<Job> = c.object({
  name: c.string,
  ranks: c.array(c.number),
  elastic: c.optional(c.pair(c.number)),
  hint: c.nullable(c.string),
  severity: c.oneOf("error", "note"),
});

const valid: Job = { name: "mnist", ranks: [0, 1], hint: null, severity: "note" };

describe("a check", () => {
  it("accepts a value of its type", () => {
    expect(c.parse(job, JSON.stringify({ ...valid, elastic: [1, 2], more: true }))).toMatchObject(valid);
  });

  it.each([
    [{ ...valid, name: 1 }, "value.name: not a string"],
    [{ ...valid, ranks: [0, "1"] }, "value.ranks[1]: not a number"],
    [{ ...valid, elastic: null }, "value.elastic: not an array of two"],
    [{ ...valid, hint: undefined }, "value.hint: not a string"],
    [{ ...valid, severity: "fatal" }, "value.severity: not one of error, note"],
    [[], "value: not an object"],
    [null, "value: not an object"],
  ])("names the first part of %j that is wrong", (value, message) => {
    expect(() => c.checked(job, value)).toThrow(message);
  });

  it("reads objects whose keys are data", () => {
    expect(c.parse(c.record(c.boolean), '{"a": true}')).toEqual({ a: true });
    expect(() => c.parse(c.record(c.boolean), '{"a": 1}')).toThrow("value.a: not a boolean");
  });
});
