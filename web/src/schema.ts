// The JSON Schema of the spec, walked by paths: what belongs where, and what it means.
import type { Path } from "./yaml";

export interface Schema {
  $ref?: string;
  $defs?: Record<string, Schema>;
  type?: string;
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

export interface Field {
  name: string;
  required: boolean;
  parts: Schema[];
}

export interface Value {
  text: string;
  detail: string;
  about?: string;
}

export class Fields {
  constructor(private readonly root: Schema) {}

  /** The parts of a schema that may say something: itself, what it refers to, its alternatives. */
  private parts(schema: Schema): Schema[] {
    const all = [schema];
    for (const part of all) {
      if (part.$ref) all.push(this.root.$defs![part.$ref.replace("#/$defs/", "")]!);
      all.push(...(part.anyOf ?? []), ...(part.oneOf ?? []), ...(part.allOf ?? []));
    }
    return all;
  }

  /** What stands at a path. */
  at(path: Path): Schema[] {
    let parts = this.parts(this.root);
    for (const step of path) {
      const below = parts.flatMap((part) => {
        if (step === "[]") return part.items ? [part.items] : [];
        const named = part.properties?.[step];
        if (named) return [named];
        return typeof part.additionalProperties === "object" ? [part.additionalProperties] : [];
      });
      parts = below.flatMap((schema) => this.parts(schema));
    }
    return parts;
  }

  /** The fields of the map at a path. */
  in(path: Path): Field[] {
    const seen = new Map<string, Field>();
    for (const { properties = {}, required = [], propertyNames, additionalProperties } of this.at(path)) {
      for (const [name, schema] of Object.entries(properties))
        if (!seen.has(name)) seen.set(name, { name, required: required.includes(name), parts: this.parts(schema) });
      for (const name of propertyNames?.enum ?? [])
        if (typeof additionalProperties === "object")
          seen.set(String(name), { name: String(name), required: false, parts: this.parts(additionalProperties) });
    }
    return [...seen.values()];
  }

  /** What may stand at a path, as YAML. */
  values(path: Path): Value[] {
    const parts = this.at(path);
    const values: Value[] = [];
    const add = (value: unknown, detail: string, about?: string) => {
      const text = flow(value);
      if (!values.some((other) => other.text === text)) values.push({ text, detail, about });
    };
    for (const part of parts) {
      part.enum?.forEach((value, index) => add(value, "", part.markdownEnumDescriptions?.[index]));
      if (part.const !== undefined) add(part.const, "");
      if (part.type === "boolean") [true, false].forEach((value) => add(value, ""));
    }
    const fallback = parts.find((part) => part.default !== undefined);
    if (fallback) add(fallback.default, "default");
    for (const part of parts) part.examples?.forEach((value) => add(value, "example"));
    return values;
  }

  /** Whether a map, a list or neither stands there, as far as people write it in lines. */
  static shape(parts: Schema[]): "map" | "list" | "value" {
    const types = new Set(parts.map((part) => part.type).filter(Boolean));
    if (types.size !== 1) return "value";
    return types.has("object") ? "map" : types.has("array") ? "list" : "value";
  }

  static first<K extends keyof Schema>(parts: Schema[], key: K): Schema[K] | undefined {
    return parts.find((part) => part[key] !== undefined)?.[key];
  }
}

/** A value as people write it on one line. */
export function flow(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flow).join(", ")}]`;
  if (typeof value === "object" && value !== null)
    return `{${Object.entries(value)
      .map(([key, item]) => `${flow(key)}: ${flow(item)}`)
      .join(", ")}}`;
  if (typeof value !== "string") return String(value);
  const plain = /^([A-Za-z/][\w./=@-]*(:[\w./=@-]+)*|\d+([KMGTP]i?|[kmhsd]))$/.test(value);
  return plain && !/^(true|false|null|yes|no|on|off|y|n)$/i.test(value) ? value : JSON.stringify(value);
}
