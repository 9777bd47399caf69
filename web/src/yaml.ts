// Where in a spec the cursor is, also while the text around it is not yet YAML. Reads lines and brackets, not the
// language: half-written lines are the rule here.

/** `["spec", "storage", "[]", "name"]`. */
export type Path = string[];

export interface Spot {
  /** Of the map, list or value that the word belongs to. */
  path: Path;
  /** Whether a key belongs here; else a value. Both may be so in an empty place. */
  key: boolean;
  /** Where the word begins. */
  from: number;
  /** Keys that stand beside it already. */
  taken: Set<string>;
  /** Column of the word; -1 between brackets. */
  column: number;
}

/** As much of CodeMirror's Text as is needed. */
interface Lines {
  lines: number;
  line(n: number): { from: number; text: string };
  lineAt(pos: number): { from: number; number: number; text: string };
}

const KEY = /^(?:"([^"]*)"|'([^']*)'|([^\s"'#[\]{},&*!|>%@`][^:#]*?))\s*:(?=\s|$)/;
/** A bracket is looked for in so many lines above. */
const REACH = 40;

interface Line {
  /** Columns of its dashes. */
  dashes: number[];
  column: number;
  key?: string;
  /** What stands behind the key, or in its place. */
  rest: string;
  restAt: number;
}

function read(text: string): Line {
  const dashes: number[] = [];
  let column = text.length - text.trimStart().length;
  let rest = text.slice(column);
  while (/^-(\s|$)/.test(rest)) {
    dashes.push(column);
    const behind = rest.slice(1);
    column += 1 + behind.length - behind.trimStart().length;
    rest = behind.trimStart();
  }
  const key = KEY.exec(rest);
  if (!key) return { dashes, column, rest, restAt: column };
  const behind = rest.slice(key[0].length);
  const restAt = column + key[0].length + behind.length - behind.trimStart().length;
  return { dashes, column, key: key[1] ?? key[2] ?? key[3], rest: behind.trim(), restAt };
}

const blank = (text: string) => /^\s*(#.*)?$/.test(text);
const marker = (text: string) => /^(---|\.\.\.)(\s|$)/.test(text);

/** The path of the block map or list that holds what stands in `column` of line `number`. */
function above(lines: Lines, number: number, column: number): Path {
  const path: Path = [];
  // What holds the rest begins left of these; a dash may stand right below its key.
  let [keys, dashes] = [column, column];
  for (let at = number; at >= 1 && keys > 0; at--) {
    const { text } = lines.line(at);
    if (marker(text)) break;
    if (at === number ? text.trim() === "" : blank(text)) continue;
    const line = read(text);
    if (at !== number && line.key !== undefined && line.column < keys) {
      path.unshift(line.key);
      keys = dashes = line.column;
    }
    for (const dash of line.dashes.toReversed()) {
      if (dash >= dashes) continue;
      path.unshift("[]");
      [keys, dashes] = [dash + 1, dash];
    }
  }
  return path;
}

/** Keys of the block map in `column` around line `number`. */
function beside(lines: Lines, number: number, column: number): Set<string> {
  const keys = new Set<string>();
  for (const step of [-1, 1]) {
    for (let at = number; at >= 1 && at <= lines.lines; at += step) {
      const { text } = lines.line(at);
      if (marker(text)) break;
      if (blank(text)) continue;
      const line = read(text);
      const first = line.dashes[0] ?? line.column;
      if (at !== number && line.column === column && line.key !== undefined && (step === -1 || !line.dashes.length))
        keys.add(line.key);
      // A dash begins the item; what is less indented ends it.
      if (at !== number && first < column && (step === 1 || line.column <= column)) break;
      if (at === number && step === -1 && line.dashes.length && line.column <= column) break;
    }
  }
  return keys;
}

interface Frame {
  map: boolean;
  key?: string;
  keys: Set<string>;
  /** Where the current entry begins. */
  from: number;
}

/** The brackets still open at the end of a text. */
function brackets(text: string): Frame[] {
  const open: Frame[] = [];
  for (let at = 0; at < text.length; at++) {
    const c = text[at]!;
    const top = open.at(-1);
    if (c === '"' || c === "'") {
      // Quotes begin a value or a key; elsewhere they are letters.
      if (!/[\s,:[{]/.test(text[at - 1] ?? " ")) continue;
      const end = text.indexOf(c, at + 1);
      if (end < 0) return open;
      at = end;
    } else if (c === "#" && /\s/.test(text[at - 1] ?? " ")) {
      const end = text.indexOf("\n", at);
      if (end < 0) return open;
      at = end;
    } else if (c === "{" || c === "[") {
      open.push({ map: c === "{", keys: new Set(), from: at + 1 });
    } else if (c === "}" || c === "]") {
      open.pop();
    } else if (c === "," && top) {
      top.key = undefined;
      top.from = at + 1;
    } else if (c === ":" && top?.map && top.key === undefined && /\s|$/.test(text[at + 1] ?? " ")) {
      top.key = text
        .slice(top.from, at)
        .trim()
        .replace(/^["']|["']$/g, "");
      top.keys.add(top.key);
      top.from = at + 1;
    }
  }
  return open;
}

function skip(text: string, from: number): number {
  return from + text.slice(from).length - text.slice(from).trimStart().length;
}

/** What stands at `pos`, taken as the end of what was typed. */
export function spot(lines: Lines, pos: number): Spot | null {
  const here = lines.lineAt(pos);
  const typed = here.text.slice(0, pos - here.from);
  if (/^\s*#/.test(typed) || / #/.test(typed.replace(/"[^"]*"|'[^']*'/g, ""))) return null;

  let text = "";
  for (let at = here.number; at >= 1 && at > here.number - REACH; at--) {
    const part = at === here.number ? typed : lines.line(at).text;
    text = at === here.number ? part : `${part}\n${text}`;
    const line = read(part);
    if (!/^[{[]/.test(line.rest)) {
      if (at !== here.number && line.key !== undefined) break;
      continue;
    }
    const open = brackets(text.slice(line.restAt));
    if (!open.length) break;
    const path = above(lines, at, line.column);
    if (line.key !== undefined) path.push(line.key);
    for (const frame of open.slice(0, -1)) path.push(frame.map ? (frame.key ?? "") : "[]");
    const top = open.at(-1)!;
    const from = pos - text.length + skip(text, line.restAt + top.from);
    const end = text.slice(line.restAt + top.from);
    if (!top.map) return { path: [...path, "[]"], key: false, from, taken: new Set(), column: -1 };
    if (top.key !== undefined && !/^\s/.test(end) && end !== "") return null;
    if (top.key !== undefined) return { path: [...path, top.key], key: false, from, taken: new Set(), column: -1 };
    return { path, key: true, from, taken: top.keys, column: -1 };
  }

  const line = read(typed);
  if (line.key !== undefined) {
    if (!/\s$/.test(typed) && line.rest === "") return null;
    const path = [...above(lines, here.number, line.column), line.key];
    return { path, key: false, from: here.from + line.restAt, taken: new Set(), column: -1 };
  }
  const path = above(lines, here.number, line.column);
  const taken = beside(lines, here.number, line.column);
  return { path, key: true, from: here.from + line.column, taken, column: line.column };
}

/** The path of the key at `pos`, with its place. */
export function keyAt(lines: Lines, pos: number): { path: Path; from: number; to: number } | null {
  const here = lines.lineAt(pos);
  const word = /[\w./-]/;
  let [from, to] = [pos - here.from, pos - here.from];
  while (from > 0 && word.test(here.text[from - 1]!)) from--;
  while (to < here.text.length && word.test(here.text[to]!)) to++;
  if (from === to || !/^["']?\s*:(\s|$)/.test(here.text.slice(to))) return null;
  const at = spot(lines, here.from + to);
  if (!at?.key) return null;
  return { path: [...at.path, here.text.slice(from, to)], from: here.from + from, to: here.from + to };
}
