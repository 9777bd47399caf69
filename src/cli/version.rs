//! `khorovod version`: prints the version, and the Kubernetes version for which it renders by default.

use khorovod::KubeVersion;
use serde_json::json;

use super::destination::{Destination, TextOrJson};
use super::{Outcome, output};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print text (the default) or json
    #[arg(short, long, value_name = "FORMAT", value_parser = Destination::<TextOrJson>::parser())]
    output: Option<Destination<TextOrJson>>,
}

/// The version of this program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

pub fn run(args: Args) -> Outcome {
    let Destination { format, path } = args.output.unwrap_or_else(Destination::stdout);
    let kubernetes = KubeVersion::default().to_string();
    let text = match format {
        TextOrJson::Text => {
            format!("khorovod {VERSION}, renders for Kubernetes {kubernetes} unless you set --kube-version\n")
        }
        TextOrJson::Json => format!("{:#}\n", json!({"version": VERSION, "kubernetes": kubernetes})),
    };
    output::text(&text, path.as_deref())
}
