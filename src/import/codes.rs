//! The problem codes of the importers.

use khorovod_compiler::problem::{Code, codes};

codes! {
    /// The file is of another system
    ///
    /// `khorovod import` is told which system a file is from, and this one looks like another's. The hint names the
    /// command for it.
    Error OTHER_SYSTEM = "import-other-system";

    /// The file is a template
    ///
    /// What stands in `{{ … }}` is known only to the program that fills it in. Import what it makes: `helm get values
    /// RELEASE`, `helm template`, `ks show`.
    Error TEMPLATE = "import-template";

    /// The file says nothing
    ///
    /// There is nothing in it that a job could be made of.
    Error NOTHING = "import-nothing";

    /// A value that the old system would not take
    ///
    /// A number of workers that is no number, a map where a list belongs. The job would be a guess; correct the old file.
    Error BAD_VALUE = "import-bad-value";
}

/// Every problem code of the importers.
pub fn codes() -> impl Iterator<Item = &'static Code> {
    CODES.iter().copied()
}
