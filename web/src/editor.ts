// The editor of the spec. It is in a shadow root: there CodeMirror uses constructed style sheets, which the page's content
// security policy allows. Elsewhere it adds a <style> element, which it forbids. After the first preview the editor gets the
// extensions of editor-tools.ts.
import { defaultKeymap, history, historyKeymap, indentWithTab, isolateHistory } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import {
  bracketMatching,
  foldGutter,
  foldKeymap,
  HighlightStyle,
  indentUnit,
  syntaxHighlighting,
} from "@codemirror/language";
import type { Diagnostic } from "@codemirror/lint";
import {
  Annotation,
  type ChangeSet,
  Compartment,
  EditorState,
  type Extension,
  RangeSetBuilder,
  StateEffect,
  StateField,
  Transaction,
} from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  EditorView,
  gutter,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
  ViewPlugin,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { aboutCode } from "./book";
import { directInput } from "./direct-input";
import { h, markup } from "./dom";
import type * as EditorTools from "./editor-tools";
import { fixLabel } from "./fix-label";
import { inPage } from "./hints";
import { breakLine, isInText } from "./new-line";
import type { Fields } from "./schema";
import type { PlacedText, Problem } from "./wire/types";

const colors = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--key)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--string)" },
  { tag: [tags.comment], color: "var(--muted)", fontStyle: "italic" },
  { tag: [tags.content], color: "var(--text)" },
  { tag: [tags.punctuation, tags.separator, tags.bracket, tags.meta], color: "var(--muted)" },
  { tag: [tags.keyword, tags.labelName, tags.typeName], color: "var(--accent)" },
]);

const theme = EditorView.theme({
  "&": { height: "100%", backgroundColor: "var(--paper)", color: "var(--text)", fontSize: "13px" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55" },
  ".cm-content": { caretColor: "var(--text)", padding: "8px 0" },
  // The browser draws the selection: drawn by CodeMirror it makes each key a quarter slower.
  ".cm-line::selection, .cm-line ::selection": { backgroundColor: "var(--select)" },
  // The second row of a wrapped line is indented, so that it does not look like a key.
  ".cm-line": { padding: "0 2px 0 calc(4ch + 6px)", textIndent: "-4ch" },
  ".cm-gutters": { backgroundColor: "var(--paper)", color: "var(--muted)", border: "none" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--line)" },
  ".cm-selectionMatch": { backgroundColor: "var(--select)" },
  ".cm-matchingBracket": { backgroundColor: "var(--select)", outline: "none" },
  ".cm-foldPlaceholder": { backgroundColor: "var(--line)", border: "none", color: "var(--muted)" },
  ".cm-tooltip": {
    backgroundColor: "var(--panel)",
    color: "var(--text)",
    border: "1px solid var(--edge)",
    borderRadius: "6px",
    boxShadow: "0 4px 16px rgb(0 0 0 / 0.18)",
    maxWidth: "min(30rem, 90vw)",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", maxHeight: "14.2em" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "3px 8px" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-tooltip-autocomplete ul li[aria-selected] .cm-completionDetail": { color: "var(--on-accent)" },
  ".cm-completionDetail": { color: "var(--muted)", fontStyle: "normal" },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "bold" },
  ".cm-completionInfo, .field": {
    padding: "8px 12px",
    fontFamily: "var(--sans)",
    fontSize: "13px",
    lineHeight: "1.45",
  },
  ".cm-completionInfo .field": { padding: "0" },
  // On a narrow screen it would cover the list.
  "@media (max-width: 760px)": { ".cm-completionInfo": { display: "none" } },
  ".field p": { margin: "4px 0" },
  // As a block, `--target` does not break after its dashes.
  ".field code, .cm-diagnostic code": { fontFamily: "var(--mono)", fontSize: "12px", display: "inline-block" },
  ".field .row": { display: "flex", gap: "8px" },
  ".field .row span": { color: "var(--muted)", minWidth: "4.5em" },
  ".cm-diagnostic": { padding: "8px 12px", fontFamily: "var(--sans)", fontSize: "13px", lineHeight: "1.45" },
  ".cm-diagnostic-error": { borderLeft: "4px solid var(--error)" },
  ".cm-diagnostic-warning": { borderLeft: "4px solid var(--warning)" },
  ".cm-diagnostic-info": { borderLeft: "4px solid var(--accent)" },
  ".cm-diagnosticAction": {
    backgroundColor: "var(--accent)",
    color: "var(--on-accent)",
    borderRadius: "4px",
    padding: "2px 8px",
    marginLeft: "0",
    marginTop: "4px",
    display: "inline-block",
    fontFamily: "var(--mono)",
  },
  // As wide before the marks are loaded as with them.
  ".cm-gutter-lint": { width: "1.4em" },
  ".cm-lintRange-error": { backgroundImage: "none", borderBottom: "2px solid var(--error)" },
  ".cm-lintRange-warning": { backgroundImage: "none", borderBottom: "2px solid var(--warning)" },
  ".cm-lintRange-info": { backgroundImage: "none", borderBottom: "2px solid var(--accent)" },
  ".cm-panels": { backgroundColor: "var(--panel)", color: "var(--text)" },
  ".cm-textfield": { backgroundColor: "var(--paper)", color: "var(--text)", border: "1px solid var(--edge)" },
  ".cm-button": {
    backgroundImage: "none",
    backgroundColor: "var(--line)",
    color: "var(--text)",
    border: "1px solid var(--edge)",
  },
  ".origin": { backgroundColor: "var(--origin)" },
  ".added": { backgroundColor: "var(--added)" },
  ".removed": { backgroundColor: "var(--removed)", padding: "0 6px", whiteSpace: "pre", opacity: "0.85" },
});

/** Highlights the lines of a range; null ends the highlight. */
const highlight = StateEffect.define<{ from: number; to: number } | null>();
const highlighted = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, { effects, changes, state }) {
    let next = marks.map(changes);
    for (const effect of effects) {
      if (!effect.is(highlight)) continue;
      const lines = new RangeSetBuilder<Decoration>();
      if (effect.value) {
        const last = state.doc.lineAt(Math.max(effect.value.from, effect.value.to - 1)).number;
        for (let number = state.doc.lineAt(effect.value.from).number; number <= last; number++) {
          const { from } = state.doc.line(number);
          lines.add(from, from, Decoration.line({ class: "origin" }));
        }
      }
      next = lines.finish();
    }
    return next;
  },
  provide: (field) => EditorView.decorations.from(field),
});

export const appearance: Extension = [
  theme,
  syntaxHighlighting(colors),
  highlightSpecialChars(),
  EditorState.tabSize.of(2),
];

/** Makes a CodeMirror view in a shadow root of the element. */
export function createView(parent: HTMLElement, doc: string, extensions: Extension[]): EditorView {
  const root = parent.shadowRoot ?? parent.attachShadow({ mode: "open" });
  return new EditorView({ state: EditorState.create({ doc, extensions }), root, parent: root });
}

/** Marks a change that the page made, not the user. */
const byPage = Annotation.define<boolean>();

export class Editor {
  private readonly view: EditorView;
  private readonly marks = new Compartment();
  private readonly extras = new Compartment();
  private tools: typeof EditorTools | undefined;
  /** During an update the editor accepts no other: the problems found meanwhile are underlined after it. */
  private updating = false;
  private found: Problem[] | undefined;
  /** Whether the gutter has marks. They stay if the text that they are about is deleted. */
  private hasMarks = false;
  /** Whether a text was loaded. The first one has nothing before it that an undo could restore. */
  private hasText = false;

  /**
   * Calls `onChange` for each change of the text, `onMove` if the cursor moves without a change, and `announce` with the result of a
   * key.
   */
  constructor(
    parent: HTMLElement,
    onChange: (text: string, byUser: boolean) => void,
    onMove: () => void,
    private readonly announce: (text: string) => void,
  ) {
    // A view plugin is updated before the editor measures its own layout. What `onChange` changes in the page is so part of
    // the same layout instead of a second one.
    const early = ViewPlugin.define(() => ({
      update: ({ docChanged, state, transactions }) => {
        if (!docChanged) return;
        this.updating = true;
        onChange(state.doc.toString(), !transactions.some((one) => one.annotation(byPage)));
      },
    }));
    const late = EditorView.updateListener.of((update) => {
      this.updating = false;
      if (update.docChanged) this.underlineFound();
      else if (update.selectionSet) onMove();
    });
    this.view = createView(parent, "", [
      appearance,
      lineNumbers(),
      foldGutter(),
      this.marks.of(gutter({ class: "cm-gutter-lint" })),
      history(),
      indentUnit.of("  "),
      bracketMatching(),
      // Brackets and quotes in a block of text are not YAML: another language decides where they close.
      EditorView.inputHandler.of((view, from, _to, text, insert) => {
        if (!/^[[\]{}()"'`]$/.test(text) || !isInText(view.state, from)) return false;
        view.dispatch(insert());
        return true;
      }),
      highlightActiveLine(),
      highlightActiveLineGutter(),
      EditorView.lineWrapping,
      highlighted,
      yaml(),
      this.extras.of([]),
      keymap.of([
        { key: "Mod-.", run: () => this.applyFixHere() },
        { key: "Enter", run: breakLine },
        ...defaultKeymap,
        ...historyKeymap,
        ...foldKeymap,
        indentWithTab,
      ]),
      EditorView.contentAttributes.of({
        "aria-label": "Training spec, YAML",
        // A description of its own: an id outside the shadow root would not be found.
        "aria-description":
          "Ctrl Space suggests. Ctrl . fixes. F8 goes to the next problem. Escape, then Tab leaves the editor.",
        tabindex: "0",
      }),
      early,
      late,
      directInput(),
    ]);
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  focus() {
    this.view.focus();
  }

  /** The number of the line at an offset. */
  lineAt(offset: number): number {
    return this.view.state.doc.lineAt(this.clamp(offset)).number;
  }

  private clamp(offset: number): number {
    return Math.min(offset, this.view.state.doc.length);
  }

  /** Turns on completion, hover, search, and the marks of problems. */
  useTools(tools: typeof EditorTools, fields: Fields) {
    this.tools = tools;
    const extras = this.extras.reconfigure(tools.extras(fields));
    this.view.dispatch({ effects: [extras, this.marks.reconfigure(tools.lintGutter())] });
    this.underlineFound();
  }

  /** Replaces the whole text. */
  load(text: string) {
    this.view.dispatch({
      changes: { from: 0, to: this.view.state.doc.length, insert: text },
      selection: { anchor: 0 },
      annotations: [byPage.of(true), this.hasText ? isolateHistory.of("full") : Transaction.addToHistory.of(false)],
      scrollIntoView: true,
    });
    this.hasText = true;
  }

  /** Underlines problems and offers their fixes. */
  showProblems(problems: Problem[]) {
    this.found = problems;
    if (!this.updating) this.underlineFound();
  }

  private underlineFound() {
    const problems = this.found;
    if (!problems || !this.tools) return;
    this.found = undefined;
    if (!problems.length && !this.hasMarks) return;
    this.hasMarks = problems.length > 0;
    const diagnostics = problems.map((problem) => this.diagnostic(problem));
    diagnostics.sort((a, b) => a.from - b.from);
    this.view.dispatch(this.tools.setDiagnostics(this.view.state, diagnostics));
  }

  private diagnostic(problem: Problem): Diagnostic {
    const { code, severity, message, hint, labels } = problem;
    const [main, ...others] = labels;
    const notes = others.filter((label) => label.text !== "");
    const render = () =>
      h(
        "span",
        {},
        h("span", {}, ...markup(message)),
        hint !== null && h("div", {}, ...markup(inPage(hint))),
        ...notes.map(({ from, text }) => h("div", {}, `line ${this.lineAt(from)}: ${text}`)),
        ...aboutCode(code, "in the docs"),
      );
    return {
      from: this.clamp(main?.from ?? 0),
      to: this.clamp(main?.to ?? 0),
      severity: severity === "note" ? "info" : severity,
      message,
      source: code,
      renderMessage: render,
      actions: this.fixesOf(problem).map(({ label, fix }) => ({ name: label, apply: () => this.apply(fix) })),
    };
  }

  /** The fixes of a problem, with the labels of their buttons. */
  fixesOf({ fix, otherFix }: Problem): { label: string; fix: PlacedText }[] {
    const fixes = [fix, otherFix].flatMap((one) => one ?? []);
    // Two fixes that remove something differ by its line.
    const { doc } = this.view.state;
    const labels = fixes.map((one) => fixLabel(one, doc.sliceString(this.clamp(one.from), this.clamp(one.to))));
    const isAlike = labels[0] === labels[1];
    return fixes.map((one, index) => ({
      label: `${labels[index]}${isAlike ? ` line ${this.lineAt(one.from)}` : ""}`,
      fix: one,
    }));
  }

  /** Replaces a part of the text where the user has not typed. Quick replacements of the same part are undone together. */
  replace({ from, to, text }: PlacedText) {
    this.view.dispatch({ changes: { from, to, insert: text } });
  }

  /** Applies an edit. If it adds a field, the value is an example: it is selected, so that typing replaces it. */
  apply({ from, to, text }: PlacedText) {
    const added = from === to ? /^([\s,]*[\w"]+: (?:\{\w+: (?=[^,]*\}))?)([^\n]*[^\n,\s}]|\S+)/.exec(text) : null;
    const anchor = from + (added?.[1] ?? text).length;
    this.view.dispatch({
      changes: { from, to, insert: text },
      selection: { anchor, head: anchor + (added?.[2] ?? "").length },
      annotations: isolateHistory.of("full"),
      scrollIntoView: true,
    });
    this.view.focus();
  }

  /** Applies changes, which are undone together. */
  change(changes: ChangeSet) {
    this.view.dispatch({ changes, annotations: isolateHistory.of("full") });
  }

  /**
   * Applies the fix of the problem at the cursor, or else of the first one on its line. If that line has no fix, the cursor only moves
   * to the next problem with a fix, which may be out of sight.
   */
  private applyFixHere(): boolean {
    const { doc, selection } = this.view.state;
    const { head } = selection.main;
    const line = doc.lineAt(head);
    const fixes: { from: number; to: number; apply: () => void }[] = [];
    this.tools?.forEachDiagnostic(this.view.state, ({ actions }, from, to) => {
      const action = actions?.[0];
      if (action) fixes.push({ from, to, apply: () => action.apply(this.view, from, to) });
    });
    const here =
      fixes.find(({ from, to }) => from <= head && head <= to) ??
      fixes.find(({ from }) => line.from <= from && from <= line.to);
    if (here) {
      here.apply();
      return true;
    }
    const next = fixes.find(({ from }) => from > head) ?? fixes[0];
    if (next) {
      this.goTo(next.from);
      this.announce(
        `No fix on line ${line.number}. The next one is on line ${this.lineAt(next.from)}: Ctrl . applies it.`,
      );
    } else this.announce("No problem has a fix.");
    return true;
  }

  /** Moves the cursor to an offset and scrolls there. */
  goTo(offset: number) {
    const anchor = this.clamp(offset);
    this.view.dispatch({
      selection: { anchor },
      effects: EditorView.scrollIntoView(anchor, { y: "center" }),
    });
    this.view.focus();
  }

  /** Highlights the lines of a range and scrolls there; null ends the highlight. */
  highlight(range: [number, number] | null) {
    if (!range) {
      if (this.view.state.field(highlighted).size) this.view.dispatch({ effects: highlight.of(null) });
      return;
    }
    const [from, to] = [this.clamp(range[0]), this.clamp(range[1])];
    this.view.dispatch({
      effects: [highlight.of({ from, to }), EditorView.scrollIntoView(from, { y: "center" })],
    });
  }
}
