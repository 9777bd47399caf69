// The page renders every example as the command does, byte for byte.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, check, listed, native, open, root, same, serve, test } from "./browser.mjs";

const folder = join(root, "examples");
export const examples = readdirSync(folder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => [entry.name, readFileSync(join(folder, entry.name, "job.yaml"), "utf8")]);

/** The output of `khorovod render` for an example. */
export const render = (name, ...args) =>
  execFileSync(native, ["render", ...args, join(folder, name, "job.yaml")], {
    encoding: "utf8",
    maxBuffer: 64 << 20,
    stdio: ["ignore", "pipe", "ignore"],
  });

/** Masks the values in the data of every Secret, as the page does. */
export function masked(stream) {
  const mask = (part) =>
    /^kind: Secret$/m.test(part)
      ? part.replace(/^( {2}\S+: )[A-Za-z0-9+/=]+$/gm, (line, key, at, all) =>
          all.lastIndexOf("\ndata:", at) > all.lastIndexOf("\nmetadata:", at) ? `${key}bWFza2Vk` : line,
        )
      : part;
  return stream
    .split(/(?<=^---\n)/m)
    .map(mask)
    .join("");
}

test("every example is byte for byte the output of the command, with masked keys", async () => {
  const server = await serve();
  const page = await open(server);
  const seed = join(folder, "ssh.seed");
  let bytes = 0;
  for (const [name] of examples) {
    await after(page, () => page.selectOption("#examples", name));
    same(await listed(page), [], `${name}: problems`);
    await page.click("#tab-objects");
    const wanted = masked(render(name, "--ssh-seed", seed));
    // Opens every object and reads its text.
    const objects = await shown(page);
    const parts = wanted.split(/^---\n/m).filter((part) => part.trim());
    same(
      objects.map((one) => one.text),
      parts.map((part) => part.trimEnd()),
      name,
    );
    bytes += wanted.length;
  }
  check(examples.length >= 33, `only ${examples.length} examples`);
  same(page.complaints, [], "complaints");
  await server.close();
  return `${examples.length} examples, ${bytes} bytes`;
});

/** Opens every object of the page. Returns their texts, in the order of the rendered documents. */
export async function shown(page) {
  return page.evaluate(async () => {
    const found = [];
    const indexOf = (one) => Number(one.closest("[data-index]").dataset.index);
    const all = [...document.querySelectorAll("#view-objects details")].sort((a, b) => indexOf(a) - indexOf(b));
    for (const one of all) {
      one.open = true;
      await new Promise((resolve) => setTimeout(resolve, 0));
      while (!one.querySelector(".yaml").shadowRoot) await new Promise((resolve) => setTimeout(resolve, 5));
      const view = one.querySelector(".yaml").shadowRoot.querySelector(".cm-content").cmTile.view;
      found.push({
        name: one.querySelector("summary").textContent,
        text: view.state.doc.toString(),
        origins: one.querySelector(".origins").textContent,
      });
    }
    return found;
  });
}
