// Hints of the compiler, in the words of a page.

/** Replaces advice to use the command line by what the page offers instead. */
export function inPage(hint: string): string {
  return hint
    .replaceAll(/`khorovod explain [\w.[\]-]+` lists the fields/g, "`Ctrl Space` lists the fields")
    .replaceAll(", or create one with `khorovod init`", ", or choose an example in Start from…")
    .replaceAll(/; `khorovod explain [\w-]+` shows how[^;]*/g, "; open the code of this problem to see how");
}
