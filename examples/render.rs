//! Renders a spec with the khorovod library: reads the file named by the first argument, then prints its objects, or the
//! problems in it.
//!
//!     cargo run --example render -- examples/smallest/job.yaml
//!
//! The library opens no file. The program reads the file, prints the result and decides where ssh keys come from.

use std::process::ExitCode;

use khorovod::{Inputs, Keys, Text, render};

fn main() -> ExitCode {
    let name = std::env::args().nth(1).unwrap_or_else(|| "job.yaml".to_owned());
    let read = std::fs::read(&name).map_err(|error| format!("{name}: {error}"));
    let text = match read.and_then(|bytes| Text::from_bytes(&name, bytes).map_err(|error| error.to_string())) {
        Ok(text) => text,
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::from(3);
        }
    };
    // Leaves out the Secret with the ssh keys, which `khorovod keygen` prints. `Keys::Seed` would derive the keys instead.
    let inputs = Inputs { keys: Keys::LeftOut, namespace: Some("ml".to_owned()), ..Inputs::default() };
    match render(&text, &inputs) {
        Ok(rendered) => {
            for document in &rendered.documents {
                eprintln!("{} {}", document.kind, document.name);
            }
            print!("{}", rendered.text);
            ExitCode::SUCCESS
        }
        Err(problems) => {
            for problem in &problems.list {
                let place = problem.labels.first().map(|label| problems.sources.position(label.span));
                let (line, column) = place.map_or((0, 0), |place| (place.line, place.column));
                eprintln!("{name}:{line}:{column}: {} ({})", problem.message, problem.code.name);
            }
            ExitCode::from(1)
        }
    }
}
