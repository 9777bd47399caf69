import { yaml } from "@codemirror/lang-yaml";
import { EditorState } from "@codemirror/state";
import { describe, expect, it } from "vitest";
import { cursorContext, keyAt } from "./cursor";

const head = "kind: TrainingJob\nspec:\n";

/** Splits a text at the cursor, which is written as `|`. */
function cursor(marked: string) {
  const pos = marked.lastIndexOf("|");
  return { state: EditorState.create({ doc: marked.slice(0, pos) + marked.slice(pos + 1), extensions: yaml() }), pos };
}

/** Returns what is at the cursor: `key` or `value`, the path, and the word that was typed so far. */
function found(marked: string) {
  const { state, pos } = cursor(marked);
  const at = cursorContext(state, pos);
  return at && `${at.isKey ? "key" : "value"} ${at.path.join(".")} "${state.sliceDoc(at.from, pos)}"`;
}

const siblings = (marked: string) => {
  const { state, pos } = cursor(marked);
  return [...(cursorContext(state, pos)?.siblings ?? [])].toSorted((a, b) => a.localeCompare(b));
};

describe("cursorContext", () => {
  it.each([
    ["an empty text", "|", 'key  ""'],
    ["a new document", `${head}---\n|`, 'key  ""'],
    ["the first letters of a key", "ki|", 'key  "ki"'],
    ["a key inside a map", `${head}  wor|`, 'key spec "wor"'],
    ["a key between other keys", `${head}  image: a:1\n  |\n  command: [a]`, 'key spec ""'],
    ["a key two levels deep", `${head}  workers:\n    replicas: 4\n    |`, 'key spec.workers ""'],
    ["a key after a deeper map", `${head}  workers:\n    replicas: 4\n  |`, 'key spec ""'],
    ["a key under a key without a value", `${head}  workers:\n    |`, 'key spec.workers ""'],
    ["a key after a comment", `${head}  # about workers\n  |`, 'key spec ""'],
    ["a key behind an empty line", `${head}  workers:\n    replicas: 4\n\n    |`, 'key spec.workers ""'],
    ["a value", `${head}  launcher:\n    kind: |`, 'value spec.launcher.kind ""'],
    ["a value that was begun", `${head}  launcher:\n    kind: mp|`, 'value spec.launcher.kind "mp"'],
    ["a quoted value", `${head}  image: "a|`, 'value spec.image ""a"'],
    ["a key in braces", `${head}  workers: {replicas: 4, |}`, 'key spec.workers ""'],
    ["a key that was begun in braces", `${head}  workers: {replicas: 4, gp|}`, 'key spec.workers "gp"'],
    ["a key in braces that are not closed", `${head}  workers: {replicas: 4, gp|`, 'key spec.workers "gp"'],
    ["a value in braces", `${head}  launcher: {kind: |}`, 'value spec.launcher.kind ""'],
    ["braces in braces", `${head}  storage:\n    - {name: data, nfs: {|}}`, 'key spec.storage.[].nfs ""'],
    ["a key in braces over two lines", `${head}  workers: {replicas: 4,\n    gp|}`, 'key spec.workers "gp"'],
    ["an item in brackets", `${head}  command: [a, |]`, 'value spec.command.[] ""'],
    ["a new item", `${head}  storage:\n    - |`, 'key spec.storage.[] ""'],
    ["a new item at its key's column", `${head}  storage:\n  - |`, 'key spec.storage.[] ""'],
    ["a key in an item", `${head}  storage:\n  - name: data\n    |`, 'key spec.storage.[] ""'],
    ["a key deeper in an item", `${head}  storage:\n  - name: data\n    nfs:\n      |`, 'key spec.storage.[].nfs ""'],
    ["a key in the second item", `${head}  storage:\n    - name: a\n    - n|`, 'key spec.storage.[] "n"'],
    ["a key after a quoted key", `${head}  "workers":\n    |`, 'key spec.workers ""'],
    ["a value with a colon in it", `${head}  image: reg:5000/a:1\n  |`, 'key spec ""'],
    ["a line that is not YAML above", `${head}  image: a: b: c\n  |`, 'key spec ""'],
    ["a half-written key above", `${head}  image: a\n  comm\n  workers:\n    |`, 'key spec.workers ""'],
    ["a key with another key below", `${head}  wor|\n  image: a`, 'key spec "wor"'],
    ["a key after a block of text", `${head}  script: |-\n    a: b\n  |`, 'key spec ""'],
    ["a key in braces in brackets", `${head}  storage: [{name: a, |}]`, 'key spec.storage.[] ""'],
  ])("%s", (_, marked, expected) => {
    expect(found(marked)).toBe(expected);
  });

  it.each([
    ["in a comment", `${head}  # wor|`],
    ["in a block of text", `${head}  script: |\n    wor|`],
    ["in a comment behind a value", `${head}  image: a # wor|`],
    ["right behind a colon", `${head}  image:|`],
    ["in the second line of a value", `${head}  image: a\n    b|`],
  ])("finds nothing %s", (_, marked) => {
    expect(found(marked)).toBeUndefined();
  });

  it.each([
    ["above and below", `${head}  image: a:1\n  |\n  command: [a]`, ["command", "image"]],
    ["in braces, before the cursor", `${head}  workers: {replicas: 4, |}`, ["replicas"]],
    ["in the same item only", `${head}  storage:\n    - name: a\n      mountPath: /a\n    - n|`, []],
    ["not those of a deeper map", `${head}  workers:\n    replicas: 4\n  |`, ["workers"]],
    ["not those of another document", `kind: a\n---\nspec:\n|`, ["spec"]],
  ])("finds the other keys of the map: %s", (_, marked, expected) => {
    expect(siblings(marked)).toEqual(expected);
  });
});

describe("keyAt", () => {
  const at = (marked: string) => {
    const { state, pos } = cursor(marked);
    return keyAt(state, pos)?.path.join(".");
  };

  it.each([
    ["a key of a map", `${head}  workers:\n    rep|licas: 4`, "spec.workers.replicas"],
    ["a key in braces", `${head}  workers: {rep|licas: 4}`, "spec.workers.replicas"],
    ["a key in an item", `${head}  storage:\n    - na|me: a`, "spec.storage.[].name"],
    ["the last letter of a key", `${head}  imag|e: a`, "spec.image"],
  ])("names %s by its path", (_, marked, expected) => {
    expect(at(marked)).toBe(expected);
  });

  it.each([
    ["a value", `${head}  image: mn|ist`],
    ["a word in a comment", `${head}  # ima|ge: a`],
  ])("finds nothing at %s", (_, marked) => {
    expect(at(marked)).toBeUndefined();
  });
});
