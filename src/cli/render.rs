//! `khorovod render`: turns specs into objects.

use std::collections::HashMap;

use khorovod::import::with_import_hint;
use khorovod::problem::Problems;
use khorovod::{Document, Inputs, Rendered, Text};

use super::destination::{Destination, YamlOrJson};
use super::seed::Seed;
use super::show::Screen;
use super::{Failure, Outcome, folder, input, output};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    khorovod render job.yaml | kubectl apply -f -\n  \
    khorovod render --overlay prod.yaml --set workers.replicas=8 job.yaml\n  \
    khorovod render -o out/ job.yaml        # one file per object\n    \
    kubectl apply -R -f out/              #   applies everything\n    \
    kubectl delete -f out/                #   keeps storage (out/claims/)\n  \
    helm template chart | khorovod render - | kubectl apply -f -\n\n\
    Other documents pass through unchanged, byte for byte. If there is an error,\n\
    nothing is written.")]
pub struct Args {
    #[command(flatten)]
    input: input::Args,
    /// Print yaml (the default) or json (one List), or write to a file. If the path ends in `/` or is a
    /// folder, write one file per object, and those of claims into `claims/` in it: `kubectl apply -R -f DIR` applies
    /// all, and `kubectl delete -f DIR` keeps the claims. The whole folder is replaced, so render all its jobs at once
    #[arg(short, long, value_name = "FORMAT|FILE|DIR/", value_parser = Destination::<YamlOrJson>::parser())]
    output: Option<Destination<YamlOrJson>>,
}

pub fn run(args: Args, screen: &Screen) -> Outcome {
    let Destination { format, path: output } = args.output.unwrap_or_else(Destination::stdout);
    args.input.refuse_overwrite(output.as_deref())?;
    let texts = args.input.texts(screen)?;
    let settings = &args.input.settings;
    let seed = Seed::of(settings, screen)?;
    if let ([text], YamlOrJson::Yaml, None, false) = (texts.as_slice(), format, &output, seed.is_new()) {
        let inputs = Inputs { keys: seed.keys(), ..settings.inputs(screen)? };
        // The output is written while it is rendered, so that 10,000 jobs need no more memory than one. The library
        // passes no text before all documents are checked.
        return output::stream(screen, |write| {
            khorovod::render_to(text, &inputs, write).map_err(|problems| with_import_hint(problems, text))
        });
    }
    let rendered = with_seed(&texts, settings.inputs(screen)?, &seed, screen)?;
    screen.problems(rendered.iter().map(|rendered| &rendered.warnings));
    match output {
        _ if format == YamlOrJson::Json => {
            let private = rendered.iter().any(has_secret);
            let list = list(rendered, screen)?;
            match output {
                Some(path) => output::file(&path, &list, private),
                None => output::stdout(&list),
            }
        }
        Some(path) if folder::is_folder(&path) => {
            for job in folder::write(&path, &rendered)? {
                screen.notice(&format!("removed the objects of {job} from {}", path.display()));
            }
            Ok(())
        }
        Some(path) => {
            let private = rendered.iter().any(has_secret);
            output::file(&path, &joined(rendered), private)
        }
        None => output::stdout(&joined(rendered)),
    }
}

/// Renders with the keys of a seed. A new seed is saved before any output that derives from it is written, and only if there
/// is such output.
pub fn with_seed(texts: &[Text], mut inputs: Inputs, seed: &Seed, screen: &Screen) -> Result<Vec<Rendered>, Failure> {
    inputs.keys = seed.keys();
    let rendered = all(texts, &inputs, screen)?;
    if !seed.is_new() || !rendered.iter().any(has_secret) {
        return Ok(rendered);
    }
    let saved = seed.save(screen);
    if saved.as_ref() == Some(seed) {
        return Ok(rendered);
    }
    // The new seed was not saved. If another process saved a seed first, use that seed. If the seed cannot be saved,
    // there are no keys.
    inputs.keys = saved.map_or(khorovod::Keys::Missing, |seed| seed.keys());
    all(texts, &inputs, screen)
}

/// Renders every text, or prints the problems of all of them.
pub fn all(texts: &[Text], inputs: &Inputs, screen: &Screen) -> Result<Vec<Rendered>, Failure> {
    let (mut rendered, mut problems): (Vec<Rendered>, Vec<Problems>) = (Vec::new(), Vec::new());
    for text in texts {
        match khorovod::render(text, inputs) {
            Ok(one) => rendered.push(one),
            Err(found) => problems.push(with_import_hint(found, text)),
        }
    }
    if problems.is_empty() {
        return match duplicate(texts, &rendered) {
            Some(both) => {
                let way_out = "rename one of the jobs, or render the files one at a time";
                screen.error(&format!("{both}, so one would overwrite the other; {way_out}"));
                Err(Failure::Problems)
            }
            None => Ok(rendered),
        };
    }
    screen.problems(rendered.iter().map(|rendered| &rendered.warnings).chain(&problems));
    Err(Failure::Problems)
}

/// Finds an object that two files contain, so that one would overwrite the other in the cluster. If one file contains
/// an object twice, the library reports it, with its location.
pub fn duplicate(texts: &[Text], rendered: &[Rendered]) -> Option<String> {
    let mut seen = HashMap::new();
    for (text, one) in texts.iter().zip(rendered) {
        for document in one.documents.iter().filter(|document| !document.is_foreign()) {
            let object = (document.kind, &document.namespace, &document.name);
            if let Some(first) = seen.insert(object, &text.name) {
                let Document { kind, name, .. } = document;
                return Some(format!("{first} and {} both contain the {kind} {name}", text.name));
            }
        }
    }
    None
}

/// The objects as one List in JSON, which kubectl accepts.
fn list(rendered: Vec<Rendered>, screen: &Screen) -> Result<String, Failure> {
    if rendered.iter().flat_map(|rendered| &rendered.documents).any(Document::is_script) {
        return Err(Failure::Usage("this target renders a script, which is not JSON; leave out -o json".to_owned()));
    }
    let text = Text { name: "the output".to_owned(), text: joined(rendered) };
    let items = khorovod::documents(&text).map_err(|problems| {
        screen.problems([&problems]);
        Failure::Problems
    })?;
    Ok(format!("{:#}\n", serde_json::json!({ "apiVersion": "v1", "kind": "List", "items": items })))
}

/// Whether the output contains a Secret.
fn has_secret(rendered: &Rendered) -> bool {
    rendered.documents.iter().any(|document| document.kind == "Secret")
}

/// Joins all outputs to one stream. A single output is not copied.
pub fn joined(rendered: Vec<Rendered>) -> String {
    let mut stream = String::new();
    for Rendered { text, .. } in rendered {
        if stream.is_empty() {
            stream = text;
            continue;
        }
        if !stream.ends_with('\n') {
            stream.push('\n');
        }
        if !text.starts_with("---") {
            stream.push_str("---\n");
        }
        stream.push_str(&text);
    }
    stream
}
