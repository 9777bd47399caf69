import { describe, expect, it } from "vitest";
import { elementsOf, isAlike } from "./svg-elements";

describe("the elements of a part", () => {
  it("have their attributes and texts", () => {
    expect(
      elementsOf("<rect x='4' rx='8' class='node apart'/><text x='1 2' class='in' aria-hidden='true'>01</text>"),
    ).toEqual([
      { tag: "rect", attributes: ["x", "4", "rx", "8", "class", "node apart"], text: "" },
      { tag: "text", attributes: ["x", "1 2", "class", "in", "aria-hidden", "true"], text: "01" },
    ]);
    expect(elementsOf("<text class='small'></text><path d=''/>")).toEqual([
      { tag: "text", attributes: ["class", "small"], text: "" },
      { tag: "path", attributes: ["d", ""], text: "" },
    ]);
    expect(elementsOf("")).toEqual([]);
  });

  it.each([
    ["<g transform='translate(3)'><rect x='4'/></g>"],
    ["<text x='1'>a &amp; b</text>"],
    ['<text x="1">a</text>'],
    ["<text x='1'>a"],
    ["<rect x='1'/> <rect x='2'/>"],
  ])("are left to the browser: %s", (svg) => {
    expect(elementsOf(svg)).toBe(undefined);
  });
});

describe("two elements are alike", () => {
  const [rect, text] = elementsOf("<rect x='4' class='node'/><text x='1'>a</text>") ?? [];
  it.each([
    ["<rect x='5' class='pod'/>", "<text x='2'>b</text>", true],
    ["<rect class='pod' x='5'/>", "<text x='2'></text>", false],
    ["<path x='5' class='pod'/>", "<text x='2' y='3'>a</text>", false],
  ])("if only values and texts differ: %s, %s", (first, second, expected) => {
    expect(rect && isAlike(rect, elementsOf(first)?.[0] ?? rect)).toBe(expected);
    expect(text && isAlike(text, elementsOf(second)?.[0] ?? text)).toBe(expected);
  });
});
