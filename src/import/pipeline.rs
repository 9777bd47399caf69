//! The steps of an import, in their order. See [`import`].

use khorovod_compiler::Text;
use khorovod_compiler::problem::{Problem, Problems, Sources, Span};

use crate::api::{Field, Imported, Options, System};
use crate::codes::{BAD_VALUE, NOTHING};
use crate::context::Context;
use crate::field_outcomes::{self, Verdict};
use crate::from::{chart, ffdl, job_set, mpi_job, openmpi, pytorch_job, slurm, tf_job, train_job};
use crate::pod::{self, volumes};
use crate::{blame, detect, launch, new_job, rendered, values};

/// Imports a job of another system: its files, and what the command line adds. Fails if a file is not for this system, or if
/// it cannot be converted to a valid job.
///
/// ```
/// # use khorovod_import as import;
/// use import::{Options, System, import};
/// use khorovod_compiler::Text;
///
/// let script = "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-node=4\n#SBATCH --exclusive\nsrun python train.py\n";
/// let script = Text { name: "job.sh".to_owned(), text: script.to_owned() };
/// let imported = import(System::Slurm, &[script], &Options::default()).unwrap();
/// assert!(imported.job.contains("replicas: 2"));
/// let exclusive = imported.fields.iter().find(|field| field.path.contains("--exclusive")).unwrap();
/// println!("{}: {} {}", exclusive.line, exclusive.verdict, exclusive.note);
/// ```
pub fn import(system: System, texts: &[Text], options: &Options) -> Result<Imported, Problems> {
    // Some editors add a byte order mark. In a script it is an error, which the importer reports.
    let bare = texts.iter().map(|text| match text.text.strip_prefix('\u{feff}') {
        Some(rest) if system != System::Slurm => Text { name: text.name.clone(), text: rest.to_owned() },
        _ => text.clone(),
    });
    let mut texts: Vec<Text> = bare.collect();
    if system == System::KubeflowOpenmpi {
        // A line may end with `\r\n`, even if it ends with a backslash that joins it to the next line.
        for text in &mut texts {
            text.text = text.text.replace("\r\n", "\n");
        }
    }
    let texts = &texts[..];
    if let Some(imported) = rendered::import(texts, options) {
        return imported;
    }
    let mut found = Problems::default();
    for text in texts {
        let source = found.sources.add(&text.name, text.text.clone());
        detect::check(system, text, Span { source, start: 0, end: text.text.len() }, &mut found.list);
    }
    one_file(system, texts, &mut found.list);
    let mut context = Context::new(options, texts);
    if let Some(line) = &options.command {
        let source = found.sources.add("--command", line.clone());
        context.typed = Some((line.clone(), Span { source, start: 0, end: line.len() }));
    }
    if !found.any_error() && system == System::Slurm {
        script(texts, options, &mut context);
    } else if !found.any_error()
        && let Some(values) = values::read(system, texts, options, &mut found)
    {
        context.outcomes.enter(&values);
        context.whole = values.span;
        match system {
            System::StableHorovod | System::ElasticHorovod => chart::read(system, &values, &mut context),
            System::KubeflowOpenmpi => openmpi::read(&values, &mut context),
            System::Ffdl => ffdl::read(&values, &mut context),
            System::MpiJob => mpi_job::read(&values, &mut context),
            System::PyTorchJob => pytorch_job::read(&values, &mut context),
            System::TfJob => tf_job::read(&values, &mut context),
            System::TrainJob => train_job::read(&values, &mut context),
            System::JobSet => job_set::read(&values, &mut context),
            System::Slurm => {}
        }
        launch::unset(&mut context, texts.first().map_or("", |text| &text.text));
        if context.outcomes.is_foreign() && context.problems.is_empty() && !values::only_headings(&values) {
            let hint = format!("it must contain {}", system.about());
            let message = "no field of this file is known";
            context.problems.push(Problem::new(&NOTHING, context.whole, message).hint(hint));
        }
    }
    let text = texts.first().map_or("", |text| &text.text);
    if system != System::Slurm {
        pod::report_user(&mut context);
        volumes::report_start_folder(&mut context, text);
    }
    launch::without_gpu(&mut context, text);
    found.list.append(&mut context.problems);
    if found.any_error() {
        return Err(found);
    }
    let (job, secrets, rows) = context.close(system, texts);
    let name = new_job::name(texts);
    let warnings = match new_job::check(&name, &job) {
        Ok(warnings) => warnings,
        Err(refused) => return Err(blame::add_problems(refused, (&name, &job), &rows, found)),
    };
    let fields = fields(rows, &found.sources);
    Ok(Imported { job, secrets, fields, warnings })
}

/// Refuses more than one file, because each file is a job of its own. Values of a chart are an exception, because Helm
/// merges them.
fn one_file(system: System, texts: &[Text], problems: &mut Vec<Problem>) {
    if let (false, Some(second)) = (matches!(system, System::StableHorovod | System::ElasticHorovod), texts.get(1)) {
        let span = Span { source: 1, start: 0, end: second.text.lines().next().map_or(0, str::len) };
        let what = if system == System::Slurm { "script" } else { "file" };
        let message = format!("one {what} is one job, but there are {}", texts.len());
        problems.push(Problem::new(&BAD_VALUE, span, message).hint("import them one at a time"));
    }
}

/// Imports a batch script. A script has no values, so `--set` is an error.
fn script(texts: &[Text], options: &Options, context: &mut Context<'_>) {
    let [text] = texts else { return };
    let span = Span { source: 0, start: 0, end: text.text.len() };
    if !options.sets.is_empty() {
        return context.refuse_at(span, "a script has no values for `--set`", "edit the script, or the imported job");
    }
    context.whole = span;
    slurm::read(&text.text, span, context);
}

/// Converts rows to fields of the report. The rows are sorted by their place in the texts, so each line end is counted
/// only once.
fn fields(rows: Vec<field_outcomes::Row>, sources: &Sources) -> Vec<Field> {
    let (mut of, mut at, mut line) = (None, 0, 0);
    let field = |row: field_outcomes::Row| {
        let source = sources.get(row.span.source);
        let text = source.map_or("", |source| source.text.as_str()).as_bytes();
        if of != Some(row.span.source) {
            (of, at, line) = (Some(row.span.source), 0, source.map_or(1, |source| source.first_line));
        }
        let start = row.span.start.min(text.len());
        line += memchr::memchr_iter(b'\n', &text[at..start]).count();
        at = start;
        let file = source.map_or_else(String::new, |source| source.name.clone());
        let verdict = row.verdict.unwrap_or(Verdict::Lost).word();
        Field { path: row.path, file, line, verdict, to: row.to, note: row.note }
    };
    rows.into_iter().map(field).collect()
}
