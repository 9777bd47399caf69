// The core in a thread of its own, so that no text, however long, holds up typing.
import { changes, codes, come_over, guess, initSync, preview, render, systems } from "../pkg/khorovod_web.js";

const calls = { changes, codes, come_over, guess, preview, render, systems };
export type Call = keyof typeof calls;
export type Ask = { id: number; call: Call; args: unknown[] };
export type Answer = { id: number; result?: string; error?: string; memory: number };

let memory: WebAssembly.Memory;

self.onmessage = ({ data }: MessageEvent<WebAssembly.Module | Ask>) => {
  if (data instanceof WebAssembly.Module) {
    memory = initSync({ module: data }).memory;
    return;
  }
  const answer: Answer = { id: data.id, memory: 0 };
  try {
    answer.result = (calls[data.call] as (...args: unknown[]) => string)(...data.args);
  } catch (error) {
    answer.error = String(error);
  }
  answer.memory = memory.buffer.byteLength;
  self.postMessage(answer);
};
