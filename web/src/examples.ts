// The repository's examples, a lesson each.

const files = import.meta.glob<string>("../../examples/*/job.yaml", { query: "?raw", import: "default", eager: true });

/** Name and text; the first one to begin with. */
export const examples: [string, string][] = Object.entries(files)
  .map(([path, text]): [string, string] => [path.split("/").at(-2)!, text])
  .sort(([a], [b]) => Number(b === "smallest") - Number(a === "smallest") || a.localeCompare(b));

/** The first sentence of what an example teaches. */
export function lesson(text: string): string {
  const comment = /^(?:#.*\n)+/.exec(text)?.[0] ?? "";
  return comment
    .replace(/^# ?/gm, "")
    .replace(/\n/g, " ")
    .split(/\.(\s|$)/)[0]!
    .trim();
}
