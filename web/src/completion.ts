// Completion and hover, from the schema.
import {
  type Completion,
  CompletionContext,
  type CompletionResult,
  insertCompletionText,
  pickedCompletion,
  selectedCompletion,
  startCompletion,
} from "@codemirror/autocomplete";
import type { EditorState } from "@codemirror/state";
import type { EditorView, Tooltip } from "@codemirror/view";
import { bookLink, paragraphTo } from "./book";
import { type CursorContext, cursorContext, keyAt, scalarAt } from "./cursor";
import { h, markup, number } from "./dom";
import { excludedLaunchers, type Field, type Fields, first, flow, type Schema, shapeOf, typesOf } from "./schema";

/** The place in the documentation that lists a field, by its path: the section of the field that contains it. */
export function fieldAnchor(path: string[]): string {
  const parent = path.slice(0, path.at(-1) === "[]" ? -2 : -1).join("");
  return `docs/fields.html#${parent.toLowerCase().replaceAll(/[^\w-]/g, "") || "the-document"}`;
}

/** A text of the schema. The names of pages of the documentation are links inside the book. */
const described = (text: string) =>
  markup(text).flatMap((node) =>
    node instanceof Text
      ? node.data
          .split(/\b([\w-]+)\.md\b/)
          .flatMap((part, index) => (index % 2 ? bookLink(`docs/${part}.html`, `${part}.md`) : [part]))
      : [node],
  );

/** The documentation of a field: its purpose, values and default. */
function fieldPage(name: string, parts: Schema[], path?: string[]): HTMLElement {
  const types = [...new Set(parts.flatMap((part) => typesOf(part)))];
  const values = first(parts, "enum");
  const example = first(parts, "examples")?.[0];
  const fallback = first(parts, "default");
  const [least, most] = [first(parts, "minimum"), first(parts, "maximum")];
  const range = most === undefined ? `${least}` : `${least} to ${number(most)}`;
  const row = (label: string, value: string | undefined) =>
    value && h("div", { class: "row" }, h("span", {}, label), h("code", {}, value));
  return h(
    "div",
    { class: "field" },
    h("strong", {}, name),
    h("p", {}, ...described(first(parts, "description") ?? first(parts, "title") ?? "")),
    row(values ? "values" : "type", values ? values.map(flow).join(", ") : types.join(" or ")),
    row("default", fallback === undefined ? undefined : flow(fallback)),
    row("range", types.length === 1 && least !== undefined ? range : undefined),
    row("example", example === undefined ? undefined : flow(example)),
    ...(path ? paragraphTo(fieldAnchor(path), "in the docs") : []),
  );
}

/** The text behind the colon of a key: a space, or a deeper line for a map or a list. */
function behindKey({ parts }: Field, { column }: CursorContext): string {
  const shape = shapeOf(parts);
  const newLine = `\n${" ".repeat(column + 2)}`;
  return column < 0 || shape === "value" ? " " : shape === "map" ? newLine : `${newLine}- `;
}

/** Inserts a key with what follows it. */
function insertKey(field: Field, at: CursorContext) {
  return (view: EditorView, completion: Completion, from: number, to: number) => {
    const behind = view.state.sliceDoc(to, view.state.doc.lineAt(to).to);
    const text = /^\s*:/.test(behind) ? field.name : `${field.name}:${behindKey(field, at)}`;
    view.dispatch({
      ...insertCompletionText(view.state, text, from, to),
      annotations: pickedCompletion.of(completion),
    });
    startCompletion(view);
  };
}

/** The text that Tab adds behind the complete name of a field: the same as the completion. Undefined in other places. */
export function completedKey(fields: Fields, state: EditorState): { from: number; insert: string } | undefined {
  const { head, empty } = state.selection.main;
  const at = empty ? cursorContext(state, head) : undefined;
  if (!at?.isKey || /\S/.test(state.sliceDoc(head, state.doc.lineAt(head).to))) return undefined;
  const typed = state.sliceDoc(at.from, head);
  const field = fields.in(at.path).find(({ name }) => name === typed);
  return field && !at.siblings.has(typed) ? { from: head, insert: `:${behindKey(field, at)}` } : undefined;
}

export function completeKey(fields: Fields) {
  return (view: EditorView): boolean => {
    const added = completedKey(fields, view.state);
    if (!added) return false;
    const anchor = added.from + added.insert.length;
    view.dispatch({ changes: added, selection: { anchor }, userEvent: "input.complete", scrollIntoView: true });
    startCompletion(view);
    return true;
  };
}

/**
 * The suggestion for the word before the cursor: the one that the list has selected, or the first one of the list that is about to
 * open. Undefined if there is none.
 */
export function suggestionHere(fields: Fields, state: EditorState): { option: Completion; from: number } | undefined {
  const { head, empty } = state.selection.main;
  const found = empty ? completions(fields)(new CompletionContext(state, head, false)) : null;
  const typed = found ? state.sliceDoc(found.from, head) : "";
  if (!found || !typed) return undefined;
  const likely = found.options.filter(({ label }) => label.toLowerCase().startsWith(typed.toLowerCase()));
  const option = selectedCompletion(state) ?? likely.sort((a, b) => (b.boost ?? 0) - (a.boost ?? 0))[0];
  return option && { option, from: found.from };
}

/** Takes the suggestion for the word before the cursor while its list is about to open, and so does not accept keys. */
export function takeSuggestion(fields: Fields) {
  return (view: EditorView): boolean => {
    const found = suggestionHere(fields, view.state);
    if (!found) return false;
    const { option, from } = found;
    const { head } = view.state.selection.main;
    if (typeof option.apply === "function") option.apply(view, option, from, head);
    else view.dispatch(insertCompletionText(view.state, option.apply ?? option.label, from, head));
    return true;
  };
}

export function completions(fields: Fields) {
  return ({ state, pos, explicit }: CompletionContext): CompletionResult | null => {
    const at = cursorContext(state, pos);
    if (!at) return null;
    const typed = state.sliceDoc(at.from, pos);
    if (!explicit && typed === "" && !/[\s[{]$/.test(state.sliceDoc(pos - 1, pos))) return null;
    const isExcluded = (parts: Schema[]) => {
      const launchers = excludedLaunchers(parts);
      if (!launchers.length) return false;
      const launcher = scalarAt(state, pos, "spec.launcher") ?? scalarAt(state, pos, "spec.launcher.kind");
      return launcher !== undefined && launchers.includes(launcher);
    };
    const missing = fields
      .in(at.path)
      .filter(({ name, parts }) => !at.siblings.has(name) && name !== typed && !isExcluded(parts));
    const keys = at.isKey ? missing.map((field, index) => keyOption(field, index, at)) : [];
    // A name that the user makes up is being typed: an example of the whole map would replace it.
    const isFollowed = typed === "" && /^[^\s#,\]}]/.test(state.sliceDoc(pos, state.doc.lineAt(pos).to));
    const hasValues = !isFollowed && (!at.isKey || (!keys.length && typed === ""));
    const options = [...keys, ...(hasValues ? valueOptions(fields, at, typed) : [])];
    // The first letter ends the examples, and a word that is complete needs no completion.
    const validFor = (text: string) =>
      /^[\w./-]+$/.test(text) && (typed !== "" || keys.length > 0) && !options.some(({ label }) => label === text);
    return options.length ? { from: at.from, options, validFor } : null;
  };
}

function keyOption(field: Field, index: number, at: CursorContext): Completion {
  return {
    label: field.name,
    type: "property",
    detail: field.required ? "required" : "",
    // Required fields come first, then in the order of the schema, which begins with what is used most.
    boost: (field.required ? 60 : 40) - index,
    info: () => fieldPage(field.name, field.parts),
    apply: insertKey(field, at),
  };
}

/** Fixed values. Defaults and examples only if nothing is typed yet: they would replace the user's own value. */
function valueOptions(fields: Fields, at: CursorContext, typed: string): Completion[] {
  const values = fields.values(at.path).filter(({ text, detail }) => typed === "" || (!detail && text !== typed));
  return values.map(({ text, detail, about }, index) => ({
    label: text,
    type: "enum",
    detail,
    boost: -index,
    info: about ? () => h("div", { class: "field" }, h("p", {}, ...markup(about))) : "",
  }));
}

export function hover(fields: Fields) {
  return ({ state }: EditorView, pos: number): Tooltip | null => {
    const key = keyAt(state, pos);
    if (!key) return null;
    const parts = fields.at(key.path);
    if (!parts.length) return null;
    const name = key.path.filter((step) => step !== "[]").join(".");
    return { pos: key.from, end: key.to, above: true, create: () => ({ dom: fieldPage(name, parts, key.path) }) };
  };
}
