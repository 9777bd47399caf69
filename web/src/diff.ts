// The difference of two texts, line by line.

export interface Line {
  kind: "same" | "added" | "removed";
  text: string;
}

/**
 * The table of the comparison has at most this many cells. Beyond it, all lines between the equal starts and ends are
 * shown as removed and added.
 */
const MAX_CELLS = 1_000_000;

export function diff(old: string[], now: string[]): Line[] {
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start++;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)) end++;
  const [a, b] = [old.slice(start, old.length - end), now.slice(start, now.length - end)];
  const line = (kind: Line["kind"]) => (text: string) => ({ kind, text });
  const middle = a.length * b.length > MAX_CELLS ? [...a.map(line("removed")), ...b.map(line("added"))] : compare(a, b);
  return [...now.slice(0, start).map(line("same")), ...middle, ...now.slice(now.length - end).map(line("same"))];
}

/** This many equal lines are shown before and after a difference. */
const CONTEXT = 3;
/** Fewer equal lines than this stay as they are: the line in their place would save nothing. */
const MIN_FOLDED = 4;

/**
 * The runs of equal lines that need not be shown, as the numbers of their first and last line in the new text, from 1. Empty if
 * the texts are equal.
 */
export function equalRuns(lines: Line[]): [number, number][] {
  if (lines.every(({ kind }) => kind === "same")) return [];
  const runs: [number, number][] = [];
  /** The number of the last line of the new text, and of the first line of the current run. */
  let [last, first] = [0, 1];
  const end = (isLast: boolean) => {
    const run: [number, number] = [first === 1 ? 1 : first + CONTEXT, isLast ? last : last - CONTEXT];
    if (run[1] - run[0] + 1 >= MIN_FOLDED) runs.push(run);
  };
  for (const { kind } of lines) {
    if (kind !== "same") {
      end(false);
      if (kind === "added") last++;
      first = last + 1;
    } else last++;
  }
  end(true);
  return runs;
}

/** The difference that keeps the longest common subsequence. */
function compare(a: string[], b: string[]): Line[] {
  const lengthFrom = commonLengths(a, b);
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  for (;;) {
    const [old, now] = [a[i], b[j]];
    if (now !== undefined && old === now) {
      lines.push({ kind: "same", text: now });
      [i, j] = [i + 1, j + 1];
    } else if (old !== undefined && (now === undefined || lengthFrom(i + 1, j) >= lengthFrom(i, j + 1))) {
      lines.push({ kind: "removed", text: old });
      i++;
    } else if (now !== undefined) {
      lines.push({ kind: "added", text: now });
      j++;
    } else return lines;
  }
}

/** A function that returns the length of the longest common subsequence of the lines from `i` and `j` on. */
function commonLengths(a: string[], b: string[]): (i: number, j: number) => number {
  const width = b.length + 1;
  const lengths = new Uint32Array((a.length + 1) * width);
  const lengthFrom = (i: number, j: number) => lengths[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      lengths[i * width + j] =
        a[i] === b[j] ? lengthFrom(i + 1, j + 1) + 1 : Math.max(lengthFrom(i + 1, j), lengthFrom(i, j + 1));
  return lengthFrom;
}

/** A line of both texts, or the lines in place of each other. */
export interface Pair {
  left: string | undefined;
  right: string | undefined;
  isSame: boolean;
}

/** Puts removed lines beside the lines that were added in their place. */
export function pairsOf(lines: Line[]): Pair[] {
  const pairs: Pair[] = [];
  let [removed, added]: [string[], string[]] = [[], []];
  const flush = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); at++)
      pairs.push({ left: removed[at], right: added[at], isSame: false });
    [removed, added] = [[], []];
  };
  for (const { kind, text } of lines) {
    if (kind === "removed") removed.push(text);
    else if (kind === "added") added.push(text);
    else {
      flush();
      pairs.push({ left: text, right: text, isSame: true });
    }
  }
  flush();
  return pairs;
}
