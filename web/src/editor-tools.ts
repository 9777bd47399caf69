// The extensions that the editor gets after the first preview: completion, hover, closing brackets, search, and the marks of problems.
import {
  acceptCompletion,
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from "@codemirror/autocomplete";
import { lintKeymap } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { type Extension, Prec } from "@codemirror/state";
import { hoverTooltip, keymap } from "@codemirror/view";
import { completeKey, completions, hover, takeSuggestion } from "./completion";
import { checkSchema, Fields } from "./schema";
import { parse } from "./wire/check";

export { forEachDiagnostic, lintGutter, setDiagnostics } from "@codemirror/lint";

/** The fields of the spec, from the text of its JSON Schema. */
export const readSchema = (schema: string) => new Fields(parse(checkSchema, schema));

export const extras = (fields: Fields): Extension => [
  autocompletion({ override: [completions(fields)], icons: false, defaultKeymap: false }),
  hoverTooltip(hover(fields), { hoverTime: 250 }),
  closeBrackets(),
  // A single letter occurs everywhere: its marks are of no use, and the next key removes them again.
  highlightSelectionMatches({ minSelectionLength: 2 }),
  // Before the keys of the editor, which indent and delete.
  Prec.high(
    keymap.of([
      { key: "Tab", run: acceptCompletion },
      { key: "Tab", run: completeKey(fields) },
      { key: "Tab", run: takeSuggestion(fields) },
      ...closeBracketsKeymap,
    ]),
  ),
  Prec.low(keymap.of([...searchKeymap, ...completionKeymap.filter(({ key }) => key !== "Enter"), ...lintKeymap])),
];
