// The sliders of "What if": they write into the spec, with the keyboard too, and the page computes the cost.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, axe, check, editor, open, root, same, serve, test, text, write } from "./browser.mjs";

const smallest = readFileSync(join(root, "examples/smallest/job.yaml"), "utf8");
const example = (name) => readFileSync(join(root, "examples", name, "job.yaml"), "utf8");

test("what if: sliders write into the spec and keep its comments", async () => {
  const server = await serve();
  const block = smallest.replace(
    "workers: {replicas: 4, gpus: 8}",
    "workers:\n    replicas: 4 # nodes\n    # H100\n    gpus: 8 # each\n  lifecycle: {deadline: 24h} # a day",
  );
  const page = await open(server, { spec: block });
  await page.locator("#what-if summary").focus();
  await page.keyboard.press("Enter");
  const workers = page.getByRole("slider", { name: "Workers" });
  const gpus = page.getByRole("slider", { name: "GPUs per worker" });
  await workers.focus();
  await after(page, () => page.keyboard.press("ArrowRight"));
  same(await text(page), block.replace("replicas: 4", "replicas: 5"), "one worker more");
  check((await page.textContent("#sum")).startsWith("40 GPUs"), "the sum follows");
  await after(page, () => page.keyboard.press("End"));
  await after(page, () => gpus.fill("4"));
  const big = block.replace("replicas: 4", "replicas: 16").replace("gpus: 8", "gpus: 4");
  same(await text(page), big, "16 workers with 4 GPUs");
  const reset = page.getByRole("button", { name: "Reset sliders" });
  await after(page, () => reset.click());
  same([await text(page), await reset.isEnabled()], [block, false], "the spec before the sliders");
  same([await workers.inputValue(), await gpus.inputValue()], ["4", "8"], "the sliders");
  await after(page, () => page.keyboard.press("End"));
  await after(page, () => gpus.fill("4"));
  same(await text(page), big, "16 workers with 4 GPUs again");
  const cost = () => page.textContent("#what-if [role=status]");
  same(
    await cost(),
    "64 GPUs, at most 1,536 GPU hours until the deadline, without GPUs of nodes that do not answer.",
    "the cost without a price",
  );
  await page.getByLabel("Price per GPU hour").fill("2.5");
  same(
    await cost(),
    "64 GPUs cost 160.00 per hour, and at most 3,840.00 until the deadline (1,536 GPU hours), without GPUs of nodes that do not answer.",
    "the cost",
  );
  await page.getByLabel("Price per GPU hour").fill("2,50");
  check((await cost()).startsWith("64 GPUs cost 160.00 per hour"), "a decimal comma");
  await page.getByLabel("Price per GPU hour").fill("2,500");
  check((await page.textContent("#price-unread")).includes("cannot be read"), "a price that may be two");
  await page.getByLabel("Price per GPU hour").fill("2.5");
  // The slider shows what is typed into the spec.
  await after(page, () => write(page, block.replace("replicas: 4", "replicas: 40")));
  same([await workers.inputValue(), await workers.getAttribute("max")], ["40", "64"], "a slider with another scale");
  check(await reset.isDisabled(), "a reset to a spec before the last edit");
  await page.reload();
  await page.waitForSelector("html[data-ready]");
  await page.click("#what-if summary");
  same(await page.getByLabel("Price per GPU hour").inputValue(), "2.5", "the price is kept");
  same(page.complaints, [], "complaints");
  await server.close();
});

test("what if: numbers that make an error can be taken back, and other errors switch the sliders off", async () => {
  const server = await serve();
  const elastic = example("elastic");
  const page = await open(server, { spec: elastic });
  await page.click("#what-if summary");
  const workers = page.getByRole("slider", { name: "Workers" });
  const hint = () => page.textContent("#what-if .hint");
  await after(page, () => workers.fill("1"));
  check((await hint()).startsWith("With these numbers the spec has errors"), await hint());
  await after(page, () => workers.fill("3"));
  same(await text(page), elastic.replace("replicas: 4", "replicas: 3"), "three workers");
  same(await hint(), "", "no hint");
  check((await page.textContent("#what-if [role=status]")).startsWith("8 to 32 GPUs"), "the bounds of the elastic job");
  // `write` deletes the spec first, which also hides the sliders.
  await editor(page).focus();
  await page.keyboard.press("Control+Home");
  await after(page, () => page.keyboard.type("x"));
  check(await workers.isDisabled(), "a spec with errors");
  await write(page, example("worker-groups"));
  check((await hint()).includes("workers.replicas"), await hint());
  await write(page, `${smallest}---\n${smallest.replace("mnist\n", "bert\n").replace("replicas: 4", "replicas: 2")}`);
  await page.getByLabel("Job", { exact: true }).selectOption("bert");
  await after(page, () => workers.fill("7"));
  check((await text(page)).endsWith("workers: {replicas: 7, gpus: 8}\n"), "the other job");
  check((await text(page)).includes("workers: {replicas: 4, gpus: 8}\n---"), "the first job");
  check((await page.textContent("#what-if [role=status]")).includes("All jobs: 88 GPUs"), "the sum of the jobs");
  await page.evaluate(readFileSync(axe, "utf8"));
  const { violations } = await page.evaluate(() => window.axe.run());
  same(
    violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`),
    [],
    "axe",
  );
  same(page.complaints, [], "complaints");
  await server.close();
});
