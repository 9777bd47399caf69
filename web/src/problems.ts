// The list of problems under the editor.
import { aboutCode } from "./book";
import { count, h, markup } from "./dom";
import type { Editor } from "./editor";
import { inPage } from "./hints";
import { plainFixes } from "./fix-all";
import type { Codes, Preview, Problem } from "./wire/types";

/** At most this many problems are listed; all of them are underlined in the editor. */
const LISTED = 50;

/** A next step that the page offers above the problems. */
export interface Suggestion {
  text: string;
  /** The text of the button. */
  label: string;
  act: () => void;
  /** Removes the suggestion, if there is a button for that. */
  dismiss?: () => void;
}

export class ProblemList {
  /** The meaning of each problem code; empty until the compiler is loaded. */
  codes: Codes = {};

  constructor(
    private readonly parent: HTMLElement,
    private readonly editor: Editor,
    /** Applies the fixes of these problems, and of those that are found after them. */
    private readonly fixAll: (problems: Problem[]) => void,
  ) {}

  show({ problems, more }: Preview) {
    const rest = more + Math.max(0, problems.length - LISTED);
    this.parent.replaceChildren(
      // The list keeps its place, so that nothing moves while an error comes and goes.
      ...(problems.length ? [] : [h("p", { class: "none" }, "No problems.")]),
      ...this.offerAll(problems),
      ...problems.slice(0, LISTED).map((problem) => this.row(problem)),
      ...(rest ? [h("p", {}, `${count(rest, "more problem")}.`)] : []),
    );
  }

  /** Puts a suggestion above the problems that are shown. */
  suggest({ text, label, act, dismiss }: Suggestion) {
    this.parent.querySelector(".none")?.remove();
    const row = offer(text, label, act);
    if (dismiss) row.append(h("button", { type: "button", onclick: dismiss }, "Dismiss"));
    this.parent.prepend(row);
  }

  /** A button that applies all fixes, if there are several. */
  private offerAll(problems: Problem[]): HTMLElement[] {
    const fixes = plainFixes(problems);
    if (fixes.length < 2) return [];
    return [offer(`${fixes.length} problems have a fix.`, "Fix all", () => this.fixAll(problems))];
  }

  private row(problem: Problem): HTMLElement {
    const { hint, labels } = problem;
    const from = labels[0]?.from;
    const goTo = () => {
      if (from !== undefined) this.editor.goTo(from);
    };
    const details = this.codes[problem.code]?.details;
    const paragraphs = details?.split("\n\n").map((paragraph) => h("p", {}, ...markup(paragraph)));
    return h(
      "div",
      { class: `problem ${problem.severity}` },
      h("button", { type: "button", class: "go", onclick: goTo }, `line ${this.editor.lineAt(from ?? 0)}`),
      h(
        "div",
        {},
        h("p", {}, h("span", { class: "sr" }, `${problem.severity}: `), ...markup(problem.message)),
        hint !== null && h("p", { class: "help" }, ...markup(inPage(hint))),
        paragraphs
          ? h(
              "details",
              {},
              h("summary", {}, problem.code),
              ...paragraphs,
              ...aboutCode(problem.code, "with an example"),
            )
          : h("p", { class: "help" }, problem.code),
      ),
      ...this.editor.fixesOf(problem).map(({ label, fix }) =>
        // An example value is an offer, not what the user meant.
        h(
          "button",
          { type: "button", class: problem.fixIsChoice ? "fix choice" : "fix", onclick: () => this.editor.apply(fix) },
          label,
        ),
      ),
    );
  }
}

const offer = (text: string, label: string, onclick: () => void) =>
  h(
    "div",
    { class: "offer" },
    h("p", {}, ...markup(text)),
    h("button", { type: "button", class: "fix", onclick }, label),
  );

/** The worst severity among the problems of a preview. */
export function worstOf({ problems }: Preview): Problem["severity"] | "" {
  return (["error", "warning", "note"] as const).find((one) => problems.some(({ severity }) => severity === one)) ?? "";
}

/** The problems of a preview in numbers: `1 error, 2 warnings`. */
export function summarize({ problems }: Preview): string {
  const counts = (["error", "warning", "note"] as const).map((severity) => {
    const found = problems.filter((problem) => problem.severity === severity).length;
    return found ? count(found, severity) : "";
  });
  return counts.filter(Boolean).join(", ") || "no problems";
}
