// Reads and writes the fragment of the page's address, and finds the secrets in a spec that is shared or stored.
import type { Secrets } from "./wire/types";

/** The start of a fragment with a spec, behind its `#`; packed.ts reads and writes the rest. */
export const SPEC = "spec=";
/** Mail and chat programs may cut links that are longer than this. */
export const LONG_LINK = 8_000;

/** The target that a link need not name. */
export const PLAIN = "plain";

export const targetPart = (target: string) => (target === PLAIN ? "" : `&target=${target}`);

/** The names in a fragment such as `#example=elastic&view=timeline&event=hang&target=jobset`. */
interface Permalink {
  example?: string;
  view?: string;
  /** An event of the timeline. */
  event?: string;
  target?: string;
}

export function decodePermalink(fragment: string): Permalink {
  const named = new URLSearchParams(fragment.slice(1));
  const valueOf = (key: keyof Permalink) => {
    const value = named.get(key);
    return value === null ? {} : { [key]: value };
  };
  return { ...valueOf("example"), ...valueOf("view"), ...valueOf("event"), ...valueOf("target") };
}

/** The fragment that names an example, a view, an event of the timeline and a target. */
export const encodePermalink = (example: string, view: string, event = "", target = PLAIN) =>
  `#example=${encodeURIComponent(example)}&view=${view}${event && `&event=${event}`}${targetPart(target)}`;

/** Replaces the values that look like secrets by `…`. */
export function maskSecrets(spec: string, secrets: Secrets): string {
  let masked = "";
  let end = 0;
  for (const { from, to } of secrets) {
    masked += `${spec.slice(end, from)}…`;
    end = to;
  }
  return masked + spec.slice(end);
}

/** A warning about the values in a link that look like secrets; empty if there are none. */
export function secretWarning(spec: string, secrets: Secrets): string {
  const lineOf = (at: number) => spec.slice(0, at).split("\n").length;
  const named = secrets.slice(0, 3).map(({ what, from }) => `${what.replaceAll("`", "")} (line ${lineOf(from)})`);
  const more = secrets.length - named.length;
  const list = [...named, ...(more ? [`${more} more`] : [])].join(", ");
  if (!list) return "";
  return `It contains what looks like ${secrets.length > 1 ? "secrets" : "a secret"}: ${list}. Send it only to people who may read that.`;
}
