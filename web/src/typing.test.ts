// Types whole specs key by key, as the editor takes them, and compares the text.
import { closeBrackets, insertBracket } from "@codemirror/autocomplete";
import { yaml } from "@codemirror/lang-yaml";
import { EditorSelection, EditorState, type Transaction } from "@codemirror/state";
import { describe, expect, it } from "vitest";
import { examples } from "./all-examples";
import { breakLine, indentBehind, isInText } from "./new-line";

const empty = () => EditorState.create({ extensions: [yaml(), closeBrackets()] });

/** Types one character. */
function press(state: EditorState, char: string): EditorState {
  if (char === "\n") {
    let next = state;
    breakLine({ state, dispatch: (transaction: Transaction) => (next = transaction.state) });
    return next;
  }
  const closing = isInText(state, state.selection.main.head) ? null : insertBracket(state, char);
  return (closing ?? state.update(state.replaceSelection(char))).state;
}

/** Makes the cursor's line begin with so many spaces, as Backspace and the space bar do. */
function indentTo(state: EditorState, column: number): EditorState {
  const { head } = state.selection.main;
  const { from } = state.doc.lineAt(head);
  const insert = " ".repeat(column);
  return state.update({ changes: { from, to: head, insert }, selection: EditorSelection.cursor(from + column) }).state;
}

function type(text: string): string {
  let state = empty();
  for (const [number, line] of text.split("\n").entries()) {
    const content = line.trimStart();
    if (number) state = press(state, "\n");
    if (content) state = indentTo(state, line.length - content.length);
    for (const char of content) state = press(state, char);
  }
  return state.doc.toString();
}

describe("typing", () => {
  it.each(examples)("$name arrives as it was typed", ({ spec }) => {
    expect(type(spec).trimEnd()).toBe(spec.trimEnd());
  });
});

/** The column of the line that Enter begins at `|`. */
function columnBehind(marked: string): number {
  const pos = marked.indexOf("|");
  const state = EditorState.create({ doc: marked.slice(0, pos) + marked.slice(pos + 1), extensions: yaml() });
  return indentBehind(state, pos);
}

describe("the line after Enter", () => {
  it.each<[string, string, number]>([
    ["below a map", "metadata:|", 2],
    ["below a map in a map", "spec:\n  workers:|", 4],
    ["below a key with a comment", "spec: # the job|", 2],
    ["after a value", "spec:\n  image: a:1|", 2],
    ["after a value with a colon", "spec:\n  image: a:|", 4],
    ["after a comment", "  # about workers:|", 2],
    ["in a list of maps", "storage:\n  - name: data|", 4],
    ["below a map in a list", "storage:\n  - nfs:|", 6],
    ["in a list of words", "args:\n  - --lr|", 2],
    ["in a list of words with colons", "args:\n  - a:b|", 2],
    ["below a block of text", "code:\n  train.py: >|", 4],
    ["in a block of text", "train.py: >\n  import os\n  def f():|", 2],
    ["in brackets", "command: [python,|]", 2],
    ["in brackets, second line", "command: [\n    python,|]", 4],
    ["behind brackets over two lines", "spec:\n  command: [python,\n    train.py]|", 2],
    ["behind braces over two lines in a list", "storage:\n  - {name: data,\n     nfs: {}}|", 2],
    ["in an empty line", "spec:\n  image: a\n  |", 2],
    ["in an empty text", "|", 0],
  ])("%s", (_, text, wanted) => {
    expect(columnBehind(text)).toBe(wanted);
  });
});

describe("Enter", () => {
  it("changes nothing that was typed, except spaces without a purpose", () => {
    expect(
      press(EditorState.create({ doc: "a: 1", selection: { anchor: 4 }, extensions: yaml() }), "\n").doc.toString(),
    ).toBe("a: 1\n");
    expect(
      press(EditorState.create({ doc: "a: ", selection: { anchor: 3 }, extensions: yaml() }), "\n").doc.toString(),
    ).toBe("a:\n  ");
    expect(
      press(EditorState.create({ doc: "  ", selection: { anchor: 2 }, extensions: yaml() }), "\n").doc.toString(),
    ).toBe("\n  ");
  });
});
