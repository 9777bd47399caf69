//! Rules about the texts of scripts: files of `code.files`, commands for a shell, and the setup of a batch script.

use super::Case;
use crate::job::declare::CommandLine;
use crate::problem::{Problem, Span, codes};
use crate::yaml::flow::quoted;

codes! {
    /// A file without text
    ///
    /// The file would be empty in the pods. `__init__.py` and `py.typed` may be empty, and so may hidden files.
    Warning EMPTY_FILE = "empty-file";

    /// A script with line ends of Windows
    ///
    /// Lines of the script end with CR and LF, or with CR alone. The shell reads the CR as a part of the command. The kernel reads it as
    /// a part of the interpreter's name: `bad interpreter: /bin/bash^M`. Write the script as a block after `|`: YAML removes each CR
    /// there, also if the file of the spec has line ends of Windows.
    Warning CARRIAGE_RETURN = "carriage-return";
}

pub fn check(case: &Case<'_>, problems: &mut Vec<Problem>) {
    if let Some(files) = field!(case.code.files) {
        let written = case.document.get("spec").and_then(|spec| spec.get("code")?.get("files"));
        if written.is_some_and(|files| files.entries().is_empty()) {
            let problem = Problem::new(&EMPTY_FILE, files.span, "`code.files` has no file");
            problems.push(problem.hint("add a file, as in `train.py: |`, or remove `code`"));
        }
        for (name, text) in &files.0 {
            let may_be_empty = name.0.starts_with('.') || ["__init__.py", "py.typed"].contains(&name.0.as_str());
            if text.0.trim().is_empty() && !may_be_empty {
                let problem = Problem::new(&EMPTY_FILE, text.span, format!("the file `{}` is empty", name.0));
                problems.push(problem.hint(format!("write its text as a block after `{}: |`, or remove it", name.0)));
            }
            let is_script =
                name.0.rsplit_once('.').is_some_and(|(_, ending)| ending == "sh") || text.0.starts_with("#!");
            // Only scripts are checked: a file that ends in `.sh`, or that begins with `#!`. Python accepts every kind of
            // line end.
            if is_script {
                problems.extend(carriage_return(&format!("the script `{}`", name.0), &text.0, text.span));
            }
        }
    }
    if let Some(command) = &case.body.command
        && let CommandLine::Script(text) = &command.value
    {
        problems.extend(carriage_return("the command", text, command.span));
    }
    if let Some(setup) = field!(case.slurm.setup) {
        problems.extend(carriage_return("`slurm.setup`", &setup.0, setup.span));
    }
}

fn carriage_return(what: &str, text: &str, span: Span) -> Option<Problem> {
    let ends = if text.contains("\r\n") { "CRLF" } else { "CR" };
    let problem = Problem::new(&CARRIAGE_RETURN, span, format!("the lines of {what} end with {ends}"));
    let unix = text.replace("\r\n", "\n").replace('\r', "\n");
    text.contains('\r')
        .then(|| problem.hint("end them with LF: write the text as a block after `|`").fix(span, quoted(&unix)))
}
