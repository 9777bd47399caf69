import { expect, it } from "vitest";
import { bookAddress } from "./book";

it("has the address of the documentation only as a part of the book", () => {
  expect(bookAddress("docs/start.html", "/a/web/dist/")).toBe("/a/docs/start.html");
  expect(bookAddress("docs/start.html", "/web/dist/index.html")).toBe("/docs/start.html");
  expect(bookAddress("docs/start.html", "/preview/")).toBeUndefined();
});
