// Dark or light, before anything is drawn: as the system has it, or as was chosen here.

const ORDER = ["system", "light", "dark"] as const;
type Theme = (typeof ORDER)[number];
const SIGNS: Record<Theme, string> = { system: "◐", light: "☀", dark: "☾" };

function stored(): Theme {
  try {
    const found = localStorage.getItem("theme") as Theme;
    return ORDER.includes(found) ? found : "system";
  } catch {
    return "system";
  }
}

function set(theme: Theme) {
  const root = document.documentElement;
  if (theme === "system") delete root.dataset.theme;
  else root.dataset.theme = theme;
  const button = document.getElementById("theme");
  if (!button) return;
  button.textContent = SIGNS[theme];
  button.title = `Theme: ${theme === "system" ? "as the system" : theme}`;
  button.setAttribute("aria-label", button.title);
}

set(stored());
document.getElementById("theme")?.addEventListener("click", () => {
  const next = ORDER[(ORDER.indexOf(stored()) + 1) % ORDER.length]!;
  set(next);
  try {
    localStorage.setItem("theme", next);
  } catch {
    // A browser that keeps nothing still shows it until the page is left.
  }
});
