// Links to the pages of the documentation, if this page is a part of the book. Elsewhere, their address is unknown.
import { h } from "./dom";

/** The address of a page of the documentation, such as `docs/install.html`; undefined outside the book. */
export function bookAddress(page: string, path = location.pathname): string | undefined {
  const book = /^(.*\/)web\/dist\/(index\.html)?$/.exec(path);
  return book ? `${book[1]}${page}` : undefined;
}

/** A link to a page of the documentation, in place of the page that frames this one; only the text outside the book. */
export function bookLink(page: string, ...content: (string | Node)[]): (string | Node)[] {
  const href = bookAddress(page);
  return href === undefined ? content : [h("a", { href, target: "_top" }, ...content)];
}

/** A link with a text to a page of the documentation, in a paragraph of its own; empty outside the book. */
export const paragraphTo = (page: string, text: string): HTMLElement[] =>
  bookAddress(page) === undefined ? [] : [h("p", {}, ...bookLink(page, text))];

/** A link to a problem code in the documentation; empty outside the book. */
export const aboutCode = (code: string, text: string) => paragraphTo(`docs/problems.html#${code}`, text);
