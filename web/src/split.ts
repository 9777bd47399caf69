// The border between the spec and the result: it can be dragged, and moved with the arrow keys.
import { byId, setAttributes } from "./dom";

/** The entry of the local storage with the width of the spec. */
const KEY = "split";
/** The width of the spec in percent, without and with the user's choice. */
const DEFAULT = 45;
const LEAST = 25;
const MOST = 75;

const within = (percent: number) => Math.round(Math.min(MOST, Math.max(LEAST, percent)) * 10) / 10;

/** Makes the border movable. The storage keeps its place. */
export function makeSplit(storage: Storage | undefined) {
  const main = byId("main");
  const split = byId("split");
  let percent = DEFAULT;
  const move = (to: number) => {
    percent = within(to);
    main.style.setProperty("--spec-width", `${percent}%`);
    setAttributes(split, { "aria-valuenow": Math.round(percent) });
  };
  const keep = () => {
    try {
      storage?.setItem(KEY, String(percent));
    } catch {
      // The border moves back when the page is opened again.
    }
  };
  setAttributes(split, { "aria-valuemin": LEAST, "aria-valuemax": MOST });
  move(Number(storage?.getItem(KEY) ?? DEFAULT) || DEFAULT);
  split.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    split.setPointerCapture(event.pointerId);
  });
  split.addEventListener("pointermove", (event) => {
    if (!split.hasPointerCapture(event.pointerId)) return;
    const { left, width } = main.getBoundingClientRect();
    move(((event.clientX - left) / width) * 100);
  });
  split.addEventListener("pointerup", keep);
  split.addEventListener("dblclick", () => {
    move(DEFAULT);
    keep();
  });
  split.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -2, ArrowRight: 2 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    move(percent + step);
    keep();
  });
}
