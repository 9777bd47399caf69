// The page without a network, without WebAssembly and without JavaScript, and its content security policy.
import { cpSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  after,
  check,
  dist,
  editor,
  listed,
  open,
  place,
  ready,
  root,
  same,
  serve,
  test,
  text,
  write,
} from "./browser.mjs";

test("a loaded page works offline, also at a sub-path", async () => {
  for (const under of ["/", "/a/sub-path/"]) {
    const server = await serve(under);
    const page = await open(server);
    await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
    await page.waitForFunction(async () => (await caches.keys()).length === 1);
    await server.close();
    await page.reload();
    await ready(page);
    await write(page, readFileSync(join(root, "examples/torchrun/job.yaml"), "utf8"));
    same(await listed(page), [], "problems");
    await page.click("#tab-plan");
    check(/torchrun/.test(await page.innerText("#view-plan")), "the plan");
    same(
      page.complaints.filter((one) => !/ERR_CONNECTION_REFUSED|ERR_INTERNET/.test(one)),
      [],
      "complaints",
    );
    await page.context().close();
  }
});

/** Copies the page as another version of it: all assets have other names. */
function nextVersion() {
  const folder = place();
  cpSync(dist, folder, { recursive: true });
  const assets = readdirSync(join(folder, "assets"));
  const renamed = (name) => name.replace(/\.\w+$/, "2$&");
  for (const name of assets) renameSync(join(folder, "assets", name), join(folder, "assets", renamed(name)));
  for (const name of ["index.html", "sw.js", ...assets.map((one) => join("assets", renamed(one)))]) {
    if (!/\.(html|js|css)$/.test(name)) continue;
    let file = readFileSync(join(folder, name), "utf8");
    for (const one of assets) file = file.replaceAll(one, renamed(one));
    writeFileSync(join(folder, name), file.replace(/"khorovod-[0-9a-f]{12}"/, '"khorovod-next"'));
  }
  return folder;
}

test("an update of the page does not break an open tab", async () => {
  let folder = dist;
  const server = await serve("/", () => folder);
  const page = await open(server);
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
  await page.waitForFunction(async () => (await caches.keys()).length === 1);
  folder = nextVersion();
  await page.evaluate(async () => {
    const changed = new Promise((resolve) => navigator.serviceWorker.addEventListener("controllerchange", resolve));
    await (await navigator.serviceWorker.getRegistration()).update();
    await changed;
  });
  // A further navigation, as of another tab, also keeps what the first one needs.
  const other = await page.context().newPage();
  await other.goto(server.address);
  await ready(other);
  await page.getByRole("button", { name: "Import…" }).click();
  await page
    .getByLabel("File to import")
    .fill(readFileSync(join(root, "tests/import/stable-horovod/readme.yaml"), "utf8"));
  await page.waitForFunction(() => document.querySelector("#import-system").value === "stable-horovod");
  await after(page, () => page.getByRole("button", { name: "Import", exact: true }).click());
  same(
    page.complaints.filter((one) => !one.includes("404")),
    [],
    "complaints",
  );
  // The old files go with the last tab that needs them.
  await page.close();
  await other.reload();
  await ready(other);
  await other.waitForFunction(async () => (await caches.keys()).join() === "khorovod-next", null, { timeout: 10_000 });
  await server.close();
});

test("all requests are for the page's own files, and typing makes no request", async () => {
  const server = await serve("/p/");
  const page = await open(server, { wait: false });
  const asked = [];
  page.context().on("request", (request) => asked.push(request.url()));
  await page.reload();
  await ready(page);
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
  const strangers = asked.filter((url) => !url.startsWith(server.address) && !url.startsWith("blob:"));
  same(strangers, [], "requests to others");
  await page.waitForTimeout(500);
  const before = asked.length;
  await after(page, () => page.selectOption("#examples", "s3"));
  await editor(page).focus();
  await page.keyboard.press("Control+End");
  await page.keyboard.type("# more\n");
  for (const view of ["plan", "objects", "apply", "picture"]) await page.click(`#tab-${view}`);
  await page.click("#share");
  await page.waitForTimeout(300);
  // The browser may request the icon again when the address changes.
  same(
    asked.slice(before).filter((url) => !url.startsWith("blob:") && !url.endsWith("/icon.svg")),
    [],
    "requests while writing",
  );
  await server.close();
  return `${before} requests to load`;
});

test("the policy forbids what the page does not need", async () => {
  const server = await serve();
  const page = await open(server);
  const policy = await page.getAttribute('meta[http-equiv="Content-Security-Policy"]', "content");
  check(!/unsafe-inline|unsafe-eval'(?<!wasm-unsafe-eval')|\*|https?:/.test(policy), policy);
  const blocked = await page.evaluate(async () => {
    const found = [];
    document.addEventListener("securitypolicyviolation", (event) => found.push(event.effectiveDirective));
    const script = document.createElement("script");
    script.textContent = "window.inlined = true";
    document.body.append(script);
    await fetch("https://example.com/").catch(() => undefined);
    const image = new Image();
    image.src = "https://example.com/x.png";
    document.body.append(image);
    document.body.setAttribute("style", "color: red");
    await new Promise((resolve) => setTimeout(resolve, 200));
    return [...new Set(found)].sort();
  });
  same(blocked, ["connect-src", "img-src", "script-src-elem", "style-src-attr"], "blocked");
  check(!(await page.evaluate(() => window.inlined)), "no inline script runs");
  await server.close();
});

test("without WebAssembly the page shows a message and keeps the text", async () => {
  const server = await serve();
  const page = await open(server, { wait: false });
  await page.addInitScript(() => delete globalThis.WebAssembly);
  await page.reload();
  await page.locator("#broken").waitFor({ state: "visible" });
  check(/WebAssembly/.test(await page.innerText("#broken")), "the message");
  check((await text(page)).includes("kind: TrainingJob"), "the editor has its text");
  same(page.complaints, [], "complaints");
  const context = await page.context().browser().newContext({ javaScriptEnabled: false });
  const bare = await context.newPage();
  await bare.goto(server.address);
  check(/JavaScript is off/.test(await bare.innerText("body")), "the message without JavaScript");
  await server.close();
});

test("the page shows the reason if the module cannot be loaded", async () => {
  const server = await serve();
  const page = await open(server, { wait: false });
  await page
    .context()
    .route("**/*.wasm", (route) => route.fulfill({ status: 200, contentType: "application/wasm", body: "no wasm" }));
  await page.context().clearCookies();
  await page.evaluate(async () => {
    for (const one of await navigator.serviceWorker.getRegistrations()) await one.unregister();
    for (const name of await caches.keys()) await caches.delete(name);
  });
  await page.reload();
  await page.locator("#broken").waitFor({ state: "visible" });
  check(/could not start/.test(await page.innerText("#broken")), await page.innerText("#broken"));
  await server.close();
});
