// The repository's examples. Each teaches one thing.

const files = import.meta.glob<string>("../../examples/*/job.yaml", { query: "?raw", import: "default", eager: true });

interface Example {
  name: string;
  spec: string;
}

/** The spec that a new user starts from. */
export const smallest = files["../../examples/smallest/job.yaml"] ?? "";

/** All examples by name, the smallest one first. */
export const examples: Example[] = Object.entries(files)
  .map(([path, spec]) => ({ name: path.split("/").at(-2) ?? path, spec }))
  .sort((a, b) => Number(b.name === "smallest") - Number(a.name === "smallest") || a.name.localeCompare(b.name));

/** The summary of an example: the first sentence of the comment at its top. */
export function summaryOf(spec: string): string {
  const comment = /^(?:#.*\n)+/.exec(spec)?.[0] ?? "";
  const text = comment.replaceAll(/^# ?/gm, "").replaceAll("\n", " ");
  return (/^.*?(?=\.(\s|$))/.exec(text)?.[0] ?? text).trim();
}
