// The edit behind an advice of the timeline, such as "Set `lifecycle: {stall: {timeout: 20m}}`".
import type { PlacedText } from "./wire/types";

/** A field below `spec`, and the value that an advice names. */
export interface Advice {
  path: string;
  value: string;
}

/** The ranges of the fields in a spec, each from its key to the end of its value. */
type Ranges = Record<string, [number, number] | undefined>;

/** The fields that notes advise to set. */
export function adviceIn(notes: string[]): Advice[] {
  const fields = notes.flatMap((note) => [...note.matchAll(/`([a-z]\w*(?:\.\w+)*): ([^`]+)`/g)]);
  return fields.map(([, path = "", value = ""]) => unfold(path, value));
}

/** `lifecycle` and `{stall: {timeout: 20m}}` become `lifecycle.stall` and `{timeout: 20m}`. */
function unfold(path: string, value: string): Advice {
  const [, key, inner] = /^\{(\w+): (\{.*\})\}$/.exec(value) ?? [];
  return key && inner ? unfold(`${path}.${key}`, inner) : { path, value };
}

/** The edit that sets the field; undefined if the spec is written in a way in which there is no simple place for it. */
export function editFor(spec: string, ranges: Ranges, { path, value }: Advice): PlacedText | undefined {
  const own = ranges[`spec.${path}`];
  if (own) return { from: spec.indexOf(":", own[0]) + 1, to: own[1], text: ` ${value}` };
  const parent = path.includes(".") ? path.slice(0, path.lastIndexOf(".")) : "";
  const field = `${path.slice(parent ? parent.length + 1 : 0)}: ${value}`;
  const range = ranges[parent ? `spec.${parent}` : "spec"];
  if (parent && !range) return editFor(spec, ranges, { path: parent, value: `{${field}}` });
  if (range && /^[^:\n]*:\s*\{/.test(spec.slice(...range))) {
    const at = range[1] - 1;
    const isEmpty = /\{\s*\}$/.test(spec.slice(...range));
    return { from: at, to: at, text: isEmpty ? field : `, ${field}` };
  }
  // The fields beside it.
  const start = parent ? `spec.${parent}.` : "spec.";
  const beside = Object.entries(ranges).flatMap(([name, at]) => (at && name.startsWith(start) ? [at] : []));
  const first = Math.min(...beside.map(([from]) => from));
  const indent = spec.slice(spec.lastIndexOf("\n", first - 1) + 1, first);
  if (!beside.length || indent.trim()) return undefined;
  const end = Math.max(...beside.map(([, to]) => to));
  // Behind a comment on the same line.
  const lineEnd = (spec.indexOf("\n", end) + 1 || spec.length + 1) - 1;
  return { from: lineEnd, to: lineEnd, text: `\n${indent}${field}` };
}
