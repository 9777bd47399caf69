import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { defineConfig, type Plugin } from "vite";

/** Writes the service worker with the list of the built files. */
function offline(): Plugin {
  return {
    name: "offline",
    apply: "build",
    generateBundle(_, bundle) {
      const files = Object.values(bundle);
      const hash = createHash("sha256");
      for (const file of files) hash.update(file.fileName).update(file.type === "chunk" ? file.code : file.source);
      const worker = readFileSync("sw.js", "utf8");
      hash.update(worker);
      const names = new Set([
        "./",
        "./index.html",
        "./icon.svg",
        "./manifest.webmanifest",
        ...files.map((file) => `./${file.fileName}`),
      ]);
      const source = worker
        .replace("__VERSION__", `khorovod-${hash.digest("hex").slice(0, 12)}`)
        .replace("__FILES__", JSON.stringify([...names]));
      this.emitFile({ type: "asset", fileName: "sw.js", source });
    },
  };
}

/** A value of the workspace's Cargo.toml. */
function ofProject(name: string): string {
  const [, value] = new RegExp(`^${name} = "(.*)"$`, "m").exec(readFileSync("../Cargo.toml", "utf8")) ?? [];
  if (value === undefined) throw new Error(`Cargo.toml has no ${name}`);
  return JSON.stringify(value);
}

export default defineConfig({
  define: { VERSION: ofProject("version"), REPOSITORY: ofProject("repository") },
  // The page works in any folder of any server.
  base: "./",
  build: {
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    sourcemap: false,
    rolldownOptions: {
      input: { index: "index.html", "khorovod-preview": "src/embed.ts" },
      output: {
        // Other pages load the element by its name.
        entryFileNames: ({ name }) => (name === "khorovod-preview" ? "[name].js" : "assets/[name]-[hash].js"),
      },
    },
  },
  worker: { format: "es" },
  server: { fs: { allow: [".."] } },
  plugins: [offline()],
});
