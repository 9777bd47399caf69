// Opens pages of a built site in Chromium: look.mjs SITE HOMEPAGE. Each loads without errors, passes axe, fits a telephone and is small.
import { readFileSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { extname, join, normalize } from "node:path";

const require = createRequire(new URL("../../web/package.json", import.meta.url));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const [site, homepage] = process.argv.slice(2);

const PAGES = [
  "index.html",
  "docs/start.html",
  "docs/install.html",
  "docs/spec.html",
  "docs/problems.html",
  "docs/preview.html",
  "CHANGELOG.html",
  "plugin/kustomize/generator/index.html",
  "versions.html",
  "packages/v0.0.9/index.html",
  "v0.0.9/docs/install.html",
  "web/dist/index.html",
];
/** The most bytes that a page may load, uncompressed, until nothing more is loaded. */
const MOST = 6_000_000;
const TYPES = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".json": "application/json",
  ".wasm": "application/wasm",
};

const server = createServer(async (request, response) => {
  const path = normalize(decodeURIComponent(new URL(request.url, "http://x").pathname));
  const file = join(site, path.endsWith("/") ? `${path}index.html` : path);
  try {
    const body = await readFile(file);
    response.writeHead(200, { "Content-Type": TYPES[extname(file)] ?? "application/octet-stream" }).end(body);
  } catch {
    response.writeHead(404).end();
  }
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const address = `http://127.0.0.1:${server.address().port}/`;
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu"],
});

let count = 0;
const wrong = [];
const check = (is, text, found = "") => {
  count += 1;
  if (!is) wrong.push(`${text}: ${found}`);
};

for (const name of PAGES) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, bypassCSP: true });
  const page = await context.newPage();
  page.setDefaultNavigationTimeout(120_000);
  const complaints = [];
  let bytes = 0;
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && complaints.push(message.text()));
  page.on("response", (response) => {
    const path = new URL(response.url()).pathname;
    if (response.status() >= 400) complaints.push(`${response.status()} ${path}`);
    else if (response.url().startsWith(address)) bytes += statSync(join(site, path.endsWith("/") ? `${path}index.html` : path)).size;
    else if (!response.url().startsWith("data:")) complaints.push(`loads ${response.url()}`);
  });
  await page.goto(address + name, { waitUntil: "networkidle" });
  check(complaints.length === 0, `${name}: errors`, complaints.join("; "));
  check(bytes < MOST, `${name}: loads too much`, bytes);
  const headings = await page.locator("main h1").count();
  check(name.startsWith("web/") || headings === 1, `${name}: one heading of the first level in its text`, headings);
  for (const colorScheme of ["light", "dark"]) {
    if (colorScheme === "dark") {
      await page.emulateMedia({ colorScheme });
      // The book chooses its theme while it loads.
      await page.reload({ waitUntil: "load" });
    }
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => axe.run({ exclude: [["iframe"]] }));
    const serious = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
    const places = (nodes) => nodes.slice(0, 3).map(({ target }) => target.join(" ")).join(", ");
    check(serious.length === 0, `${name}: axe, ${colorScheme}`, serious.map(({ id, nodes }) => `${id} ${places(nodes)}`).join("; "));
  }
  const image = await page.locator('meta[property="og:image"]').getAttribute("content");
  const answer = await page.request.get(image.replace(`${homepage}/`, address));
  check(answer.status() === 200, `${name}: the image for social networks`, image);
  await page.setViewportSize({ width: 390, height: 844 });
  const [wide, view] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  check(wide <= view + 1, `${name}: wider than a telephone`, `${wide} > ${view}`);
  await context.close();
}
await browser.close();
server.close();
console.log([...wrong, `${PAGES.length} pages in Chromium: ${count} checks, ${wrong.length} failed`].join("\n"));
process.exit(wrong.length ? 1 : 0);
