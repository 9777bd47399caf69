// Enter: breaks the line, and indents the new one for what may follow.
import { ensureSyntaxTree, syntaxTree } from "@codemirror/language";
import { EditorSelection, type EditorState, type StateCommand } from "@codemirror/state";
import type { SyntaxNode } from "@lezer/common";

/** Spaces per level. */
const STEP = 2;
/** The longest time that Enter waits for the parser, in ms. */
const MAX_WAIT = 20;

/** A key at the beginning of a line, with its colon: `name:`, `"a b":`. */
const KEY = /^("[^"]*"|'[^']*'|[^\s#"'[\]{},][^#]*?):(?=\s|$)/;

/** Breaks the line at the cursor. What was typed stays as it is. */
export const breakLine: StateCommand = ({ state, dispatch }) => {
  if (state.readOnly) return false;
  const changes = state.changeByRange(({ from, to }) => {
    const line = state.doc.lineAt(from);
    const before = state.sliceDoc(line.from, from);
    const indent = " ".repeat(indentBehind(state, from));
    const behind = state.sliceDoc(to, state.doc.lineAt(to).to);
    // Removes spaces without a purpose: of an empty line, between a key and a missing value, behind the cursor.
    const kept = before.trim() === "" ? 0 : /:\s+$/.test(before) ? before.trimEnd().length : before.length;
    const insert = state.lineBreak + indent;
    const start = line.from + kept;
    return {
      changes: { from: start, to: to + behind.length - behind.trimStart().length, insert },
      range: EditorSelection.cursor(start + insert.length),
    };
  });
  dispatch(state.update(changes, { scrollIntoView: true, userEvent: "input" }));
  return true;
};

/** The column in which the line after `pos` begins. */
export function indentBehind(state: EditorState, pos: number): number {
  const line = state.doc.lineAt(pos);
  const before = state.sliceDoc(line.from, pos);
  const lead = before.length - before.trimStart().length;
  if (isInText(state, pos)) return lead;
  const open = openBrackets(state, pos);
  if (open) {
    const first = state.doc.lineAt(open.from);
    // The first line in brackets is indented; the others follow the line above.
    return first.number === line.number ? contentColumn(first.text) + STEP : lead;
  }
  // Behind brackets over several lines, the next key is below the one that they are the value of.
  const start = startOfValue(state, pos);
  const text = start ?? before;
  const column = contentColumn(text);
  const content = withoutComment(text.slice(column));
  if (start === undefined && /(^|\s)[|>][+-]?\d?$/.test(content)) return column + STEP;
  if (content.endsWith(":") && start === undefined) return column + STEP;
  // An item that is not a map is followed by another item.
  return KEY.test(content) ? column : text.length - text.trimStart().length;
}

/** The column of what a line contains, behind the dashes of list items. */
const contentColumn = (line: string) => /^ *(?:- +)*/.exec(line)?.[0].length ?? 0;

const withoutComment = (text: string) => text.replace(/(^|\s)#.*$/, "").trimEnd();

/** Whether the position is in a block of text, or in a comment that is alone on its line. */
export function isInText(state: EditorState, pos: number): boolean {
  const line = state.doc.lineAt(pos);
  if (/^\s*#/.test(line.text.slice(0, pos - line.from))) return true;
  return above(state, pos, ({ name, from }) => name === "BlockLiteralContent" && from <= line.from) !== undefined;
}

/** The innermost list or map in brackets that is open at `pos`. */
function openBrackets(state: EditorState, pos: number): SyntaxNode | undefined {
  return above(state, pos, (node) => {
    const close = node.getChild("]") ?? node.getChild("}");
    return isFlow(node) && node.from < pos && (!close || close.from >= pos);
  });
}

/** The line in which a list or map in brackets begins that ends on this line, up to the bracket. Undefined if none begins earlier. */
function startOfValue(state: EditorState, pos: number): string | undefined {
  const { from } = state.doc.lineAt(pos);
  const node = above(state, pos, (one) => isFlow(one) && one.from < from);
  return node && state.sliceDoc(state.doc.lineAt(node.from).from, node.from);
}

const isFlow = ({ name }: SyntaxNode) => name === "FlowSequence" || name === "FlowMapping";

/** The innermost node that ends at `pos` or contains it, and that a test accepts. */
function above(state: EditorState, pos: number, test: (node: SyntaxNode) => boolean): SyntaxNode | undefined {
  const tree = ensureSyntaxTree(state, pos, MAX_WAIT) ?? syntaxTree(state);
  for (let at: SyntaxNode | null = tree.resolveInner(pos, -1); at; at = at.parent) if (test(at)) return at;
  return undefined;
}
