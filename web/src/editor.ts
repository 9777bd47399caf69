// The spec's editor. It lives in a shadow root: there CodeMirror brings its styles as constructed sheets, which a strict
// content security policy allows, where it would write a <style> into the page.
import {
  acceptCompletion,
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab, isolateHistory } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import {
  bracketMatching,
  foldGutter,
  foldKeymap,
  HighlightStyle,
  indentOnInput,
  indentUnit,
  syntaxHighlighting,
} from "@codemirror/language";
import {
  type Diagnostic,
  diagnosticCount,
  forEachDiagnostic,
  lintGutter,
  lintKeymap,
  setDiagnostics,
} from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import {
  Annotation,
  Compartment,
  EditorState,
  type Extension,
  RangeSetBuilder,
  StateEffect,
  StateField,
} from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  hoverTooltip,
  keymap,
  lineNumbers,
  ViewPlugin,
  WidgetType,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { completions, hover } from "./complete";
import type { Line } from "./diff";
import { h, words } from "./dom";
import type { Fields } from "./schema";
import type { Problem } from "./types";
import { typing } from "./typing";

const colours = HighlightStyle.define([
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
  // The browser's own: one drawn by CodeMirror costs each key a quarter more.
  ".cm-line::selection, .cm-line ::selection": { backgroundColor: "var(--select)" },
  // What is left of a long line hangs, lest it look like a key.
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
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", maxHeight: "15em" },
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
  // It would lie over the list.
  "@media (max-width: 760px)": { ".cm-completionInfo": { display: "none" } },
  ".field p": { margin: "4px 0" },
  ".field code, .cm-diagnostic code": { fontFamily: "var(--mono)", fontSize: "12px" },
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

/** Marks the lines of a field for a moment. */
const point = StateEffect.define<{ from: number; to: number } | null>();
const pointed = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, { effects, changes, state }) {
    let next = marks.map(changes);
    for (const effect of effects) {
      if (!effect.is(point)) continue;
      const lines = new RangeSetBuilder<Decoration>();
      if (effect.value) {
        const last = state.doc.lineAt(Math.max(effect.value.from, effect.value.to - 1)).number;
        for (let at = state.doc.lineAt(effect.value.from).number; at <= last; at++)
          lines.add(state.doc.line(at).from, state.doc.line(at).from, Decoration.line({ class: "origin" }));
      }
      next = lines.finish();
    }
    return next;
  },
  provide: (field) => EditorView.decorations.from(field),
});

const look: Extension = [theme, syntaxHighlighting(colours), highlightSpecialChars(), EditorState.tabSize.of(2)];

function shadow(parent: HTMLElement): ShadowRoot {
  return parent.shadowRoot ?? parent.attachShadow({ mode: "open" });
}

/** Text put in by the page and not by hand. */
export const loaded = Annotation.define<boolean>();

export class Editor {
  readonly view: EditorView;
  private readonly language = new Compartment();
  /** In the middle of an update the editor takes no other: what is to be underlined waits for its end. */
  private updating = false;
  private found?: Problem[];

  constructor(parent: HTMLElement, text: string, changed: (text: string, byHand: boolean) => void, moved: () => void) {
    // What changes in the page is changed before the editor looks at its own layout, so that there is one layout for both.
    const early = ViewPlugin.define(() => ({
      update: ({ docChanged, state, transactions }) => {
        if (!docChanged) return;
        this.updating = true;
        changed(state.doc.toString(), !transactions.some((one) => one.annotation(loaded)));
      },
    }));
    const listen = EditorView.updateListener.of((update) => {
      this.updating = false;
      if (update.docChanged) this.showFound();
      else if (update.selectionSet) moved();
    });
    const extensions = [
      look,
      lineNumbers(),
      foldGutter(),
      lintGutter(),
      history(),
      indentOnInput(),
      indentUnit.of("  "),
      bracketMatching(),
      closeBrackets(),
      highlightActiveLine(),
      highlightActiveLineGutter(),
      // One letter stands everywhere: all of them marked, and unmarked by the next key, tells nobody anything.
      highlightSelectionMatches({ minSelectionLength: 2 }),
      EditorView.lineWrapping,
      pointed,
      yaml(),
      this.language.of([]),
      keymap.of([
        { key: "Mod-.", run: (view) => this.fix(view) },
        { key: "Tab", run: acceptCompletion },
        ...closeBracketsKeymap,
        ...defaultKeymap,
        ...searchKeymap,
        ...historyKeymap,
        ...foldKeymap,
        ...completionKeymap,
        ...lintKeymap,
        indentWithTab,
      ]),
      EditorView.contentAttributes.of({
        "aria-label": "Training spec, YAML",
        "aria-describedby": "keys",
        tabindex: "0",
      }),
      early,
      listen,
      typing(),
    ];
    const root = shadow(parent);
    this.view = new EditorView({
      state: EditorState.create({ doc: text, extensions }),
      root,
      parent: root as unknown as Element,
    });
  }

  get text() {
    return this.view.state.doc.toString();
  }

  /** Completion and hover, once the schema is here. */
  teach(fields: Fields) {
    this.view.dispatch({
      effects: this.language.reconfigure([
        autocompletion({ override: [completions(fields)], icons: false }),
        hoverTooltip(hover(fields), { hoverTime: 250 }),
      ]),
    });
  }

  load(text: string) {
    this.view.dispatch({
      changes: { from: 0, to: this.view.state.doc.length, insert: text },
      selection: { anchor: 0 },
      annotations: [loaded.of(true), isolateHistory.of("full")],
      scrollIntoView: true,
    });
  }

  /** Underlines problems; their fixes can be clicked. */
  show(problems: Problem[]) {
    this.found = problems;
    if (!this.updating) this.showFound();
  }

  private showFound() {
    const problems = this.found;
    this.found = undefined;
    if (!problems) return;
    if (!problems.length && !diagnosticCount(this.view.state)) return;
    const length = this.view.state.doc.length;
    const within = (at: number) => Math.min(at, length);
    const diagnostics = problems.flatMap((problem): Diagnostic[] => {
      const main = problem.labels[0] ?? { from: 0, to: 0, text: "" };
      const fix = problem.fix;
      const also = problem.labels.slice(1).filter((label) => label.text !== "");
      return [
        {
          from: within(main.from),
          to: within(main.to),
          severity: problem.severity === "note" ? "info" : problem.severity,
          message: problem.message,
          source: problem.code,
          renderMessage: () =>
            h(
              "span",
              {},
              h("span", {}, ...words(problem.message)),
              problem.hint ? h("div", {}, ...words(problem.hint)) : null,
              ...also.map((label) =>
                h("div", {}, `line ${this.view.state.doc.lineAt(within(label.from)).number}: ${label.text}`),
              ),
            ),
          actions: fix ? [{ name: named(problem), apply: () => this.replace(fix) }] : [],
        },
      ];
    });
    diagnostics.sort((a, b) => a.from - b.from);
    this.view.dispatch(setDiagnostics(this.view.state, diagnostics));
  }

  /** Makes an edit. The value of a field that it adds is an example: it is marked, to be typed over. */
  replace(fix: { from: number; to: number; text: string }) {
    const added =
      fix.from === fix.to ? /^([\s,]*[\w"]+: (?:\{\w+: (?=[^,]*\}))?)([^\n]*[^\n,\s}]|\S+)/.exec(fix.text) : null;
    const from = fix.from + (added?.[1] ?? fix.text).length;
    this.view.dispatch({
      changes: { from: fix.from, to: fix.to, insert: fix.text },
      selection: { anchor: from, head: from + (added?.[2] ?? "").length },
      annotations: isolateHistory.of("full"),
      scrollIntoView: true,
    });
    this.view.focus();
  }

  /** Applies the fix at the cursor's line, or else the first there is. */
  private fix(view: EditorView): boolean {
    const line = view.state.doc.lineAt(view.state.selection.main.head);
    let best: (() => void) | undefined;
    forEachDiagnostic(view.state, (diagnostic, from, to) => {
      const action = diagnostic.actions?.[0];
      if (!action || (best && (from < line.from || from > line.to))) return;
      best = () => action.apply(view, from, to);
    });
    best?.();
    return !!best;
  }

  go(from: number) {
    const anchor = Math.min(from, this.view.state.doc.length);
    this.view.dispatch({ selection: { anchor }, effects: EditorView.scrollIntoView(anchor, { y: "center" }) });
    this.view.focus();
  }

  /** Shows where a field stands. */
  point(place: [number, number] | null) {
    if (!place && !this.view.state.field(pointed).size) return;
    const length = this.view.state.doc.length;
    const effects: StateEffect<unknown>[] = [
      point.of(place && { from: Math.min(place[0], length), to: Math.min(place[1], length) }),
    ];
    if (place) effects.push(EditorView.scrollIntoView(Math.min(place[0], length), { y: "center" }));
    this.view.dispatch({ effects });
  }
}

/** What a fix does, in a word or two. */
export function named(problem: Problem): string {
  const { from, to, text: whole } = problem.fix!;
  const text = whole.replace(/^[\s,]+|[\s,]+$/g, "");
  if (text === "") return "Remove";
  const act = from === to ? "Add" : "Fix";
  if (text.includes("\n")) return act === "Add" ? `Add: ${/^\w*/.exec(text)![0]}` : "Fix";
  return `${act}: ${text.length > 40 ? `${text.slice(0, 40)}…` : text}`;
}

class Removed extends WidgetType {
  constructor(private readonly text: string) {
    super();
  }
  override eq(other: Removed) {
    return other.text === this.text;
  }
  toDOM() {
    return h("div", { class: "removed" }, this.text);
  }
}

/** Lines that are new, and those that went, above where they were. */
function marks(state: EditorState, lines: Line[]): DecorationSet {
  const set = new RangeSetBuilder<Decoration>();
  let number = 1;
  for (const line of lines) {
    const at = state.doc.line(Math.min(number, state.doc.lines)).from;
    if (line.kind === "removed")
      set.add(at, at, Decoration.widget({ widget: new Removed(line.text), block: true, side: -1 }));
    else {
      if (line.kind === "added") set.add(at, at, Decoration.line({ class: "added" }));
      number++;
    }
  }
  return set.finish();
}

/** An object's YAML to read, fold and search, with what changed in it. */
export class Viewer {
  private readonly view: EditorView;
  private readonly diff = new Compartment();

  constructor(parent: HTMLElement, name: string) {
    const root = shadow(parent);
    const extensions = [
      look,
      foldGutter(),
      yaml(),
      EditorState.readOnly.of(true),
      EditorView.contentAttributes.of({ "aria-label": name, tabindex: "0" }),
      keymap.of([...searchKeymap, ...foldKeymap, ...defaultKeymap]),
      this.diff.of([]),
    ];
    this.view = new EditorView({ state: EditorState.create({ extensions }), root, parent: root as unknown as Element });
  }

  show(text: string, lines: Line[]) {
    const old = this.view.state.doc.toString();
    let from = 0;
    while (from < old.length && from < text.length && old[from] === text[from]) from++;
    let [to, end] = [old.length, text.length];
    while (to > from && end > from && old[to - 1] === text[end - 1]) [to, end] = [to - 1, end - 1];
    if (old !== text) this.view.dispatch({ changes: { from, to, insert: text.slice(from, end) } });
    this.view.dispatch({ effects: this.diff.reconfigure(EditorView.decorations.of(marks(this.view.state, lines))) });
  }

  destroy() {
    this.view.destroy();
  }
}
