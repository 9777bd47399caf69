// Runs all cases, or those whose name contains the word given.
import { run } from "./browser.mjs";
// Measurements come first, so that no other case influences them.
import "./speed.mjs";
import "./editing.mjs";
import "./problems.mjs";
import "./examples.mjs";
import "./import.mjs";
import "./picture.mjs";
import "./timeline.mjs";
import "./what-if.mjs";
import "./embed.mjs";
import "./output.mjs";
import "./offline.mjs";
import "./large.mjs";
import "./appearance.mjs";

await run(process.argv[2]);
process.exit();
