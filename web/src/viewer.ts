// The viewer of an object's YAML, with marks of what changed in it.
import { defaultKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { codeFolding, foldEffect, foldGutter, foldKeymap, unfoldAll } from "@codemirror/language";
import { searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, RangeSetBuilder } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, keymap, WidgetType } from "@codemirror/view";
import { equalRuns, type Line } from "./diff";
import { count, h } from "./dom";
import { appearance, createView } from "./editor";

class RemovedLine extends WidgetType {
  constructor(private readonly text: string) {
    super();
  }
  override eq(other: RemovedLine) {
    return other.text === this.text;
  }
  toDOM() {
    return h("div", { class: "removed" }, this.text);
  }
}

/** Marks added lines, and shows each removed line above the line that followed it. */
function diffMarks(state: EditorState, lines: Line[]): DecorationSet {
  const set = new RangeSetBuilder<Decoration>();
  let number = 1;
  for (const { kind, text } of lines) {
    const at = state.doc.line(Math.min(number, state.doc.lines)).from;
    if (kind === "removed") {
      set.add(at, at, Decoration.widget({ widget: new RemovedLine(text), block: true, side: -1 }));
      continue;
    }
    if (kind === "added") set.add(at, at, Decoration.line({ class: "added" }));
    number++;
  }
  return set.finish();
}

/** A button in place of folded lines, with their number. */
const foldedLines = codeFolding({
  preparePlaceholder({ doc }, { from, to }) {
    const first = doc.lineAt(from);
    return doc.lineAt(to).number - first.number + (first.from === from ? 1 : 0);
  },
  placeholderDOM(_view, onclick, lines: number) {
    const label = `Show ${count(lines, "hidden line")}`;
    return h("button", { type: "button", class: "cm-foldPlaceholder", onclick, title: label }, label);
  },
});

/** An object's YAML to read, fold and search, with marks of what changed in it. */
export class Viewer {
  private readonly view: EditorView;
  private readonly diff = new Compartment();

  constructor(parent: HTMLElement, label: string) {
    this.view = createView(parent, "", [
      appearance,
      foldedLines,
      foldGutter(),
      yaml(),
      EditorState.readOnly.of(true),
      EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
      keymap.of([...searchKeymap, ...foldKeymap, ...defaultKeymap]),
      this.diff.of([]),
    ]);
  }

  show(text: string, diff: Line[]) {
    const old = this.view.state.doc.toString();
    if (old !== text) this.view.dispatch({ changes: changedRange(old, text) });
    const marks = EditorView.decorations.of(diffMarks(this.view.state, diff));
    unfoldAll(this.view);
    const { doc } = this.view.state;
    const folds = equalRuns(diff).map(([first, last]) =>
      foldEffect.of({ from: doc.line(first).from, to: doc.line(last).to }),
    );
    this.view.dispatch({ effects: [this.diff.reconfigure(marks), ...folds] });
  }

  destroy() {
    this.view.destroy();
  }
}

/** The smallest single edit that turns one text into another. */
function changedRange(old: string, now: string): { from: number; to: number; insert: string } {
  let from = 0;
  while (from < old.length && from < now.length && old[from] === now[from]) from++;
  let [to, end] = [old.length, now.length];
  while (to > from && end > from && old[to - 1] === now[end - 1]) [to, end] = [to - 1, end - 1];
  return { from, to, insert: now.slice(from, end) };
}
