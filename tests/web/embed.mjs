// The element <khorovod-preview> in a page of another site.
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { check, dist, launch, place, root, same, serve, test } from "./browser.mjs";

const smallest = readFileSync(join(root, "examples/smallest/job.yaml"), "utf8");

test("the element khorovod-preview shows a job in any page", async () => {
  const folder = place();
  symlinkSync(dist, join(folder, "preview"));
  mkdirSync(join(folder, "jobs"));
  writeFileSync(join(folder, "jobs/elastic.yaml"), readFileSync(join(root, "examples/elastic/job.yaml")));
  const inline = smallest.replaceAll('"', "&quot;");
  writeFileSync(
    join(folder, "index.html"),
    `<!doctype html><html lang="en"><title>A page</title><script type="module" src="preview/khorovod-preview.js"></script>
    <khorovod-preview id="file" spec="jobs/elastic.yaml" view="picture"></khorovod-preview>
    <khorovod-preview id="text" spec="${inline}"></khorovod-preview>
    <khorovod-preview id="wrong" spec="${inline.replace("gpus", "gpu")}"></khorovod-preview>
    <khorovod-preview id="missing" spec="jobs/none.yaml"></khorovod-preview>
    <khorovod-preview id="view" spec="jobs/elastic.yaml" view="film"></khorovod-preview></html>`,
  );
  const server = await serve("/", () => folder);
  const page = await (await launch()).newPage();
  await page.goto(server.address);
  check((await page.locator("#file svg").getAttribute("role")) === "img", "the picture is an image for screen readers");
  check((await page.locator("#file svg").textContent()).includes("bert"), "the job of a file");
  check((await page.locator("#text svg").textContent()).includes("mnist"), "the job of the attribute");
  check((await page.locator("#wrong li").textContent()).includes("gpu"), "a problem");
  check((await page.locator("#missing p").textContent()).includes("404"), "a file that is missing");
  check((await page.locator("#view p").textContent()).includes("film"), "a view that is unknown");
  await page.evaluate(() => document.querySelector("#text").setAttribute("spec", "jobs/elastic.yaml"));
  await page.locator("#text svg", { hasText: "bert" }).waitFor();
  // The link opens the same spec in the page.
  await page.locator("#text a").click();
  await page.waitForSelector("html[data-ready]");
  same(await page.title(), "bert – khorovod preview", "the title of the preview");
  await server.close();
});
