//! What the target that is asked for cannot say.

use super::Case;
use crate::problem::{Problem, Span, codes};
use crate::spec::valid::Target;

codes! {
    /// The target cannot say what the spec asks for
    ///
    /// `--target` renders a job to what an operator or another scheduler takes. Where that has no word for a
    /// field of the spec, the field is refused rather than dropped. The hint says the way out; plain objects,
    /// without `--target`, can say everything.
    Error TARGET_CANNOT = "target-cannot";
}

pub fn check(case: &Case<'_>, problems: &mut Vec<Problem>) {
    match case.spec.target {
        Target::Plain => {}
        Target::Slurm => super::slurm::check(case, problems),
        Target::MpiJob | Target::TrainJob | Target::JobSet | Target::Volcano => {
            let name = case.spec.target.name();
            refuse(case.top, &format!("`--target {name}` is not there yet"), "leave `--target` out", problems);
        }
    }
}

pub fn refuse(span: Span, message: &str, hint: &str, problems: &mut Vec<Problem>) {
    problems.push(Problem::new(&TARGET_CANNOT, span, message).hint(hint));
}
