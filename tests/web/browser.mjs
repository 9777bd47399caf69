// Shared by the tests of the page: a server for the built folder, a real Chromium, and the list of cases.
import { AsyncLocalStorage } from "node:async_hooks";
import { mkdtempSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { loadavg, tmpdir } from "node:os";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

const web = new URL("../../web/", import.meta.url);
const require = createRequire(new URL("package.json", web));
const { chromium, firefox } = require("playwright-core");

export const root = fileURLToPath(new URL("../../", import.meta.url));
export const axe = require.resolve("axe-core/axe.min.js");
export const fflate = require("fflate");
/** The native command. */
export const native = process.env.KHOROVOD;
/** The folder for screenshots and figures. */
export const out = process.env.OUT;

const places = mkdtempSync(join(tmpdir(), "khorovod-web-"));
process.once("exit", () => rmSync(places, { recursive: true, force: true }));

/** Makes a temporary folder, which is removed at the end of the tests. */
export const place = () => mkdtempSync(join(places, "p-"));

/** The built page. */
export const dist = process.env.DIST ?? fileURLToPath(new URL("dist/", web));
const TYPES = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".json": "application/json",
  ".wasm": "application/wasm",
  ".txt": "text/plain; charset=utf-8",
};

/**
 * Serves the built folder at a path, or the folder that a function returns for each request. `requests` has the path and the time
 * of each request.
 */
export async function serve(under = "/", folder = () => dist) {
  const requests = [];
  const server = createServer(async (request, response) => {
    requests.push({ path: request.url, time: Date.now() });
    const path = decodeURIComponent(new URL(request.url, "http://x").pathname);
    const file = path.startsWith(under) && normalize(path.slice(under.length) || "index.html");
    try {
      const body = await readFile(join(folder(), file.endsWith("/") ? `${file}index.html` : file));
      response.writeHead(200, { "Content-Type": TYPES[extname(file) || ".html"] ?? "application/octet-stream" });
      response.end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    address: `http://127.0.0.1:${server.address().port}${under}`,
    requests,
    close: () => new Promise((resolve) => (server.closeAllConnections(), server.close(resolve))),
  };
}

/**
 * The factor by which a time may exceed its limit: at least two, and more on a busy machine; one with STRICT, which is for a
 * quiet machine.
 */
export const slack = () => (process.env.STRICT ? 1 : Math.max(2, loadavg()[0] / 2));

/** The browser of the cases: Chromium, or an unmodified Firefox by WebDriver BiDi. */
export const isFirefox = process.env.BROWSER === "firefox";

let browser;
export async function launch() {
  if (isFirefox) browser ??= await launchFirefox();
  browser ??= await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--font-render-hinting=none", "--enable-precise-memory-info"],
  });
  return browser;
}

async function launchFirefox() {
  const executablePath = process.env.FIREFOX ?? "/usr/bin/firefox-esr";
  const started = await firefox.launch({ channel: "moz-firefox", executablePath });
  // Playwright sets the colour scheme of each context with a command that Firefox ESR does not have.
  // oxlint-disable-next-line no-underscore-dangle
  const session = Object.getPrototypeOf(started._connection.toImpl(started)._browserSession);
  const { send } = session;
  session.send = async function (method, parameters) {
    return method === "emulation.setMediaFeaturesOverride" ? {} : send.call(this, method, parameters);
  };
  return started;
}

export async function close() {
  await browser?.close();
  browser = undefined;
}

/** Opens the page and waits for its first preview. `page.complaints` collects errors and warnings of the console. */
export async function open(server, { hash = "", spec, wait = true, ...options } = {}) {
  const context = await (await launch()).newContext({ viewport: { width: 1280, height: 800 }, ...options });
  opened.getStore()?.push(context);
  await context.addInitScript(prepare);
  context.setDefaultTimeout(30_000 * Math.min(6, slack()));
  const page = await context.newPage();
  page.complaints = [];
  page.on("pageerror", (error) => page.complaints.push(String(error)));
  page.on(
    "console",
    (message) => ["error", "warning"].includes(message.type()) && page.complaints.push(message.text()),
  );
  await page.goto(`${server.address}${hash}`);
  if (wait) await ready(page);
  if (spec !== undefined) await write(page, spec);
  return page;
}

export const ready = (page) => page.waitForSelector("html[data-ready]");
export const editor = (page) => page.locator("#editor .cm-content");

/** The editor's whole text, including lines that are not drawn. */
export const text = (page) => page.evaluate(() => editorView().state.doc.toString());

/** Replaces the editor's text by pasting, and waits for the preview. */
export async function write(page, spec) {
  await editor(page).focus();
  await page.keyboard.press("Control+a");
  await page.keyboard.press("Delete");
  await settled(page);
  if (!spec) return;
  await after(page, () =>
    page.evaluate((spec) => {
      const data = new DataTransfer();
      data.setData("text/plain", spec);
      const target = document.querySelector("#editor").shadowRoot.querySelector(".cm-content");
      // Firefox gives no data to a paste event that a script made.
      if (navigator.userAgent.includes("Firefox")) {
        editorView().dispatch({ changes: { from: 0, insert: spec }, userEvent: "input.paste" });
        return;
      }
      target.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
    }, spec),
  );
}

/** Runs in the page: gives the tests the editor's view, and keeps the text of the editor of each preview that is shown. */
function prepare() {
  window.editorView = () => document.querySelector("#editor").shadowRoot.querySelector(".cm-content").cmTile.view;
  new MutationObserver(() => {
    window.shownText = editorView().state.doc;
  }).observe(document, { subtree: true, attributeFilter: ["data-shown"] });
}

/** Waits until the page shows the preview of the editor's text. */
export const settled = (page) =>
  page.waitForFunction(() => editorView().state.doc.eq(window.shownText), null, { polling: 20 });

/** The address of the page. `page.url()` is that of some time before. */
export const address = (page) => page.evaluate(() => location.href);

/** Does something that changes the spec, and waits for its preview. */
export async function after(page, act, timeout = 30_000) {
  const before = await page.evaluate(() => document.documentElement.dataset.shown ?? "0");
  await act();
  await page.waitForFunction((before) => (document.documentElement.dataset.shown ?? "0") !== before, before, {
    timeout,
    polling: 20,
  });
  await settled(page);
}

export const listed = (page) =>
  page.evaluate(() =>
    [...document.querySelectorAll(".problem")].map((row) => ({
      line: Number(row.querySelector(".go").textContent.replace("line ", "")),
      severity: row.className.replace("problem ", ""),
      message: row.querySelector("p").textContent.replace(/^\w+: /, ""),
      code: row.querySelector("summary, .help:last-child").textContent,
      fix: row.querySelector(".fix")?.textContent,
    })),
  );

const cases = [];
/** Adds a case; `run` throws if it fails, and may return a note for the log. */
export function test(name, run) {
  cases.push([name, run]);
}

/** The contexts that the current case has opened. */
const opened = new AsyncLocalStorage();

/** Runs the cases whose name contains the word, and begins with one of the given starts. `lanes` is how many run at the same time. */
export async function run(word = "", starts = [""], lanes = 1) {
  const wanted = cases.filter(([name]) => name.includes(word) && starts.some((start) => name.startsWith(start)));
  if (!wanted.length) {
    console.log(`no case has "${word}" in its name; there are:\n${cases.map(([name]) => name).join("\n")}`);
    process.exitCode = 2;
    return;
  }
  let failed = 0;
  const queue = [...wanted];
  const runNext = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      const [name, run] = next;
      const start = performance.now();
      const contexts = [];
      try {
        const note = await opened.run(contexts, run);
        console.log(`ok    ${name}${note ? `: ${note}` : ""} (${((performance.now() - start) / 1000).toFixed(1)} s)`);
      } catch (error) {
        failed++;
        console.log(`FAIL  ${name}: ${error.stack}`);
      }
      // The next case starts without the pages of this one.
      for (const context of lanes > 1 ? contexts : (browser?.contexts() ?? [])) await context.close();
    }
  };
  await Promise.all(Array.from({ length: lanes }, runNext));
  await close();
  console.log(`${wanted.length} of ${cases.length} cases, ${failed} failed`);
  process.exitCode = failed ? 1 : 0;
}

export function same(found, wanted, what) {
  const [a, b] = [JSON.stringify(found, null, 1), JSON.stringify(wanted, null, 1)];
  if (a !== b) throw new Error(`${what}:\n--- found\n${a?.slice(0, 2000)}\n--- wanted\n${b?.slice(0, 2000)}`);
}

export function check(holds, what) {
  if (!holds) throw new Error(what);
}
