// Builds and updates elements.

type Child = Node | string | null | undefined | false;
/** Attributes by name; functions are listeners: `onclick`. */
type Attributes = Record<string, string | number | boolean | undefined | ((event: Event) => void)>;

/** Makes an HTML element: `h("a", { href: "#" }, "text")`. An attribute that is false or undefined is not set. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), attributes, children);
}

/** The namespace of SVG elements. */
export const SVG = "http://www.w3.org/2000/svg";

/** Makes an SVG element. */
export function s<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill<E extends Element>(element: E, attributes: Attributes, children: Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => isNode(child)));
  return element;
}

const isNode = (child: Child): child is Node | string => typeof child === "string" || child instanceof Node;

/** Turns a text with `backquotes` into text and code elements. */
export function markup(text: string): Node[] {
  return text.split("`").map((part, index) => (index % 2 ? h("code", {}, part) : document.createTextNode(part)));
}

/** The element of index.html with this id. */
export function byId(id: string): HTMLElement;
export function byId<E extends HTMLElement>(id: string, type: new () => E): E;
export function byId(id: string, type = HTMLElement): HTMLElement {
  const element = document.getElementById(id);
  if (!(element instanceof type)) throw new Error(`index.html has no ${type.name} #${id}`);
  return element;
}

/** Sets the text of an element if it differs: setting the same text again costs a layout and is read out again. */
export function setText(element: Element, text: string) {
  if (element.textContent !== text) element.textContent = text;
}

/** Sets the attributes that differ: setting the same value again costs a style update. */
export function setAttributes(element: Element, attributes: Record<string, string | number>) {
  for (const [name, value] of Object.entries(attributes))
    if (element.getAttribute(name) !== String(value)) element.setAttribute(name, String(value));
}

/** Shows or hides an element. */
export function setVisible(element: HTMLElement, visible: boolean) {
  if (element.hidden === visible) element.hidden = !visible;
}

const thousands = new Intl.NumberFormat("en");

/** A number for people to read: `1,000`. Small integers skip the formatter, which is slow. */
export const number = (n: number) => (n < 1_000 && Number.isInteger(n) ? String(n) : thousands.format(n));

/** A number with its noun: `1 worker`, `4 workers`, `1,000 workers`. */
export function count(n: number, noun: string): string {
  return `${number(n)} ${noun}${n === 1 ? "" : "s"}`;
}
