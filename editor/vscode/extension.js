// The extension for VS Code: problems and fixes of training specs, and a picture of the job beside its spec.
//
// The compiler is the WebAssembly module of the preview page. Specs stay in the editor's process; nothing is sent anywhere.
const { readFile } = require("node:fs/promises");
const { join } = require("node:path");
const { pathToFileURL } = require("node:url");
const vscode = require("vscode");

/** A document that has a TrainingJob, as the command recognises one. */
const SPEC = /^apiVersion:\s*["']?khorovod\.dev\//m;
const SEVERITIES = { error: 0, warning: 1, note: 2 };
/** Waits for this long after a keystroke, in milliseconds. */
const PAUSE = 150;

/** Loads the compiler: a module with the functions of `web/wasm`. */
async function load(folder) {
  const compiler = await import(pathToFileURL(join(folder, "compiler/khorovod_web.mjs")).href);
  compiler.initSync({ module: await readFile(join(folder, "compiler/khorovod_web_bg.wasm")) });
  return compiler;
}

/** Returns the problems of a spec: the first line of what `preview` returns is JSON. */
function problemsOf(compiler, text) {
  const answer = Buffer.from(compiler.preview(text, 0));
  return JSON.parse(answer.subarray(0, answer.indexOf("\n")).toString("utf8")).problems;
}

function diagnostic(document, problem) {
  const range = ({ from, to }) => new vscode.Range(document.positionAt(from), document.positionAt(to));
  const [main, ...others] = problem.labels;
  const message = problem.hint ? `${problem.message}\n${problem.hint}` : problem.message;
  const found = new vscode.Diagnostic(main ? range(main) : new vscode.Range(0, 0, 0, 0), message, SEVERITIES[problem.severity]);
  found.code = problem.code;
  found.source = "khorovod";
  const related = ({ text, ...place }) =>
    new vscode.DiagnosticRelatedInformation(new vscode.Location(document.uri, range(place)), text);
  found.relatedInformation = others.map(related);
  return { found, fix: problem.fix && { range: range(problem.fix), text: problem.fix.text } };
}

/** The fix of a problem, as the editor offers it. */
function quickFix(document, { found, fix }) {
  const title = fix.text.trim() ? `khorovod: write \`${fix.text.trim()}\`` : "khorovod: remove this";
  const action = new vscode.CodeAction(title, vscode.CodeActionKind.QuickFix);
  action.diagnostics = [found];
  action.isPreferred = true;
  action.edit = new vscode.WorkspaceEdit();
  action.edit.replace(document.uri, fix.range, fix.text);
  return action;
}

const escaped = (text) => text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);

/** The page beside the spec. It runs no scripts. */
function page(picture, problems) {
  const list = problems.map(({ severity, message }) => `<li><b>${severity}</b>: ${escaped(message)}</li>`).join("");
  const body = picture || `<p>The picture appears here as soon as the spec has no errors.</p>`;
  const policy = `default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:`;
  return `<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>khorovod preview</title><style>svg { width: 100%; height: auto } body { padding: 1em }</style></head>
<body><main>${body}<ul>${list}</ul></main></body></html>`;
}

exports.activate = async function (context) {
  const compiler = await load(context.extensionPath);
  const marks = vscode.languages.createDiagnosticCollection("khorovod");
  const all = new Map();
  const panels = new Map();
  const timers = new Map();

  const isSpec = (document) => document.languageId === "yaml" && SPEC.test(document.getText());

  function update(document) {
    if (document.languageId !== "yaml") return;
    const text = document.getText();
    const problems = SPEC.test(text) ? problemsOf(compiler, text) : [];
    const places = problems.map((problem) => diagnostic(document, problem));
    all.set(document.uri.toString(), places);
    marks.set(document.uri, places.map(({ found }) => found));
    const panel = panels.get(document.uri.toString());
    if (panel) panel.webview.html = page(compiler.svg(text), problems);
  }

  function soon(document) {
    const key = document.uri.toString();
    clearTimeout(timers.get(key));
    timers.set(key, setTimeout(() => update(document), PAUSE));
  }

  // The editor gives copies of diagnostics to this function, without their fixes.
  const fixes = {
    provideCodeActions: (document, range) =>
      (all.get(document.uri.toString()) ?? [])
        .filter(({ found, fix }) => fix && found.range.intersection(range))
        .map((problem) => quickFix(document, problem)),
  };

  const showButton = (editor) =>
    vscode.commands.executeCommand("setContext", "khorovod.isSpec", Boolean(editor && isSpec(editor.document)));

  function show() {
    const document = vscode.window.activeTextEditor?.document;
    if (!document || !isSpec(document)) {
      void vscode.window.showWarningMessage("The file is not a training spec: it has no `apiVersion: khorovod.dev/v1alpha1`.");
      return;
    }
    const key = document.uri.toString();
    let panel = panels.get(key);
    if (panel) panel.reveal(vscode.ViewColumn.Beside, true);
    else {
      const column = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
      panel = vscode.window.createWebviewPanel("khorovod", `Preview: ${document.uri.path.split("/").pop()}`, column, {});
      panels.set(key, panel);
      panel.onDidDispose(() => panels.delete(key));
    }
    update(document);
  }

  context.subscriptions.push(
    marks,
    vscode.commands.registerCommand("khorovod.preview", show),
    vscode.languages.registerCodeActionsProvider("yaml", fixes, { providedCodeActionKinds: [vscode.CodeActionKind.QuickFix] }),
    vscode.workspace.onDidOpenTextDocument(update),
    vscode.workspace.onDidChangeTextDocument(({ document }) => soon(document)),
    vscode.workspace.onDidCloseTextDocument((document) => {
      clearTimeout(timers.get(document.uri.toString()));
      all.delete(document.uri.toString());
      marks.delete(document.uri);
    }),
    vscode.window.onDidChangeActiveTextEditor(showButton),
  );
  vscode.workspace.textDocuments.forEach(update);
  await showButton(vscode.window.activeTextEditor);
};
