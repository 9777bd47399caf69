// The head of the page: what chats and social networks read of it.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { drawImage } from "../../web/social.mjs";
import { check, launch, native, open, root, same, serve, test } from "./browser.mjs";

test("the page names its version and its source, and its image for social networks shows the picture", async () => {
  const server = await serve();
  const page = await open(server);
  const stated = await page.evaluate(() =>
    Object.fromEntries(
      [...document.querySelectorAll('meta[property^="og:image"], meta[name^="twitter:"]')].map((meta) => [
        meta.getAttribute("property") ?? meta.name,
        meta.content,
      ]),
    ),
  );
  const answer = await page.request.get(new URL(stated["og:image"], server.address).href);
  check(answer.ok(), `${stated["og:image"]}: ${answer.status()}`);
  const image = await answer.body();
  same(
    [image.subarray(1, 4).toString(), String(image.readUInt32BE(16)), String(image.readUInt32BE(20))],
    ["PNG", stated["og:image:width"], stated["og:image:height"]],
    "the type and the size of the image",
  );
  check(image.length < 300_000, `${image.length} bytes`);
  check(stated["og:image:alt"].includes("ring"), "a description of the image");
  same(stated["twitter:card"], "summary_large_image", "the card");
  const manifest = await page.evaluate(async () =>
    (await fetch(document.querySelector('link[rel="manifest"]').href)).json(),
  );
  check(manifest.name && manifest.icons.length > 0, `the manifest: ${JSON.stringify(manifest)}`);
  same(await page.locator('meta[name="theme-color"]').count(), 2, "the colours of the browser's bar");
  const [, version] = /^version = "(.*)"$/m.exec(readFileSync(join(root, "Cargo.toml"), "utf8"));
  const [, repository] = /^repository = "(.*)"$/m.exec(readFileSync(join(root, "Cargo.toml"), "utf8"));
  same(await page.getByRole("link", { name: "Source" }).getAttribute("href"), repository, "the link to the source");
  check((await page.innerText("#links")).includes(version), "the version");
  // The file is as new as the picture. Other versions of the browser smooth edges in another way.
  const fresh = await drawImage(await launch(), native);
  const share = await page.evaluate(
    async (images) => {
      const [one, other] = await Promise.all(
        images.map(async (data) => {
          const bytes = Uint8Array.from(atob(data), (letter) => letter.codePointAt(0));
          const bitmap = await createImageBitmap(new Blob([bytes]));
          const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
          context.drawImage(bitmap, 0, 0);
          return context.getImageData(0, 0, bitmap.width, bitmap.height).data;
        }),
      );
      return one.filter((value, at) => Math.abs(value - other[at]) > 64).length / one.length;
    },
    [image, fresh].map((bytes) => bytes.toString("base64")),
  );
  check(share < 0.01, `${(share * 100).toFixed(1)} % of web/public/social.png is old: run web/social.mjs`);
  await server.close();
});
