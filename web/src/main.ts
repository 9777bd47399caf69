// The entry point of the page.
import { Page } from "./page";

void new Page().start();
