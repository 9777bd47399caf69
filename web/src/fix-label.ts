import { count } from "./dom";
import type { PlacedText } from "./wire/types";

/** The label of a fix's button: what it does, in a word or two. `replaced` is the text that it replaces. */
export function fixLabel({ from, to, text: whole }: PlacedText, replaced: string): string {
  const text = whole.replaceAll(/^[\s,]+|[\s,]+$/g, "");
  const more = whole.length - replaced.length;
  if (more !== 0 && /^ *$/.test(whole + replaced))
    return `${more > 0 ? "Add" : "Remove"} ${count(Math.abs(more), "space")}`;
  if (text === "") return "Remove";
  const action = from === to ? "Add" : "Fix";
  if (text.includes("\n")) return action === "Add" ? `Add: ${/^\w*/.exec(text)?.[0]}` : "Fix";
  return `${action}: ${text.length > 40 ? `${text.slice(0, 40)}…` : text}`;
}
