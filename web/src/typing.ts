// Letters from a keyboard, straight into the editor's state. CodeMirror else lets the browser edit the page and reads from
// there what changed: a tenth of what a key takes until the preview is there. Whatever is no plain key (input methods,
// dictation, corrections, the keyboard on a touch screen) still goes that way.
import { EditorView } from "@codemirror/view";

export function typing() {
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
      // Brackets close themselves, for one.
      const taken = view.state.facet(EditorView.inputHandler).some((handle) => handle(view, from, to, data, insert));
      if (!taken) view.dispatch(insert());
      return true;
    },
  });
}
