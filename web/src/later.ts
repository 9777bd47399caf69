// The parts of the page that are loaded right after the first preview, as one file, so that no later click has to wait.
import "./views.css";

export { Apply } from "./apply";
export { Details } from "./details";
export { listenForFiles } from "./files";
export { Objects } from "./objects";
export { drawPlans } from "./plan";
export { makeStartMenu } from "./start-menu";
export { WhatIf } from "./what-if";
