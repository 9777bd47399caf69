// The difference of two texts, line by line.

export interface Line {
  kind: "same" | "added" | "removed";
  text: string;
}

/** Beyond so many pairs of lines the middle is taken as replaced: nobody reads such a difference. */
const PAIRS = 1_000_000;

export function diff(old: string[], now: string[]): Line[] {
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start++;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)) end++;
  const [a, b] = [old.slice(start, old.length - end), now.slice(start, now.length - end)];
  const line = (kind: Line["kind"]) => (text: string) => ({ kind, text });
  const middle = a.length * b.length > PAIRS ? [...a.map(line("removed")), ...b.map(line("added"))] : longest(a, b);
  return [...now.slice(0, start).map(line("same")), ...middle, ...now.slice(now.length - end).map(line("same"))];
}

/** By the longest common subsequence. */
function longest(a: string[], b: string[]): Line[] {
  const width = b.length + 1;
  const lengths = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      lengths[i * width + j] =
        a[i] === b[j]
          ? lengths[(i + 1) * width + j + 1]! + 1
          : Math.max(lengths[(i + 1) * width + j]!, lengths[i * width + j + 1]!);
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ kind: "same", text: b[j]! });
      [i, j] = [i + 1, j + 1];
    } else if (j >= b.length || (i < a.length && lengths[(i + 1) * width + j]! >= lengths[i * width + j + 1]!)) {
      lines.push({ kind: "removed", text: a[i++]! });
    } else {
      lines.push({ kind: "added", text: b[j++]! });
    }
  }
  return lines;
}
