// Offers what a user can start from: the list of examples and drafts in the header, and the cards of an empty page.
import { byId, h, markup } from "./dom";
import { type Drafts, titlesOf } from "./drafts";
import { type Example, summaryOf } from "./examples";

/** The examples that an empty page offers. */
const FIRST_EXAMPLES = ["smallest", "torchrun", "elastic", "self-healing", "deepspeed", "s3"];

interface Actions {
  loadExample: (example: Example) => void;
  loadEmpty: () => void;
  continueDraft: (id: string) => void;
}

/** Fills the list and the empty page. */
export function makeStartMenu(examples: Example[], drafts: Drafts, actions: Actions) {
  fillList(examples, drafts, actions);
  const cards = FIRST_EXAMPLES.flatMap((wanted) => {
    const example = examples.find(({ name }) => name === wanted);
    if (!example) return [];
    const onclick = () => actions.loadExample(example);
    const summary = h("span", {}, ...markup(summaryOf(example.spec)));
    return [h("button", { type: "button", class: "card", onclick }, h("strong", {}, example.name), " ", summary)];
  });
  const button = (text: string, id: string) => h("button", { type: "button", onclick: () => byId(id).click() }, text);
  byId("start").append(
    h("h2", {}, "Start from an example"),
    h("div", { class: "cards" }, ...cards),
    h("h2", {}, "Or from what you have"),
    h(
      "div",
      { class: "buttons" },
      button("Open a spec…", "open-file"),
      button("Import a job of another system…", "import-open"),
    ),
  );
}

function fillList(examples: Example[], drafts: Drafts, actions: Actions) {
  const select = byId("examples", HTMLSelectElement);
  select.append(...examples.map(({ name, spec }) => h("option", { value: name }, `${name} – ${summaryOf(spec)}`)));
  const group = h("optgroup", { label: "Your drafts in this browser" });
  const listDrafts = () => {
    drafts.flush();
    const all = drafts.others();
    const titles = titlesOf(all, Date.now());
    group.replaceChildren(...all.map(({ id }, index) => h("option", { value: `draft ${id}` }, titles[index] ?? "")));
    // Behind the name of the list, before the examples.
    if (all.length) select.options[0]?.after(group);
    else group.remove();
  };
  listDrafts();
  // Before the list opens: other tabs may have stored drafts.
  select.addEventListener("pointerdown", listDrafts);
  select.addEventListener("focus", listDrafts);
  select.addEventListener("change", () => {
    const { value } = select;
    select.value = "";
    const example = examples.find(({ name }) => name === value);
    if (value.startsWith("draft ")) actions.continueDraft(value.slice("draft ".length));
    else if (example) actions.loadExample(example);
    else if (value) actions.loadEmpty();
  });
}
