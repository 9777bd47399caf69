//! `khorovod man`: prints or writes manual pages.

use std::fs;
use std::path::PathBuf;

use clap_mangen::Man;

use super::{Failure, Outcome, command, output};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    khorovod man | man -l -\n  \
    khorovod man --dir ~/.local/share/man/man1")]
pub struct Args {
    /// Write a page for every command into DIR
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub fn run(args: &Args) -> Outcome {
    let mut root = command();
    root.build();
    let Some(dir) = &args.dir else { return output::stdout(&page(root)?) };
    fs::create_dir_all(dir).map_err(|error| output::cannot_write(dir, &error))?;
    // `help` has no page of its own, because every page describes it.
    for child in root.get_subcommands().filter(|child| child.get_name() != "help") {
        let name = format!("khorovod-{}", child.get_name());
        output::file(&dir.join(format!("{name}.1")), &page(child.clone())?, false)?;
    }
    output::file(&dir.join("khorovod.1"), &page(root)?, false)
}

fn page(command: clap::Command) -> Result<String, Failure> {
    let mut roff = Vec::new();
    Man::new(command)
        .source(concat!("khorovod ", env!("CARGO_PKG_VERSION")))
        .render(&mut roff)
        .map_err(|error| Failure::File(format!("cannot write a manual page: {}", output::reason(&error))))?;
    Ok(String::from_utf8_lossy(&roff).into_owned())
}
