// The exports of the WebAssembly modules in ../wasm (and ../targets), ../import, ../timeline, ../texts and ../keys, so that the sources can be checked before the modules are
// built. Once web/pkg/ exists, TypeScript uses the declarations there instead.

declare module "*/pkg/khorovod_web.js" {
  export function preview(spec: string, width: number): Uint8Array;
  export function draw(spec: string, width: number): string;
  export function render(spec: string, keys: string): Uint8Array;
  export function jobs_with_keys(spec: string): string;
  export function changes(old: string, now: string): string;
  export function load_scripts(texts: string): boolean;
  export function set_target(name: string): boolean;
  export function svg(spec: string): string;
  export function facts(spec: string): string;
  export function secrets(text: string): string;
  export function initSync(module: { module: WebAssembly.Module }): { memory: WebAssembly.Memory };
  export default function load(options: { module_or_path: string }): Promise<unknown>;
}

declare module "*/pkg/khorovod_web_import.js" {
  export function detect_system(file: string): string;
  export function systems(): string;
  export function import_file(file: string, system: string, name: string, image: string, command: string): string;
  export default function load(options: { module_or_path: string }): Promise<unknown>;
}

declare module "*/pkg/khorovod_web_timeline.js" {
  export function timeline(facts: string, job: number, scenario: string, width: number): string;
  export default function load(options: { module_or_path: string }): Promise<unknown>;
}

declare module "*/pkg/khorovod_web_keys.js" {
  export function ssh_keys(jobs: string, seed: Uint8Array): string;
  export default function load(options: { module_or_path: string }): Promise<unknown>;
}

declare module "*/pkg/khorovod_web_texts.js" {
  export function scripts(): string;
  export function codes(): string;
  export default function load(options: { module_or_path: string | BufferSource }): Promise<unknown>;
}

/** The version of khorovod and the address of its source, which vite.config.ts reads from Cargo.toml. */
declare const VERSION: string;
declare const REPOSITORY: string;
