// Puts the characters of plain key presses straight into the editor's state.
//
// Otherwise the browser edits the page, and CodeMirror reads back from the page what changed: with one layout more, a key
// press takes 10 % longer until the new preview is shown (p95: 16 %; bench/web.md, "Speed"). Input methods, dictation,
// corrections and the keyboard of a touch screen still take that way, as they change more than the text at the cursor.
import { EditorView } from "@codemirror/view";

export function directInput() {
  const touch = matchMedia("(pointer: coarse)");
  let pressed = "";
  return EditorView.domEventHandlers({
    keydown(event) {
      pressed = event.key;
      return false;
    },
    beforeinput({ inputType, data, cancelable }, view) {
      const plain = inputType === "insertText" && data !== null && data === pressed && cancelable;
      if (!plain || view.composing || touch.matches) return false;
      const { from, to } = view.state.selection.main;
      const insert = () =>
        view.state.update(view.state.replaceSelection(data), { userEvent: "input.type", scrollIntoView: true });
      // Extensions may handle the character instead, as the one that closes brackets does.
      const handlers = view.state.facet(EditorView.inputHandler);
      const handled = handlers.some((handle) => handle(view, from, to, data, insert));
      if (!handled) view.dispatch(insert());
      return true;
    },
  });
}
