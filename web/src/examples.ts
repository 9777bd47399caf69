// The repository's examples. Each teaches one thing. All except the smallest are loaded after the first preview.
import smallestFile from "../../examples/smallest/job.yaml?raw";

export interface Example {
  name: string;
  spec: string;
}

/** The spec that a new user starts from. */
export const smallest = smallestFile;

/** All examples by name, the smallest one first. */
export async function loadExamples(): Promise<Example[]> {
  return (await import("./all-examples")).examples;
}

/** The summary of an example: the first sentence of the comment at its top. */
export function summaryOf(spec: string): string {
  const comment = /^(?:#.*\n)+/.exec(spec)?.[0] ?? "";
  const text = comment.replaceAll(/^# ?/gm, "").replaceAll("\n", " ");
  return (/^.*?(?=\.(\s|$))/.exec(text)?.[0] ?? text).trim();
}
