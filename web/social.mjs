// Makes public/social.png, the image that chats and social networks show for a link to the page, from the picture that
// `khorovod plan -o svg` prints of an example:
//
//   KHOROVOD=BINARY node social.mjs
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const SIZE = { width: 1200, height: 630 };
const file = (path) => fileURLToPath(new URL(path, import.meta.url));

/** The page that becomes the image. */
function html(khorovod) {
  const spec = file("../examples/elastic/job.yaml");
  const picture = execFileSync(khorovod, ["plan", "-o", "svg", spec])
    .toString()
    .replace(/^<\?xml.*?\?>/, "");
  const icon = readFileSync(file("public/icon.svg"), "utf8");
  return `<!doctype html><meta name="color-scheme" content="light"><style>
    body { margin: 0; width: ${SIZE.width}px; height: ${SIZE.height}px; display: grid; grid-template-columns: 400px 1fr;
      align-items: center; font-family: "DejaVu Sans", sans-serif; background: #1b4f72; color: #fff; }
    header { padding: 0 20px 0 56px; }
    header svg { width: 120px; height: 120px; }
    h1 { margin: 16px 0 8px; font-size: 52px; }
    p { margin: 0; font-size: 25px; line-height: 1.4; color: #d6eaf8; }
    main { height: 100%; display: grid; place-items: center; background: #fff; }
    main svg { width: 740px; height: 590px; }
    </style><header>${icon}<h1>khorovod</h1><p>Write a training spec. See its workers, its ring and its Kubernetes objects.</p></header>
    <main>${picture}</main>`;
}

/** Draws the image in a browser; `khorovod` is the path of the command. */
export async function drawImage(browser, khorovod) {
  const page = await browser.newPage({ viewport: SIZE });
  await page.setContent(html(khorovod));
  const image = await page.screenshot();
  await page.close();
  return image;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--font-render-hinting=none"] });
  writeFileSync(file("public/social.png"), await drawImage(browser, process.env.KHOROVOD ?? "khorovod"));
  await browser.close();
}
