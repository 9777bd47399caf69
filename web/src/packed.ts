// A spec in a link: compressed, in the fragment, which browsers do not send to servers. Loaded when a link with a spec is opened or made.
import { deflateSync, inflateSync, strFromU8, strToU8 } from "fflate";
import { PLAIN, SPEC, targetPart } from "./link";

/** The longest spec that a link may hold, in bytes. */
const MAX_BYTES = 4 << 20;

/** The fragment of the link to a spec; undefined if the spec is too long to be opened from a link. */
export function encodeSpec(spec: string, target = PLAIN): string | undefined {
  const plain = strToU8(spec);
  if (plain.length > MAX_BYTES) return undefined;
  const binary = Array.from(deflateSync(plain, { level: 9 }), (byte) => String.fromCharCode(byte)).join("");
  const code = btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return `#${SPEC}${code}${targetPart(target)}`;
}

/** The spec in the fragment of a link; undefined if it has no spec. Throws if the spec is damaged, as in a link that was cut. */
export function decodeSpec(fragment: string): string | undefined {
  const [code = ""] = fragment.slice(1).split("&");
  if (!code.startsWith(SPEC)) return undefined;
  const binary = atob(code.slice(SPEC.length).replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(binary, (c) => c.charCodeAt(0));
  // The output buffer has a fixed size, so that a small link cannot fill the memory.
  return strFromU8(inflateSync(bytes, { out: new Uint8Array(Math.min(MAX_BYTES, bytes.length * 1_030 + 64)) }));
}
