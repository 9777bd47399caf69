// A spec in a link: deflated, in the fragment, which browsers send to nobody.
import { deflateSync, inflateSync, strFromU8, strToU8 } from "fflate";

const NAME = "spec=";
/** Links beyond this length are cut by mail and chat programs. */
export const LONG = 8_000;
/** A spec in a link may grow to this and no further. */
const MOST = 4 << 20;

/** None where the spec is too long to be opened from a link. */
export function link(text: string): string | null {
  const plain = strToU8(text);
  if (plain.length > MOST) return null;
  const bytes = deflateSync(plain, { level: 9 });
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  const code = btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return `${location.origin}${location.pathname}#${NAME}${code}`;
}

/** The spec of this page's link; null where it has none. Throws where it cannot be read, as when a chat has cut it. */
export function shared(): string | null {
  const code = location.hash.slice(1);
  if (!code.startsWith(NAME)) return null;
  const binary = atob(code.slice(NAME.length).replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(binary, (c) => c.charCodeAt(0));
  // Into a buffer of a fixed size: what was made to explode fails.
  return strFromU8(inflateSync(bytes, { out: new Uint8Array(Math.min(MOST, bytes.length * 1_030 + 64)) }));
}
