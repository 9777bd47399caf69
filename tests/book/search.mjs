// Checks the results of the book's search for typical queries, with the book's index and library: search.mjs FOLDER.
import { readdirSync, readFileSync } from "node:fs";
import { createContext, runInContext } from "node:vm";

const WANTED = {
  "slots-above-gpus": "docs/problems.html#slots-above-gpus",
  startTimeout: "docs/fields.html#speclifecycle",
  ImagePullBackOff: "docs/debugging.html",
  "completions": "docs/commands.html",
  elastic: "docs/elastic.html",
  KHOROVOD_SSH_SEED: "docs/commands.html",
};

const folder = process.argv[2];
const files = readdirSync(folder);
const read = (pattern) => readFileSync(`${folder}/${files.find((file) => pattern.test(file))}`, "utf8");
// The objects that the page creates before it loads the index.
const page = createContext({ search: {} });
page.window = page;
runInContext(read(/^elasticlunr.*\.js$/), page);
runInContext(read(/^searchindex.*\.js$/), page);
const { doc_urls: urls, index, search_options } = page.search;
const engine = page.elasticlunr.Index.load(index);

let missed = 0;
for (const [words, place] of Object.entries(WANTED)) {
  const found = engine.search(words, search_options).slice(0, 20).map(({ ref }) => urls[ref]);
  if (found.some((url) => url.startsWith(place))) continue;
  missed += 1;
  console.log(`"${words}" does not lead to ${place} but to ${found.slice(0, 3).join(", ") || "nothing"}`);
}
if (engine.search("zzyzx", search_options).length) {
  missed += 1;
  console.log("the search finds what is not there");
}
console.log(`${urls.length} places indexed, ${Object.keys(WANTED).length} searches, ${missed} without the expected page`);
process.exit(missed ? 1 : 0);
