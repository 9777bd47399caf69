// Connects to a yaml-language-server like an editor: run.mjs BINARY SERVER.
//
// A folder contains the output of `khorovod init` and `khorovod schema`; the server finds the schema by the modeline.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [binary, server] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "khorovod-editor-"));
const khorovod = (...args) => execFileSync(binary, args, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });

/** A client of a language server. */
class Server {
  constructor() {
    this.process = spawn("node", [server, "--stdio"], { cwd: folder, stdio: ["pipe", "pipe", "inherit"] });
    this.process.stdout.on("data", (data) => this.read(data));
    this.rest = Buffer.alloc(0);
    this.waiting = new Map();
    this.diagnostics = new Map();
    this.last = 0;
    this.versions = 0;
  }

  read(data) {
    this.rest = Buffer.concat([this.rest, data]);
    for (;;) {
      const end = this.rest.indexOf("\r\n\r\n");
      if (end < 0) return;
      const length = Number(/Content-Length: (\d+)/i.exec(this.rest.subarray(0, end).toString())[1]);
      if (this.rest.length < end + 4 + length) return;
      const message = JSON.parse(this.rest.subarray(end + 4, end + 4 + length).toString());
      this.rest = this.rest.subarray(end + 4 + length);
      this.take(message);
    }
  }

  take(message) {
    if (message.method === "textDocument/publishDiagnostics") {
      const { uri, diagnostics } = message.params;
      this.diagnostics.get(uri)?.(diagnostics);
    } else if (message.method && message.id !== undefined) {
      // The server requests the editor's settings: there are none.
      const items = message.params?.items ?? [];
      this.send({ id: message.id, result: message.method === "workspace/configuration" ? items.map(() => ({})) : null });
    } else if (message.id !== undefined) {
      this.waiting.get(message.id)?.(message);
      this.waiting.delete(message.id);
    }
  }

  send(message) {
    const body = JSON.stringify({ jsonrpc: "2.0", ...message });
    this.process.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  }

  ask(method, params) {
    const id = ++this.last;
    this.send({ id, method, params });
    return within(method, new Promise((done) => this.waiting.set(id, done))).then(({ result, error }) => {
      if (error) throw new Error(`${method}: ${error.message}`);
      return result;
    });
  }

  /** Opens an existing file and returns the server's diagnostics. */
  async open(name) {
    const uri = pathToFileURL(join(folder, name)).href;
    const found = within(`diagnostics of ${name}`, new Promise((done) => this.diagnostics.set(uri, done)));
    const text = readFileSync(join(folder, name), "utf8");
    this.send({ method: "textDocument/didOpen", params: { textDocument: { uri, languageId: "yaml", version: ++this.versions, text } } });
    return { uri, text, diagnostics: await found };
  }
}

function within(what, promise) {
  let timer;
  const limit = new Promise((_, fail) => (timer = setTimeout(() => fail(new Error(`no answer: ${what}`)), 60_000)));
  return Promise.race([promise, limit]).finally(() => clearTimeout(timer));
}

/** The position of the mark `|` in a text, and the text without it. */
function marked(text) {
  const before = text.slice(0, text.indexOf("|")).split("\n");
  return { text: text.replace("|", ""), position: { line: before.length - 1, character: before.at(-1).length } };
}

let checks = 0;
function hold(what, good, found) {
  checks += 1;
  if (good) return console.log(`ok: ${what}`);
  throw new Error(`${what}; found ${JSON.stringify(found, null, 1)}`);
}

const HEAD = `# yaml-language-server: $schema=training-job.schema.json
apiVersion: khorovod.dev/v1alpha1
kind: TrainingJob
metadata:
  name: mnist
spec:
  image: ghcr.io/acme/mnist:1.4
`;

async function main(editor) {
  const workspaceFolders = [{ uri: pathToFileURL(folder).href, name: "jobs" }];
  const textDocument = { completion: { completionItem: { documentationFormat: ["markdown"] } }, hover: { contentFormat: ["markdown"] } };
  await editor.ask("initialize", { processId: process.pid, rootUri: workspaceFolders[0].uri, workspaceFolders, capabilities: { textDocument, workspace: { configuration: true } } });
  editor.send({ method: "initialized", params: {} });
  writeFileSync(join(folder, "training-job.schema.json"), khorovod("schema"));

  const lessons = [...khorovod("init", "--help").split("Lessons:")[1].split("\n\n")[0].matchAll(/^\s+--(\w+) /gm)].map((found) => found[1]);
  hold("init has examples", lessons.length > 10, lessons);
  for (const lesson of lessons) {
    khorovod("init", "mine", `--${lesson}`, "-o", `${lesson}.yaml`);
    const { diagnostics } = await editor.open(`${lesson}.yaml`);
    hold(`init --${lesson} has no problem in an editor`, diagnostics.length === 0, diagnostics);
  }

  // One mistake of each kind: the text at its location, and the message.
  const wrong = `${HEAD}  command: [python]
  workers: {replicas: 0, gpu: 8}
  launcher: {kind: mpirum}
  lifecycle: {deadline: 5}
  runTag: 2
`;
  writeFileSync(join(folder, "wrong.yaml"), wrong);
  const { diagnostics } = await editor.open("wrong.yaml");
  const at = ({ range: { start, end } }) => wrong.split("\n")[start.line].slice(start.character, end.character);
  const said = diagnostics.map((one) => `${at(one)}: ${one.message}`);
  for (const [place, words] of [["0", "minimum"], ["gpu", "not allowed"], ["mpirum", "mpirun"], ["2", "string"]]) {
    hold(`\`${place}\` is marked in an editor`, said.some((line) => line.startsWith(`${place}: `) && line.includes(words)), said);
  }
  writeFileSync(join(folder, "lacking.yaml"), HEAD);
  const lacking = await editor.open("lacking.yaml");
  hold("a missing field is named", lacking.diagnostics.some((one) => one.message.includes("workers")), lacking.diagnostics);

  const complete = async (name, text) => {
    const here = marked(text);
    writeFileSync(join(folder, name), here.text);
    const { uri } = await editor.open(name);
    const found = await editor.ask("textDocument/completion", { textDocument: { uri }, position: here.position });
    return found.items ?? found;
  };
  const fields = await complete("fields.yaml", `${HEAD}  command: [python]\n  workers:\n    replicas: 4\n    |\n`);
  const labels = fields.map((item) => item.label);
  hold("completion offers the fields of workers", ["gpus", "slotsPerWorker", "shm", "rdma"].every((name) => labels.includes(name)), labels);
  hold("… and not one that is there", !labels.includes("replicas"), labels);
  const gpus = fields.find((item) => item.label === "gpus");
  hold("… with what they mean", JSON.stringify(gpus.documentation ?? "").includes("GPU"), gpus);
  const kinds = await complete("kinds.yaml", `${HEAD}  command: [python]\n  launcher:\n    kind: |\n  workers: {replicas: 4}\n`);
  const names = kinds.map((item) => item.label);
  const launchers = ["mpirun", "horovodrun", "torchrun", "jax", "tensorflow", "deepspeed", "shell"];
  hold("completion offers the kinds of launchers", launchers.every((name) => names.includes(name)), names);

  const point = marked(`${HEAD}  command: [python]\n  workers:\n    rep|licas: 4\n`);
  writeFileSync(join(folder, "hover.yaml"), point.text);
  const { uri } = await editor.open("hover.yaml");
  const hover = await editor.ask("textDocument/hover", { textDocument: { uri }, position: point.position });
  const about = execFileSync(binary, ["explain", "workers.replicas"], { encoding: "utf8" }).split("\n")[2];
  const shown = typeof hover?.contents === "string" ? hover.contents : (hover?.contents?.value ?? "");
  // The server escapes characters that Markdown would interpret.
  hold("hover shows the same as explain", shown.replace(/\\([^\w\s])/g, "$1").includes(about), { hover, about });

  await editor.ask("shutdown");
  editor.send({ method: "exit" });
}

const editor = new Server();
try {
  await main(editor);
  console.log(`editor: ${checks} checks`);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  editor.process.kill();
  rmSync(folder, { recursive: true, force: true });
}
