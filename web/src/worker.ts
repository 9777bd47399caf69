// The core in a thread of its own, so that no text, however long, holds up typing.
import { changes, codes, initSync, preview, render } from "../pkg/khorovod_web.js";
import importers from "../pkg/khorovod_web_import_bg.wasm?url";

const calls = { changes, codes, preview, render };
/** What is loaded when somebody comes from another system. */
const over = async () => {
  const module = await import("../pkg/khorovod_web_import.js");
  await module.default({ module_or_path: importers });
  return module;
};
let loaded: ReturnType<typeof over> | undefined;
export type Call = keyof typeof calls | "come_over" | "guess" | "systems";
export type Ask = { id: number; call: Call; args: unknown[] };
export type Answer = { id: number; result?: string | Uint8Array; error?: string; memory: number; took: number };

let memory: WebAssembly.Memory;

self.onmessage = async ({ data }: MessageEvent<WebAssembly.Module | Ask>) => {
  if (data instanceof WebAssembly.Module) {
    memory = initSync({ module: data }).memory;
    return;
  }
  const answer: Answer = { id: data.id, memory: 0, took: 0 };
  try {
    const { call } = data;
    const known = call in calls ? calls : await (loaded ??= over());
    const start = performance.now();
    answer.result = (known as unknown as Record<Call, (...args: unknown[]) => string | Uint8Array>)[call](...data.args);
    answer.took = performance.now() - start;
  } catch (error) {
    answer.error = String(error);
  }
  answer.memory = memory.buffer.byteLength;
  self.postMessage(answer, { transfer: answer.result instanceof Uint8Array ? [answer.result.buffer] : [] });
};
