// The npm package of the compiler, in a project that installs it: its types, and what it returns.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { examples, masked, render } from "./examples.mjs";
import { check, native, place, root, same, test } from "./browser.mjs";

/** The program of the consumer. It prints JSON. */
const PROGRAM = `
import { readFileSync } from "node:fs";
import { type File, type Khorovod, load, type Problem, type Report } from "khorovod-wasm";

const khorovod: Khorovod = await load();
const rendered = (process.argv[2] ?? "").split(",").map((file) => khorovod.preview(readFileSync(file, "utf8")).rendered);
const spec = readFileSync((process.argv[2] ?? "").split(",")[0] ?? "", "utf8");
const report: Report | undefined = khorovod.preview(spec).compiled?.jobs[0];
const files: File[] = khorovod.render(spec, { target: "jobset" });
const problems: Problem[] = khorovod.preview(spec.replace("gpus", "gpu")).problems;
// @ts-expect-error The types must be there: a field that does not exist is refused.
const wrong: unknown = report?.rank;
// @ts-expect-error A target that does not exist is refused.
const unknown = () => khorovod.svg(spec, { target: "nomad" });
let refused = "";
try {
  unknown();
} catch (error) {
  refused = String(error);
}
const more = spec.replace("replicas: 4", "replicas: 5");
console.log(
  JSON.stringify({
    wrong,
    rendered,
    ranks: report?.ranks,
    paths: files.map(({ path }) => path),
    text: files.map(({ text }) => text).join(""),
    fix: problems[0]?.fix?.text,
    meaning: khorovod.codes[problems[0]?.code ?? ""]?.title,
    svg: khorovod.svg(spec).slice(0, 4),
    effect: khorovod.changes(spec, more)[0]?.effect,
    secrets: khorovod.secrets(spec + "  env:\\n    AWS_SECRET_ACCESS_KEY: wJalrXUtnFEMI\\n").length,
    refused,
  }),
);
`;

test("the npm package of the compiler works in another project, with types", () => {
  const project = place();
  const run = (command, args) => execFileSync(command, args, { cwd: project, encoding: "utf8", maxBuffer: 64 << 20 });
  const packed = run(join(root, "web/npm.sh"), [project]).trim();
  writeFileSync(join(project, "package.json"), '{"private": true, "type": "module"}\n');
  run("npm", ["install", "--silent", "--offline", "--no-audit", "--no-fund", packed]);
  writeFileSync(join(project, "program.ts"), PROGRAM);
  const types = join(root, "web/node_modules/@types");
  // `skipLibCheck` is off: the package's own declarations are checked, too.
  const options = { module: "nodenext", target: "es2022", strict: true, types: ["node"], typeRoots: [types] };
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions: options, files: ["program.ts"] }));
  run(join(root, "web/node_modules/.bin/tsc"), []);
  const files = examples.map(([name]) => join(root, "examples", name, "job.yaml"));
  const smallest = join(root, "examples/smallest/job.yaml");
  const found = JSON.parse(run("node", ["program.js", [smallest, ...files].join(",")]));
  const seed = join(root, "examples/ssh.seed");
  for (const [index, [name]] of examples.entries())
    same(found.rendered[index + 1], masked(render(name, "--ssh-seed", seed)), name);
  const jobset = execFileSync(native, ["render", "--no-keys", "--target", "jobset", smallest], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  same(found.text.replaceAll("---\n", ""), jobset.toString().replaceAll("---\n", ""), "the objects of another target");
  check(
    found.paths.some((path) => path.includes("jobset")),
    found.paths.join(" "),
  );
  same(
    [found.ranks, found.fix, found.svg, found.effect, found.secrets],
    [32, "gpus", "<svg", "restarts", 1],
    "what the other functions return",
  );
  check(found.meaning && found.refused.includes('no target "nomad"'), `${found.meaning} ${found.refused}`);
  const { version } = JSON.parse(readFileSync(join(project, "node_modules/khorovod-wasm/package.json"), "utf8"));
  return `version ${version}, ${examples.length} examples`;
});
