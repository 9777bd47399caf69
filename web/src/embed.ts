// The element <khorovod-preview>, which shows the picture of a job in any page.
//
//   <script type="module" src="khorovod-preview.js"></script>
//   <khorovod-preview spec="job.yaml" view="picture"></khorovod-preview>
//
// `spec` is the text of a spec, or the address of its file. `view` is `picture`, the default.
import load, { preview, svg } from "../pkg/khorovod_web.js";
import moduleFile from "../pkg/khorovod_web_bg.wasm?url";
import { h, markup } from "./dom";
import { once } from "./once";
import { parse } from "./wire/check";
import { checkPreview } from "./wire/types";

/** The address of this script, which is beside the page. */
const ADDRESS = import.meta.url;

const loadModule = once(() => load({ module_or_path: moduleFile }));

const style = new CSSStyleSheet();
style.replaceSync(`
  :host { display: block; font-family: system-ui, sans-serif; }
  svg { display: block; width: 100%; height: auto; }
  a { color: inherit; font-size: 0.85em; }
`);

class KhorovodPreview extends HTMLElement {
  static readonly observedAttributes = ["spec", "view"];
  private readonly root = this.attachShadow({ mode: "open" });
  /** Counts the attempts to draw; an earlier one that ends late is ignored. */
  private attempts = 0;

  constructor() {
    super();
    this.root.adoptedStyleSheets = [style];
  }

  connectedCallback() {
    void this.draw();
  }

  attributeChangedCallback() {
    if (this.isConnected) void this.draw();
  }

  private async draw() {
    const attempt = ++this.attempts;
    let content: Node[];
    try {
      content = await this.content();
    } catch (error) {
      content = [h("p", { role: "alert" }, error instanceof Error ? error.message : String(error))];
    }
    if (attempt === this.attempts) this.root.replaceChildren(...content);
  }

  private async content(): Promise<Node[]> {
    const view = this.getAttribute("view") ?? "picture";
    if (view !== "picture") throw new Error(`<khorovod-preview> has no view "${view}": write view="picture".`);
    const spec = await specOf(this.getAttribute("spec") ?? "");
    await loadModule();
    const picture = svg(spec);
    if (!picture) return [h("ul", {}, ...problemsOf(spec).map((problem) => h("li", {}, ...markup(problem))))];
    const drawing = new DOMParser().parseFromString(picture, "image/svg+xml").documentElement;
    const { encodeSpec } = await import("./packed");
    const fragment = encodeSpec(spec);
    const page = new URL("./", ADDRESS).href;
    return [
      document.importNode(drawing, true),
      ...(fragment === undefined ? [] : [h("a", { href: page + fragment, target: "_top" }, "Open in the preview")]),
    ];
  }
}

/** The text of a spec, or that of the file at an address. */
async function specOf(given: string): Promise<string> {
  if (given.includes("\n")) return given;
  const response = await fetch(given);
  if (!response.ok) throw new Error(`${given}: ${response.status}`);
  return response.text();
}

/** The messages about the problems of a spec. */
function problemsOf(spec: string): string[] {
  const [json = ""] = new TextDecoder().decode(preview(spec, 0)).split("\n", 1);
  return parse(checkPreview, json).problems.map(({ message }) => message);
}

if (!customElements.get("khorovod-preview")) customElements.define("khorovod-preview", KhorovodPreview);
