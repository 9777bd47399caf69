import { readFileSync } from "node:fs";
import { CompletionContext } from "@codemirror/autocomplete";
import { yaml } from "@codemirror/lang-yaml";
import { EditorState } from "@codemirror/state";
import { describe, expect, it } from "vitest";
import { completedKey, suggestionHere, completions, fieldAnchor } from "./completion";
import { checkSchema, Fields } from "./schema";
import { parse } from "./wire/check";

const file = new URL("../../schema/training-job.v1alpha1.schema.json", import.meta.url);
const fields = new Fields(parse(checkSchema, readFileSync(file, "utf8")));
const complete = completions(fields);
const head = "apiVersion: khorovod.dev/v1alpha1\nkind: TrainingJob\nspec:\n";

/** The labels that are offered at `|`. */
function offered(marked: string): string[] {
  const pos = marked.indexOf("|");
  const state = EditorState.create({ doc: marked.slice(0, pos) + marked.slice(pos + 1), extensions: yaml() });
  return complete(new CompletionContext(state, pos, false))?.options.map(({ label }) => label) ?? [];
}

describe("completions", () => {
  it.each([
    [`${head}  lifecycle:\n    deadline: 4|`],
    [`${head}  workers:\n    memory: 2G|`],
    [`${head}  workers:\n    replicas: 1|`],
    [`${head}  image: mni|`],
    [`${head}  storage:\n    - name: d|`],
    [`${head}  ssh:\n    port: 22|`],
  ])("never replace a value that is being typed: %s", (text) => {
    expect(offered(text)).toEqual([]);
  });

  it("offer examples while nothing is typed", () => {
    expect(offered(`${head}  workers:\n    memory: |`)).toEqual(["256Gi"]);
  });

  it("offer fixed values, except the one that is typed", () => {
    const kinds = offered(`${head}  launcher:\n    kind: m|`);
    expect(kinds).toContain("mpirun");
    expect(offered(`${head}  launcher:\n    kind: mpirun|`)).not.toContain("mpirun");
    expect(offered(`${head}  placement:\n    hostNetwork: true|`)).not.toContain("true");
  });

  it("offer the kinds of launchers, also without a map", () => {
    expect(offered(`${head}  launcher: |`)).toEqual(expect.arrayContaining(["mpirun", "torchrun", "jax"]));
  });

  it.each([
    ["torchrun", false],
    ["{kind: jax}", false],
    ["\n    mpi: openmpi\n    kind: tensorflow", false],
    ["mpirun", true],
  ])("offer spares and groups only with a launcher that allows them: %s", (launcher, isOffered) => {
    const before = offered(`${head}  launcher: ${launcher}\n  workers:\n    replicas: 4\n    |\n`);
    const behind = offered(`${head}  workers: {replicas: 4, |}\n  launcher: ${launcher}\n`);
    for (const keys of [before, behind]) {
      expect(keys).toContain("gpus");
      expect(["spares", "serviceAccountName"].map((key) => keys.includes(key))).toEqual([isOffered, isOffered]);
    }
    const other = `${head}  launcher: ${launcher}\n---\n${head}  workers:\n    replicas: 4\n    |\n`;
    expect(offered(other)).toContain("spares");
  });

  it("offer no value in front of one", () => {
    expect(offered(`${head}  workers:\n    gpus: |8`)).toEqual([]);
    expect(offered(`${head}  workers: {gpus: |8}`)).toEqual([]);
    expect(offered(`${head}  workers: {gpus: |}`)).not.toEqual([]);
  });

  it("do not offer the key that is typed", () => {
    expect(offered(`${head}  env|`)).toContain("envFrom");
    expect(offered(`${head}  env|`)).not.toContain("env");
  });
});

describe("Tab behind the name of a field", () => {
  /** The text after Tab at `|`; undefined if Tab does something else. */
  function tab(marked: string): string | undefined {
    const pos = marked.indexOf("|");
    const doc = marked.slice(0, pos) + marked.slice(pos + 1);
    const start = EditorState.create({ doc, selection: { anchor: pos }, extensions: yaml() });
    const added = completedKey(fields, start);
    return added && start.update({ changes: added }).state.sliceDoc();
  }

  it("adds what follows the name", () => {
    expect(tab("kind|")).toBe("kind: ");
    expect(tab(`${head}  workers|\n`)).toBe(`${head}  workers:\n    \n`);
  });

  it.each([["kin|"], ["kind: |"], [`${head}  image: image|`], [`${head}  image|: a`], [`${head}  image: a\n  image|`]])(
    "changes nothing elsewhere: %s",
    (text) => {
      expect(tab(text)).toBe(undefined);
    },
  );
});

describe("Tab before the list of suggestions is open", () => {
  /** The suggestion that Tab takes at `|`. */
  function taken(marked: string): string | undefined {
    const pos = marked.indexOf("|");
    const doc = marked.slice(0, pos) + marked.slice(pos + 1);
    const start = EditorState.create({ doc, selection: { anchor: pos }, extensions: yaml() });
    return suggestionHere(fields, start)?.option.label;
  }

  it.each([
    ["ki|", "kind"],
    [`${head}  wor|`, "workers"],
    [`${head}  launcher: torch|`, "torchrun"],
    [`${head}  workers:\n    Repl|`, "replicas"],
  ])("takes the first one: %s", (text, label) => {
    expect(taken(text)).toBe(label);
  });

  it.each([["|"], ["xyz|"], [`${head}  |`], [`${head}  command: [python, tr|`], [`${head}  image: 5|`]])(
    "takes none: %s",
    (text) => {
      expect(taken(text)).toBe(undefined);
    },
  );
});

describe("the anchor of a field", () => {
  const page = readFileSync(new URL("../../docs/fields.md", import.meta.url), "utf8");
  const anchors = [...page.matchAll(/^## (.*)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w -]/g, "")
      .replaceAll(" ", "-"),
  );
  it.each([
    ["apiVersion"],
    ["metadata", "name"],
    ["spec", "workers"],
    ["spec", "workers", "replicas"],
    ["spec", "storage", "[]"],
    ["spec", "storage", "[]", "claim", "size"],
    ["spec", "placement", "topology", "slices", "size"],
  ])("is a heading of docs/fields.md: %s", (...path) => {
    expect(anchors).toContain(fieldAnchor(path).replace("docs/fields.html#", ""));
  });
});
