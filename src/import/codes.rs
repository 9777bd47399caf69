//! The problem codes of the importers.

use khorovod_compiler::problem::{Explained, codes};

codes! {
    /// The file is for another system
    ///
    /// You name the system when you run `khorovod import`, and this file looks like one of another system. The hint
    /// shows the command to use.
    Error OTHER_SYSTEM = "import-other-system";

    /// The file is a template
    ///
    /// Only the template's own program can fill in `{{ … }}`. Import its output: `helm get values RELEASE`, `helm
    /// template`, `ks show`.
    Error TEMPLATE = "import-template";

    /// The file is empty
    ///
    /// It contains no field that the importer can use.
    Error NOTHING = "import-nothing";

    /// A value that the old system would refuse
    ///
    /// For example a number of workers that is not a number, or a map instead of a list. Correct the old file.
    Error BAD_VALUE = "import-bad-value";
}

/// Every problem code of the importers.
pub fn codes() -> impl Iterator<Item = &'static Explained> {
    CODES.iter()
}
