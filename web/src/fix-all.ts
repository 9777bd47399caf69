// Applies the fixes of all problems of a spec. Some problems are found only after the fixes of others, so it is compiled and fixed
// again, until no problem has a fix.
import { ChangeSet, Text } from "@codemirror/state";
import type { PlacedText, Preview, Problem } from "./wire/types";

/** How many times a spec is fixed at most: two fixes might undo each other. */
const ROUNDS = 20;

/** The fixes that the user need not choose: they insert no example value, and there is only one for each problem. */
export function plainFixes(problems: Problem[]): PlacedText[] {
  return problems.flatMap(({ fix, otherFix, fixIsChoice }) => (fix && !otherFix && !fixIsChoice ? [fix] : []));
}

/** Returns all changes to the spec, which has these problems; `compile` compiles another one. */
export async function fixAll(
  spec: string,
  problems: Problem[],
  compile: (spec: string) => Promise<Preview>,
): Promise<ChangeSet> {
  let text = Text.of(spec.split("\n"));
  let all = ChangeSet.empty(text.length);
  let fixes = plainFixes(problems);
  for (let round = 0; fixes.length > 0 && round < ROUNDS; round++) {
    const changes = ChangeSet.of(together(fixes), text.length);
    text = changes.apply(text);
    all = all.compose(changes);
    fixes = plainFixes((await compile(text.toString())).problems);
  }
  return all;
}

/** The fixes that do not overlap. */
function together(fixes: PlacedText[]): { from: number; to: number; insert: string }[] {
  const changes: { from: number; to: number; insert: string }[] = [];
  let end = 0;
  for (const { from, to, text } of fixes.toSorted((one, other) => one.from - other.from)) {
    if (from < end) continue;
    changes.push({ from, to, insert: text });
    // The order of two insertions in one place is unknown: the second one waits for the next round.
    end = Math.max(to, from + 1);
  }
  return changes;
}
