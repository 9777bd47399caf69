// All cases, or those whose name has the word given.
import { run } from "./browser.mjs";
// First what is timed, so that as little as can be was run before it.
import "./speed.mjs";
import "./writing.mjs";
import "./problems.mjs";
import "./examples.mjs";
import "./import.mjs";
import "./out.mjs";
import "./alone.mjs";
import "./large.mjs";
import "./looks.mjs";

await run(process.argv[2]);
process.exit();
