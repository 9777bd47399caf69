// The place of the cursor in the spec's YAML, for completion and hover. It is read from the syntax tree of CodeMirror's YAML parser,
// which recovers from errors: a half-written line is the normal case here.
import { yamlLanguage } from "@codemirror/lang-yaml";
import { ensureSyntaxTree, syntaxTree } from "@codemirror/language";
import type { EditorState } from "@codemirror/state";
import { type ChangedRange, type SyntaxNode, type Tree, TreeFragment } from "@lezer/common";

/** `["spec", "storage", "[]", "name"]`. */
export type Path = string[];

export interface CursorContext {
  /** The path of the map or list that the word at the cursor belongs to, or of the field that it is the value of. */
  path: Path;
  /** Whether a key fits here; otherwise a value does. In an empty place both may fit. */
  isKey: boolean;
  /** Where the word starts. */
  from: number;
  /** Other keys of the same map. */
  siblings: Set<string>;
  /** The column of the word; -1 inside brackets. */
  column: number;
}

/** The longest time that hover and completion wait for the parser, in ms. */
const MAX_WAIT = 200;
/** Stands for the word at the cursor, so that the parser sees a word even if nothing is typed yet. */
const WORD = "x";

/**
 * Returns what is at `pos`, which is taken as the end of what is typed so far: the text behind it is not parsed, as it would be taken
 * for a part of the half-written line. Returns undefined if nothing can be completed, as in a comment.
 */
export function cursorContext(state: EditorState, pos: number): CursorContext | undefined {
  const before = state.sliceDoc(0, pos);
  const end = state.doc.length;
  const tree = parse(state, before + WORD, { fromA: pos, toA: end, fromB: pos, toB: pos + WORD.length });
  const word = tree.resolveInner(pos + WORD.length, -1);
  const line = state.doc.lineAt(pos);
  // A scalar from an earlier line goes on here, or this is a comment or a block of text.
  if (word.from < line.from || /^(Comment|BlockLiteral)/.test(word.name)) return undefined;
  const typed = before.slice(word.from);
  const inBrackets = enclosing(word, /^Flow/) !== undefined;
  const isKey = isKeyPosition(word, line.from);
  // A colon without a space behind it does not end a key.
  if (isKey && typed.includes(":")) return undefined;
  const path = pathOf(word, before);
  if (inBrackets)
    return { path, isKey, from: word.from, siblings: keysOf(enclosing(word, /Mapping$/), before), column: -1 };
  const siblings = isKey ? blockSiblings(state, word.from, line.to) : new Set<string>();
  return { path, isKey, from: word.from, siblings, column: word.from - line.from };
}

/** The path of the key at `pos`, with its range; undefined if there is no key. */
export function keyAt(state: EditorState, pos: number): { path: Path; from: number; to: number } | undefined {
  // CodeMirror parses long texts in the background.
  const tree = ensureSyntaxTree(state, state.doc.lineAt(pos).to, MAX_WAIT);
  const key = enclosing(tree?.resolveInner(pos, 1) ?? null, /^Key$/);
  if (!key?.parent?.getChild(":")) return undefined;
  const text = state.sliceDoc();
  return { path: [...pathOf(key, text), keyText(key, text)], from: key.from, to: key.to };
}

/** The scalar at a path such as `spec.launcher.kind`, in the document around `pos`; undefined if there is none. */
export function scalarAt(state: EditorState, pos: number, path: string): string | undefined {
  const text = state.sliceDoc();
  let found: string | undefined;
  const tree = ensureSyntaxTree(state, state.doc.length, MAX_WAIT) ?? syntaxTree(state);
  tree.iterate({
    enter({ name, node, from }) {
      if (name === "Document") {
        // Blank lines behind a document do not belong to it.
        if (from <= pos) found = undefined;
        return from <= pos;
      }
      if (name !== "Pair") return true;
      const own = [...pathOf(node, text), keyText(node.getChild("Key"), text)].join(".");
      const value = node.lastChild;
      if (own === path && value?.name.endsWith("Literal")) found = keyText(value, text);
      return path.startsWith(`${own}.`);
    },
  });
  return found;
}

/** Parses a text that differs from the editor's in one range, and reuses the editor's tree for the rest. */
function parse(state: EditorState, text: string, change: ChangedRange): Tree {
  const fragments = TreeFragment.applyChanges(TreeFragment.addTree(syntaxTree(state)), [change]);
  return yamlLanguage.parser.parse(text, fragments);
}

/** The node, or the nearest above it, whose name matches. */
function enclosing(node: SyntaxNode | null, name: RegExp): SyntaxNode | undefined {
  for (let at = node; at; at = at.parent) if (name.test(at.name)) return at;
  return undefined;
}

/** Whether a word may be a key: the parser takes it for one, or it is alone on its line. */
function isKeyPosition(word: SyntaxNode, lineFrom: number): boolean {
  const { parent } = word;
  if (parent?.name === "Pair") {
    const colon = parent.getChild(":");
    return !colon || colon.from < lineFrom;
  }
  if (parent?.name === "Item") return parent.parent?.name === "BlockSequence";
  // In brackets, the parser takes an unfinished item for a map of one key, which has no brace.
  const map = parent?.name === "Key" ? parent.parent?.parent : undefined;
  return map?.name !== "FlowMapping" || map.getChild("{") !== null;
}

/** The keys and list items above a node. */
function pathOf(node: SyntaxNode, text: string): Path {
  const path: Path = [];
  for (let at = node; at.parent; at = at.parent) {
    if (at.name === "Item") path.unshift("[]");
    if (at.parent.name === "Pair" && at.name !== "Key") path.unshift(keyText(at.parent.getChild("Key"), text));
  }
  return path;
}

function keyText(key: SyntaxNode | null, text: string): string {
  return key ? text.slice(key.from, key.to).replaceAll(/^["']|["']$/g, "") : "";
}

/** The keys of a map that have a colon, except the one at `skipped`. */
function keysOf(map: SyntaxNode | undefined, text: string, skipped = -1): Set<string> {
  const pairs = map?.getChildren("Pair") ?? [];
  const complete = pairs.filter((pair) => pair.from !== skipped && pair.getChild(":"));
  return new Set(complete.map((pair) => keyText(pair.getChild("Key"), text)));
}

/** The other keys of the block map around the word at `from`, parsed as if the rest of its line were a key without a value. */
function blockSiblings(state: EditorState, from: number, lineTo: number): Set<string> {
  const insert = `${WORD}:`;
  const text = state.sliceDoc(0, from) + insert + state.sliceDoc(lineTo);
  const tree = parse(state, text, { fromA: from, toA: lineTo, fromB: from, toB: from + insert.length });
  const map = enclosing(tree.resolveInner(from, 1), /^BlockMapping$/);
  return keysOf(map, text, from);
}
