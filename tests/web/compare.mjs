// The dialog that compares the spec with another one.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, axe, check, editor, open, out, root, same, serve, test } from "./browser.mjs";

const example = (name) => readFileSync(join(root, "examples", name, "job.yaml"), "utf8");
const smallest = example("smallest");

/** The rows of the table of sizes, by their labels. */
const sizes = (page) =>
  page.evaluate(() =>
    Object.fromEntries(
      [...document.querySelectorAll("#compare .sizes tbody tr")].map((row) => [
        row.querySelector("th").textContent,
        [...row.querySelectorAll("td")].map((cell) => cell.textContent),
      ]),
    ),
  );

test("a comparison of an editor with errors names the state that it compares", async () => {
  const server = await serve();
  const page = await open(server, { spec: smallest });
  await page.click("#what-if summary");
  await editor(page).focus();
  await page.keyboard.press("Control+Home");
  await after(page, () => page.keyboard.type("x"));
  await page.getByRole("button", { name: "Compare with another spec…" }).click();
  await page.locator("#compare .warn", { hasText: "last state without errors" }).waitFor();
  await server.close();
});

test("two specs are compared side by side", async () => {
  const server = await serve();
  // A service worker loads every file beforehand.
  const page = await open(server, { spec: smallest, serviceWorkers: "block" });
  const before = server.requests.filter(({ path }) => path.includes("compare")).length;
  same(before, 0, "requests for the comparison before it is opened");
  await page.click("#what-if summary");
  await page.getByLabel("Price per GPU hour").fill("2");
  await page.getByRole("button", { name: "Compare with another spec…" }).click();
  const other = page.getByLabel("The other spec", { exact: true }).first();
  await other.selectOption("example elastic");
  await page.locator("#compare .sizes").waitFor();
  same((await sizes(page)).GPUs, ["32 GPUs", "8 to 32 GPUs", "same"], "the GPUs of an elastic job");
  check((await page.textContent("#compare [role=status]")).includes("8 to 32 GPUs"), "the status");
  same(await page.locator("#compare .picture[role=img]").count(), 2, "pictures");
  check((await page.textContent("#compare .pictures")).includes("bert"), "the other job is drawn");
  await page.screenshot({ path: join(out, "compare.png") });
  // The same job with other numbers restarts.
  await other.selectOption("pasted");
  await page.locator("#compare textarea").fill(smallest.replace("replicas: 4", "replicas: 6"));
  await page.locator("#compare .change", { hasText: "restarts" }).waitFor();
  const found = await sizes(page);
  same(
    [found.GPUs, found["price per hour"], found.ranks, found.workers],
    [
      ["32 GPUs", "48 GPUs", "+16"],
      ["64.00", "96.00", "+32.00"],
      ["32", "48", "+16"],
      ["4", "6", "+2"],
    ],
    "the sizes",
  );
  check(
    (await page.textContent("#compare .change")).includes("replicas: 4 → 6"),
    await page.textContent("#compare .change"),
  );
  same(
    [
      await page.locator("#compare .texts .removed").allTextContents(),
      await page.locator("#compare .texts .added").allTextContents(),
    ],
    [["  workers: {replicas: 4, gpus: 8}"], ["  workers: {replicas: 6, gpus: 8}"]],
    "the changed lines",
  );
  await page.screenshot({ path: join(out, "compare-changed.png") });
  await page.evaluate(readFileSync(axe, "utf8"));
  const { violations } = await page.evaluate(() => window.axe.run());
  same(
    violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`),
    [],
    "axe",
  );
  // A spec with errors: its texts are still compared.
  await page.locator("#compare textarea").fill(smallest.replace("gpus: 8", "gpu: 8"));
  await page.locator("#compare .warn").waitFor();
  check((await page.textContent("#compare li")).includes("gpu"), "the error");
  same(await page.locator("#compare .texts .added").count(), 1, "the changed line");
  await page.keyboard.press("Escape");
  check(!(await page.locator("#compare").isVisible()), "Escape closes the dialog");
  same(
    page.complaints.filter((one) => !one.includes("blocked by Playwright")),
    [],
    "complaints",
  );
  await server.close();
});

test("a comparison fits a phone", async () => {
  const server = await serve();
  const page = await open(server, {
    spec: smallest,
    viewport: { width: 390, height: 844 },
    hasTouch: true,
    isMobile: true,
  });
  await page.click("#show-result");
  await page.click("#what-if summary");
  await page.getByRole("button", { name: "Compare with another spec…" }).click();
  await page.locator("#compare-with").selectOption("example self-healing");
  await page.locator("#compare .sizes").waitFor();
  const [wide, tall] = await page.evaluate(() => {
    const dialog = document.querySelector("#compare");
    return [dialog.scrollWidth - dialog.clientWidth, dialog.getBoundingClientRect().height - innerHeight];
  });
  check(wide <= 0 && tall <= 0, `${wide} px too wide, ${tall} px too high`);
  await page.screenshot({ path: join(out, "compare-phone.png") });
  await server.close();
});
