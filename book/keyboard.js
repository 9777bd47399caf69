// Makes the book usable with a keyboard and a screen reader where mdBook 0.5 does not: blocks that scroll can be focused, and the switch
// of the table of contents has a role.
(() => {
  const focusable = () => {
    for (const code of document.querySelectorAll("pre > code")) {
      if (code.scrollWidth > code.clientWidth) code.tabIndex = 0;
      else code.removeAttribute("tabindex");
    }
  };
  document.getElementById("mdbook-sidebar-toggle")?.setAttribute("role", "button");
  focusable();
  window.addEventListener("resize", focusable);
})();
