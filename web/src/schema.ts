// The JSON Schema of the spec: which fields and values a path has, and what they mean.
import type { Path } from "./cursor";
import * as c from "./wire/check";

/** The keywords of JSON Schema that the page reads. */
export interface Schema {
  $ref?: string;
  $defs?: Record<string, Schema>;
  type?: string | string[];
  title?: string;
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  propertyNames?: Schema;
  additionalProperties?: Schema | boolean;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  markdownEnumDescriptions?: string[];
  default?: unknown;
  examples?: unknown[];
  minimum?: number;
  maximum?: number;
}

const nested: c.Check<Schema> = (value) => checkSchema(value);
export const checkSchema: c.Check<Schema> = c.object({
  $ref: c.optional(c.string),
  $defs: c.optional(c.record(nested)),
  type: c.optional(c.either(c.string, c.array(c.string))),
  title: c.optional(c.string),
  description: c.optional(c.string),
  properties: c.optional(c.record(nested)),
  required: c.optional(c.array(c.string)),
  items: c.optional(nested),
  propertyNames: c.optional(nested),
  additionalProperties: c.optional(c.either(c.boolean, nested)),
  anyOf: c.optional(c.array(nested)),
  oneOf: c.optional(c.array(nested)),
  allOf: c.optional(c.array(nested)),
  enum: c.optional(c.array(c.unknown)),
  const: c.unknown,
  markdownEnumDescriptions: c.optional(c.array(c.string)),
  default: c.unknown,
  examples: c.optional(c.array(c.unknown)),
  minimum: c.optional(c.number),
  maximum: c.optional(c.number),
});

export interface Field {
  name: string;
  required: boolean;
  /** Its schema, with all that it refers to. */
  parts: Schema[];
}

interface Value {
  /** The value as YAML. */
  text: string;
  /** `default`, `example` or nothing. */
  detail: string;
  about: string | undefined;
}

export class Fields {
  constructor(private readonly root: Schema) {}

  /** A schema with the schemas that it refers to and its alternatives. */
  private parts(schema: Schema): Schema[] {
    const all = [schema];
    for (const part of all) {
      const referred = part.$ref && this.root.$defs?.[part.$ref.replace("#/$defs/", "")];
      if (referred) all.push(referred);
      all.push(...(part.anyOf ?? []), ...(part.oneOf ?? []), ...(part.allOf ?? []));
    }
    return all;
  }

  /** The schemas of the value at a path. */
  at(path: Path): Schema[] {
    let parts = this.parts(this.root);
    for (const step of path) {
      const below = parts.flatMap(({ items, properties, additionalProperties }) => {
        if (step === "[]") return items ?? [];
        return properties?.[step] ?? (typeof additionalProperties === "object" ? additionalProperties : []);
      });
      parts = below.flatMap((schema) => this.parts(schema));
    }
    return parts;
  }

  /** The fields of the map at a path. */
  in(path: Path): Field[] {
    const fields = new Map<string, Field>();
    for (const { properties = {}, required = [], propertyNames, additionalProperties } of this.at(path)) {
      for (const [name, schema] of Object.entries(properties))
        if (!fields.has(name)) fields.set(name, { name, required: required.includes(name), parts: this.parts(schema) });
      if (typeof additionalProperties !== "object") continue;
      for (const name of propertyNames?.enum?.map(String) ?? [])
        fields.set(name, { name, required: false, parts: this.parts(additionalProperties) });
    }
    return [...fields.values()];
  }

  /** The values that the schema names for a path: fixed ones, the default, examples. */
  values(path: Path): Value[] {
    const parts = this.at(path);
    const values = new Map<string, Value>();
    const add = (value: unknown, detail: string, about?: string) => {
      const text = flow(value);
      if (!values.has(text)) values.set(text, { text, detail, about });
    };
    for (const part of parts) {
      for (const [index, value] of part.enum?.entries() ?? []) add(value, "", part.markdownEnumDescriptions?.[index]);
      if (part.const !== undefined) add(part.const, "");
      if (part.type === "boolean") for (const value of [true, false]) add(value, "");
    }
    const fallback = first(parts, "default");
    if (fallback !== undefined) add(fallback, "default");
    for (const { examples = [] } of parts) for (const value of examples) add(value, "example");
    return [...values.values()];
  }
}

/** The launchers that the description of a field excludes, as in "so not with torchrun, jax and tensorflow". */
export function excludedLaunchers(parts: Schema[]): string[] {
  return /so not with ([a-z, ]+)/.exec(first(parts, "description") ?? "")?.[1]?.split(/\W+/) ?? [];
}

/** Whether the value is a map or a list that people write over several lines; anything else is a value. */
export function shapeOf(parts: Schema[]): "map" | "list" | "value" {
  const types = new Set(parts.flatMap((part) => typesOf(part)));
  if (types.size !== 1) return "value";
  return types.has("object") ? "map" : types.has("array") ? "list" : "value";
}

/** The JSON types that a schema allows; none if it allows any. */
export function typesOf({ type = [] }: Schema): string[] {
  return typeof type === "string" ? [type] : type;
}

/** The first value that the schemas have for a keyword. */
export function first<K extends keyof Schema>(parts: Schema[], keyword: K): Schema[K] | undefined {
  return parts.find((part) => part[keyword] !== undefined)?.[keyword];
}

/** A value as people write it on one line of YAML. */
export function flow(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flow).join(", ")}]`;
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value).map(([key, item]) => `${flow(key)}: ${flow(item)}`);
    return `{${entries.join(", ")}}`;
  }
  if (typeof value !== "string") return String(value);
  const isPlain = /^([A-Za-z/][\w./=@-]*(:[\w./=@-]+)*|\d+([KMGTP]i?|[kmhsd]))$/.test(value);
  const isOther = /^(true|false|null|yes|no|on|off|y|n)$/i.test(value);
  return isPlain && !isOther ? value : JSON.stringify(value);
}
