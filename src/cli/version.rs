//! `khorovod version`: the version, and what it renders for by default.

use khorovod::KubeVersion;
use serde_json::json;

use super::destination::{Destination, Format};
use super::{Outcome, output};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print text (the default) or json
    #[arg(short, long, value_name = "FORMAT", value_parser = Destination::<Form>::parser())]
    output: Option<Destination<Form>>,
}

/// The format of the version.
#[derive(Debug, Clone, Copy)]
pub enum Form {
    Text,
    Json,
}

impl Format for Form {
    const ALL: &'static [(&'static str, Self)] = &[("text", Self::Text), ("json", Self::Json)];
}

/// The version of this program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

pub fn run(args: Args) -> Outcome {
    let Destination { format, path } = args.output.unwrap_or_else(Destination::stdout);
    let kubernetes = KubeVersion::default().to_string();
    let text = match format {
        Form::Text => {
            format!("khorovod {VERSION}, renders for Kubernetes {kubernetes} unless you set --kube-version\n")
        }
        Form::Json => format!("{:#}\n", json!({"version": VERSION, "kubernetes": kubernetes})),
    };
    output::text(&text, path.as_deref())
}
