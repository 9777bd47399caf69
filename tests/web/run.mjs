// All cases, or those whose name has the word given.
import { run } from "./browser.mjs";
// Time is taken first: after the minutes of the other cases a key takes longer.
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
