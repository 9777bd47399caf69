// Reads the SVG of a part of the picture as elements, so that the page can change only what differs between two drawings of a part.
// That is faster than to parse the SVG and to insert new elements for each key.

/** An element without elements in it. */
export interface SvgElement {
  tag: string;
  /** Names and values in turn. */
  attributes: string[];
  text: string;
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
