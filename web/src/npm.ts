// The npm package `khorovod-wasm`: the compiler for JavaScript programs, in browsers and in Node.js. npm.sh builds the package.
import { changes, initSync, load_scripts, preview, render, secrets, set_target, svg } from "../pkg/khorovod_web.js";
import loadTexts, { codes, scripts } from "../pkg/khorovod_web_texts.js";
import * as c from "./wire/check";
import * as wire from "./wire/types";

export type {
  Amount,
  Change,
  Changes,
  Code,
  Codes,
  Compiled,
  Cost,
  Difference,
  FoundSecret,
  ObjectName,
  Picture,
  PlacedText,
  Problem,
  RenderedDocument,
  Report,
  Severity,
  Storage,
  Workers,
} from "./wire/types";

/** A target, by the name that `khorovod render --target` takes. */
export type Target = "plain" | "jobset" | "mpijob" | "trainjob" | "volcano" | "slurm";

export interface Options {
  /** Kubernetes' own objects by default. */
  target?: Target;
}

/** The result of a preview. */
export interface Preview extends wire.Preview {
  /** The rendered objects, with masked ssh keys; empty if the spec has errors. Ranges of `documents` are bytes of it in UTF-8. */
  rendered: string;
}

/** A rendered object as a file. */
export interface File {
  /** Its path, as `khorovod render -o DIR/` writes it. */
  path: string;
  text: string;
}

export interface Khorovod {
  /** Compiles a stream of specs: every problem; without errors also the plans of the jobs and the rendered objects. */
  preview(spec: string, options?: Options): Preview;
  /** Renders the objects to apply, without ssh keys: one file per object; empty if the spec has errors. */
  render(spec: string, options?: Options): File[];
  /** Draws the jobs as an SVG file; empty if the spec has errors. */
  svg(spec: string, options?: Options): string;
  /** Returns what happens to running jobs if the spec `now` is applied over the spec `old`; empty if either has errors. */
  changes(old: string, now: string, options?: Options): wire.Changes;
  /** The values of a text that look like secrets. */
  secrets(text: string): wire.Secrets;
  /** The meaning of each problem code. */
  readonly codes: wire.Codes;
}

/** The content of a file of this package. */
async function read(file: URL): Promise<BufferSource> {
  if (file.protocol === "file:") {
    const { readFile } = await import("node:fs/promises");
    return Uint8Array.from(await readFile(file));
  }
  const response = await fetch(file);
  if (!response.ok) throw new Error(`${file.href}: ${response.status}`);
  return response.arrayBuffer();
}

async function start(): Promise<Khorovod> {
  const [core, texts] = await Promise.all([
    read(new URL("./khorovod_web_bg.wasm", import.meta.url)),
    read(new URL("./khorovod_web_texts_bg.wasm", import.meta.url)),
  ]);
  initSync({ module: await WebAssembly.compile(core) });
  await loadTexts({ module_or_path: texts });
  load_scripts(scripts());
  return {
    preview(spec, options) {
      use(options);
      const { json, text } = unpack(wire.checkPreview, preview(spec, 0));
      return { ...json, rendered: decode(text) };
    },
    render(spec, options) {
      use(options);
      const bytes = render(spec, "");
      const { json, text } = unpack(wire.checkFiles, bytes);
      return json.files.map(({ path, from, to }) => ({ path, text: decode(text.subarray(from, to)) }));
    },
    svg(spec, options) {
      use(options);
      return svg(spec);
    },
    changes(old, now, options) {
      use(options);
      return c.parse(wire.checkChanges, changes(old, now));
    },
    secrets: (text) => c.parse(wire.checkSecrets, secrets(text)),
    codes: c.parse(wire.checkCodes, codes()),
  };
}

let started: Promise<Khorovod> | undefined;

/** Loads the compiler, once. */
export function load(): Promise<Khorovod> {
  started ??= start().catch((error: unknown) => {
    started = undefined;
    throw error;
  });
  return started;
}

/** Sets the target of the next call. */
function use({ target = "plain" }: Options = {}) {
  if (!set_target(target)) throw new Error(`there is no target "${target}"`);
}

const utf8 = new TextDecoder();
const decode = (bytes: Uint8Array) => utf8.decode(bytes);

/** Splits what the module returns into JSON, which is the first line, and the text behind it. */
function unpack<T>(check: c.Check<T>, bytes: Uint8Array): { json: T; text: Uint8Array } {
  const end = bytes.indexOf(10);
  return { json: c.parse(check, decode(bytes.subarray(0, end))), text: bytes.subarray(end + 1) };
}
