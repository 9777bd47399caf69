// Elements in one expression.

type Child = Node | string | null | undefined | false;
type Props = Record<string, unknown>;

/** An HTML element: `h("a", {href: "#"}, "text")`. `on…` are listeners, other properties attributes. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), props, children);
}

/** The same in SVG. */
export function s<K extends keyof SVGElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), props, children);
}

function fill<E extends Element>(element: E, props: Props, children: Child[]): E {
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value as EventListener);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child): child is Node | string => !!child || child === ""));
  return element;
}

/** Text in which `backquotes` mark code. */
export function words(text: string): Node[] {
  return text.split("`").map((part, index) => (index % 2 ? h("code", {}, part) : document.createTextNode(part)));
}

export function byId<E extends HTMLElement>(id: string): E {
  return document.getElementById(id) as E;
}

/** Says something else, if it is something else: the same text again would be laid out, and read out, again. */
export function say(element: Element, text: string) {
  if (element.textContent !== text) element.textContent = text;
}

/** Sets attributes that are not yet so: the same value again would be styled and laid out again. */
export function set(element: Element, attributes: Record<string, string | number>) {
  for (const [name, value] of Object.entries(attributes))
    if (element.getAttribute(name) !== String(value)) element.setAttribute(name, String(value));
}

/** Shows it or not, if that is something else. */
export function show(element: HTMLElement, yes: boolean) {
  if (element.hidden === yes) element.hidden = !yes;
}

const numbers = new Intl.NumberFormat("en");

/** `1,000`. A formatter takes long where it has nothing to add. */
export const number = (n: number) => (n < 1_000 && Number.isInteger(n) ? String(n) : numbers.format(n));

/** `1 worker`, `4 workers`, `1,000 workers`. */
export function count(n: number, what: string): string {
  return `${number(n)} ${what}${n === 1 ? "" : "s"}`;
}
