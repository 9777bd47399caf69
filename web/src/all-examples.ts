// The texts of all examples.
import { type Example, smallest } from "./examples";

const files = import.meta.glob<string>(["../../examples/*/job.yaml", "!../../examples/smallest/job.yaml"], {
  query: "?raw",
  import: "default",
  eager: true,
});

/** All examples by name, the smallest one first. */
export const examples: Example[] = [
  { name: "smallest", spec: smallest },
  ...Object.entries(files)
    .map(([path, spec]) => ({ name: path.split("/").at(-2) ?? path, spec }))
    .sort((a, b) => a.name.localeCompare(b.name)),
];
