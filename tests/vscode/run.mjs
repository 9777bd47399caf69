// Tries the extension for VS Code in code-server, with Chromium: run.mjs EXTENSION.vsix CODE-SERVER. OUT is a folder for screenshots.
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const require = createRequire(new URL("../../web/package.json", import.meta.url));
const { chromium } = require("playwright-core");
const [extension, codeServer] = process.argv.slice(2);
const smallest = readFileSync(new URL("../../examples/smallest/job.yaml", import.meta.url), "utf8");

const work = mkdtempSync(join(tmpdir(), "khorovod-vscode-"));
const folder = join(work, "jobs");
mkdirSync(join(work, "data/User"), { recursive: true });
mkdirSync(folder);
writeFileSync(join(folder, "right.khorovod.yaml"), smallest);
writeFileSync(join(folder, "wrong.yaml"), smallest.replace("gpus:", "gpu:"));
writeFileSync(join(folder, "other.yaml"), "apiVersion: v1\nkind: ConfigMap\ngpu: 1\n");
const settings = {
  "workbench.startupEditor": "none",
  "security.workspace.trust.enabled": false,
  "telemetry.telemetryLevel": "off",
  "extensions.autoUpdate": false,
  "extensions.ignoreRecommendations": true,
  "chat.commandCenter.enabled": false,
};
writeFileSync(join(work, "data/User/settings.json"), JSON.stringify(settings));

const places = ["--user-data-dir", join(work, "data"), "--extensions-dir", join(work, "extensions")];
const env = { ...process.env, HOME: work, XDG_CONFIG_HOME: work, XDG_DATA_HOME: work };
execFileSync("node", [codeServer, ...places, "--install-extension", extension], { env, stdio: ["ignore", "inherit", "inherit"] });

const port = await new Promise((resolve) => {
  const probe = createServer().listen(0, "127.0.0.1", () => {
    const { port: found } = probe.address();
    probe.close(() => resolve(found));
  });
});
const options = ["--auth", "none", "--bind-addr", `127.0.0.1:${port}`, "--disable-telemetry", "--disable-update-check"];
const server = spawn("node", [codeServer, ...places, ...options, folder], { env, stdio: ["ignore", "ignore", "inherit"] });
const address = `http://127.0.0.1:${port}/`;
for (let tries = 0; ; tries += 1) {
  try {
    if ((await fetch(`${address}healthz`)).ok) break;
  } catch (error) {
    if (tries > 300) throw error;
  }
  await new Promise((resolve) => setTimeout(resolve, 200));
}

let count = 0;
const wrong = [];
const check = (is, text, found = "") => {
  count += 1;
  if (!is) wrong.push(`${text}: ${found}`);
};

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu"],
});
const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
page.setDefaultTimeout(Number(process.env.PATIENCE ?? 120) * 1000);
const shot = (name) => (process.env.OUT ? page.screenshot({ path: join(process.env.OUT, `${name}.png`) }) : undefined);

/** Opens a file of the folder. */
async function open(name) {
  await page.locator(".explorer-folders-view .monaco-list-row", { hasText: name }).dblclick();
  await page.locator(".tab.active", { hasText: name }).waitFor();
}

/** Runs a command of the palette. */
async function command(name) {
  await page.keyboard.press("Control+Shift+p");
  await page.locator(".quick-input-widget input").fill(`>${name}`);
  await page.locator(".quick-input-list .monaco-list-row", { hasText: name }).first().waitFor();
  await page.keyboard.press("Enter");
}

try {
  await page.goto(`${address}?folder=${folder}`);
  await page.locator(".explorer-folders-view").waitFor();
  await open("wrong.yaml");
  await page.locator(".squiggly-error").first().waitFor();
  await command("Problems: Focus on Problems View");
  const problems = page.locator(".markers-panel .monaco-list-row");
  await problems.filter({ hasText: "gpu" }).first().waitFor();
  const shown = (await problems.allTextContents()).join("\n");
  check(shown.includes("unknown-field") && shown.includes("khorovod") && shown.includes("gpus"), "the problem, its code and its hint", shown);
  await shot("problem");

  // The fix.
  await page.keyboard.press("Control+1");
  await page.keyboard.press("F8");
  await page.keyboard.press("Control+.");
  const fix = page.locator(".action-widget .monaco-list-row", { hasText: "khorovod: write" }).first();
  await fix.waitFor();
  await shot("fix");
  await page.keyboard.press("Enter");
  await page.locator(".squiggly-error").first().waitFor({ state: "detached" });
  check((await page.locator(".view-lines").first().textContent()).includes("gpus:"), "the fix changes the spec");

  // The preview.
  await open("right.khorovod.yaml");
  await page.locator('.editor-actions [aria-label*="Show the Preview"]').first().waitFor();
  await command("khorovod: Show the Preview of the Job");
  const inner = page.frameLocator("iframe.webview").frameLocator("#active-frame");
  await inner.locator("svg").waitFor();
  const picture = await inner.locator("svg").textContent();
  check(picture.includes("mnist"), "the picture shows the job", picture);
  await shot("preview");
  await page.keyboard.press("Control+1");
  await page.keyboard.press("Control+End");
  await page.keyboard.type("\nunknown: 1\n");
  await inner.locator("li", { hasText: "unknown" }).waitFor();
  check((await inner.locator("svg").count()) === 0, "a spec with errors has no picture");

  await open("other.yaml");
  await page.waitForTimeout(1000);
  check((await page.locator(".squiggly-error").count()) === 0, "other manifests have no problems");
} catch (error) {
  await shot("failed");
  wrong.push(String(error));
} finally {
  await browser.close();
  server.kill();
  await new Promise((resolve) => server.once("exit", resolve));
  rmSync(work, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
}
console.log([...wrong, `the extension in code-server: ${count} checks, ${wrong.length} failed`].join("\n"));
process.exit(wrong.length ? 1 : 0);
