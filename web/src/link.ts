// A spec in a link: compressed, in the fragment, which browsers do not send to servers.
import { deflateSync, inflateSync, strFromU8, strToU8 } from "fflate";
import type { Secrets } from "./wire/types";

const NAME = "spec=";
/** Mail and chat programs may cut links that are longer than this. */
export const LONG_LINK = 8_000;
/** The longest spec that a link may hold, in bytes. */
const MAX_BYTES = 4 << 20;

/** The fragment of the link to a spec; undefined if the spec is too long to be opened from a link. */
export function encodeSpec(spec: string): string | undefined {
  const plain = strToU8(spec);
  if (plain.length > MAX_BYTES) return undefined;
  const binary = Array.from(deflateSync(plain, { level: 9 }), (byte) => String.fromCharCode(byte)).join("");
  const code = btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return `#${NAME}${code}`;
}

/** The spec in the fragment of a link; undefined if it has no spec. Throws if the spec is damaged, as in a link that was cut. */
export function decodeSpec(fragment: string): string | undefined {
  const code = fragment.slice(1);
  if (!code.startsWith(NAME)) return undefined;
  const binary = atob(code.slice(NAME.length).replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(binary, (c) => c.charCodeAt(0));
  // The output buffer has a fixed size, so that a small link cannot fill the memory.
  return strFromU8(inflateSync(bytes, { out: new Uint8Array(Math.min(MAX_BYTES, bytes.length * 1_030 + 64)) }));
}

/** Returns what a fragment such as `#example=elastic&view=timeline&event=hang` names: an example, a view, and an event of the timeline. */
export function decodePermalink(fragment: string): { example?: string; view?: string; event?: string } {
  const named = new URLSearchParams(fragment.slice(1));
  const valueOf = (key: "example" | "view" | "event") => {
    const value = named.get(key);
    return value === null ? {} : { [key]: value };
  };
  return { ...valueOf("example"), ...valueOf("view"), ...valueOf("event") };
}

/** The fragment that names an example, a view and an event of the timeline. */
export const encodePermalink = (example: string, view: string, event = "") =>
  `#example=${encodeURIComponent(example)}&view=${view}${event && `&event=${event}`}`;

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
