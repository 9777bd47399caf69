// Dark or light colors, set before the page is drawn: those of the system, or those that the user chose.

const THEMES = ["system", "light", "dark"] as const;
type Theme = (typeof THEMES)[number];
const ICONS: Record<Theme, string> = { system: "◐", light: "☀", dark: "☾" };
const KEY = "theme";

function storedTheme(): Theme {
  try {
    const stored = localStorage.getItem(KEY);
    return THEMES.find((theme) => theme === stored) ?? "system";
  } catch {
    return "system";
  }
}

function setTheme(theme: Theme) {
  const root = document.documentElement;
  if (theme === "system") delete root.dataset.theme;
  else root.dataset.theme = theme;
  const button = document.getElementById("theme");
  if (!button) return;
  button.textContent = ICONS[theme];
  button.title = `Theme: ${theme === "system" ? "as the system" : theme}`;
  button.setAttribute("aria-label", button.title);
}

setTheme(storedTheme());
document.getElementById("theme")?.addEventListener("click", () => {
  const next = THEMES[(THEMES.indexOf(storedTheme()) + 1) % THEMES.length] ?? "system";
  setTheme(next);
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // The browser stores nothing for this page: the theme lasts until the page is closed.
  }
});
