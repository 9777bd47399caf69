// Completion and hover from the schema.
import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { insertCompletionText, pickedCompletion, startCompletion } from "@codemirror/autocomplete";
import type { EditorView, Tooltip } from "@codemirror/view";
import { h, number, words } from "./dom";
import { Fields, type Field, flow, type Schema } from "./schema";
import { keyAt, spot, type Spot } from "./yaml";

/** What a field is, takes and holds. */
export function page(name: string, parts: Schema[]): HTMLElement {
  const kinds = [...new Set(parts.map((part) => part.type).filter(Boolean))];
  const values = Fields.first(parts, "enum");
  const examples = Fields.first(parts, "examples");
  const one = kinds.length === 1;
  const row = (label: string, value: string | undefined) =>
    value === undefined ? null : h("div", { class: "row" }, h("span", {}, label), h("code", {}, value));
  const fallback = Fields.first(parts, "default");
  const [least, most] = [Fields.first(parts, "minimum"), Fields.first(parts, "maximum")];
  return h(
    "div",
    { class: "field" },
    h("strong", {}, name),
    h("p", {}, ...words(Fields.first(parts, "description") ?? Fields.first(parts, "title") ?? "")),
    row("takes", values ? values.map(flow).join(", ") : kinds.join(" or ") || undefined),
    row("default", fallback === undefined ? undefined : flow(fallback)),
    row("from", one && least !== undefined ? `${least}${most === undefined ? "" : ` to ${number(most)}`}` : undefined),
    row("example", examples?.length ? flow(examples[0]) : undefined),
  );
}

/** Puts a key in, with what must follow it. */
function key(field: Field, at: Spot) {
  return (view: EditorView, completion: Completion, from: number, to: number) => {
    const behind = view.state.sliceDoc(to, view.state.doc.lineAt(to).to);
    const shape = Fields.shape(field.parts);
    const deeper = `\n${" ".repeat(at.column + 2)}`;
    const open = at.column < 0 || shape === "value" ? " " : shape === "map" ? deeper : `${deeper}- `;
    const text = /^\s*:/.test(behind) ? field.name : `${field.name}:${open}`;
    view.dispatch({
      ...insertCompletionText(view.state, text, from, to),
      annotations: pickedCompletion.of(completion),
    });
    startCompletion(view);
  };
}

export function completions(fields: Fields) {
  return (context: CompletionContext): CompletionResult | null => {
    const at = spot(context.state.doc, context.pos);
    if (!at) return null;
    const typed = context.state.sliceDoc(at.from, context.pos);
    if (!context.explicit && typed === "" && !/[\s[{]$/.test(context.state.sliceDoc(context.pos - 1, context.pos)))
      return null;
    const options: Completion[] = [];
    if (at.key) {
      for (const [index, field] of fields.in(at.path).entries()) {
        if (at.taken.has(field.name) && field.name !== typed) continue;
        options.push({
          label: field.name,
          type: "property",
          detail: field.required ? "required" : undefined,
          // What is declared first is wanted most.
          boost: (field.required ? 60 : 40) - index,
          info: () => page(field.name, field.parts),
          apply: key(field, at),
        });
      }
    }
    // A name that is being typed is the person's own: an example of the whole map would take its place.
    if (!at.key || (!options.length && typed === "")) {
      fields.values(at.path).forEach(({ text, detail, about }, index) => {
        options.push({
          label: text,
          type: "enum",
          detail,
          boost: -index,
          info: about ? () => h("div", { class: "field" }, h("p", {}, ...words(about))) : undefined,
        });
      });
    }
    return options.length ? { from: at.from, options, validFor: /^[\w./-]*$/ } : null;
  };
}

export function hover(fields: Fields) {
  return (view: EditorView, pos: number): Tooltip | null => {
    const found = keyAt(view.state.doc, pos);
    const parts = found && fields.at(found.path);
    if (!found || !parts?.length) return null;
    return {
      pos: found.from,
      end: found.to,
      above: true,
      create: () => ({ dom: page(found.path.filter((step) => step !== "[]").join("."), parts) }),
    };
  };
}
