// Runs all cases, or those whose name contains the word given. With ONLY=main or BROWSER=firefox, runs only the main ones.
import { isFirefox, run } from "./browser.mjs";
// Measurements come first, so that no other case influences them.
import "./speed.mjs";
import "./editing.mjs";
import "./problems.mjs";
import "./examples.mjs";
import "./import.mjs";
import "./picture.mjs";
import "./timeline.mjs";
import "./what-if.mjs";
import "./compare.mjs";
import "./social.mjs";
import "./embed.mjs";
import "./npm.mjs";
import "./output.mjs";
import "./offline.mjs";
import "./large.mjs";
import "./appearance.mjs";

/**
 * The starts of the names of the main cases: writing, completing, fixing, importing, and each view. They also run in Firefox;
 * cases that use a clipboard, emulate a touch screen or a colour scheme, or measure something need Chromium.
 */
const MAIN = [
  "a job is written in an empty editor",
  "completion offers the missing fields",
  "the page can be used by keyboard alone",
  "a draft is never lost",
  "a fix can be applied",
  "a pasted file becomes the job",
  "each part of the picture",
  "each button of the timeline",
  "an address names an example",
  "objects are a tree",
  "unchanged lines",
];
const isMain = isFirefox || process.env.ONLY === "main";
// The main cases measure nothing and share no clipboard, so several can run at the same time.
await run(process.argv[2], isMain ? MAIN : undefined, isMain && !isFirefox ? 3 : 1);
process.exit();
