// Reads the SVG of a part of the picture as elements, so that the page can change only what differs between two drawings of a part.
// That is faster than to parse the SVG and to insert new elements for each key.
import { SVG } from "./dom";

/** An element without elements in it. */
export interface SvgElement {
  tag: string;
  /** Names and values in turn. */
  attributes: string[];
  text: string;
}

/**
 * Draws the SVG in the group, before `last`: changes the elements that the group has, as far as they are alike. Takes what was returned
 * the last time; an empty list for an empty group. Returns undefined if only the browser can read the SVG.
 */
export function patch(
  group: Element,
  before: SvgElement[] | undefined,
  svg: string,
  last?: Element,
): SvgElement[] | undefined {
  const elements = elementsOf(svg);
  if (!elements || !before) {
    // The compiler escapes texts, and the page's policy forbids scripts.
    group.innerHTML = svg;
    if (last) group.append(last);
    return elements;
  }
  let next = group.firstElementChild;
  for (const [index, element] of elements.entries()) {
    const old = before[index];
    if (!old) group.insertBefore(made(element), last ?? null);
    else if (next) {
      const shown = next;
      next = next.nextElementSibling;
      if (isAlike(old, element)) change(shown, old, element);
      else shown.replaceWith(made(element));
    }
  }
  for (let index = elements.length; index < before.length && next; index++) {
    const extra = next;
    next = next.nextElementSibling;
    extra.remove();
  }
  return elements;
}

function made({ tag, attributes, text }: SvgElement): Element {
  const element = document.createElementNS(SVG, tag);
  for (let at = 0; at < attributes.length; at += 2)
    element.setAttribute(attributes[at] ?? "", attributes[at + 1] ?? "");
  if (text) element.textContent = text;
  return element;
}

/** Changes what differs: attributes and text. */
function change(shown: Element, from: SvgElement, to: SvgElement) {
  for (let at = 0; at < to.attributes.length; at += 2) {
    const value = to.attributes[at + 1] ?? "";
    if (from.attributes[at + 1] !== value) shown.setAttribute(to.attributes[at] ?? "", value);
  }
  if (from.text !== to.text && shown.firstChild) shown.firstChild.nodeValue = to.text;
}

/** An element as the compiler writes it, with attributes in single quotes. */
const ELEMENT = /<(\w+)((?: [\w-]+='[^']*')*)(?:\/>|>([^<]*)<\/\1>)/y;

/** Reads the elements; undefined if there are elements in elements or escaped characters, which the browser has to parse. */
export function elementsOf(svg: string): SvgElement[] | undefined {
  if (svg.includes("&")) return undefined;
  const elements: SvgElement[] = [];
  ELEMENT.lastIndex = 0;
  for (let end = 0; end < svg.length; end = ELEMENT.lastIndex) {
    const found = ELEMENT.exec(svg);
    if (!found) return undefined;
    const [, tag = "", attributes = "", text = ""] = found;
    elements.push({
      tag,
      attributes: attributes
        .trim()
        .split(/='|' ?/)
        .slice(0, -1),
      text,
    });
  }
  return elements;
}

/** Whether an element can become another one by changes of its attributes and its text. */
export function isAlike(one: SvgElement, other: SvgElement): boolean {
  const { length } = one.attributes;
  if (one.tag !== other.tag || length !== other.attributes.length) return false;
  for (let at = 0; at < length; at += 2) if (one.attributes[at] !== other.attributes[at]) return false;
  return !one.text === !other.text;
}
