//! Reports the files that the command names, because they exist on the nodes of a Slurm cluster, but may be missing in
//! pods.

use crate::field;
use serde_json::Value as Json;

use super::Script;
use crate::launch::files::{is_on_nodes, is_relative, words};
use crate::launch::program;

/// The maximum number of files that the row of the report names.
const MOST: usize = 6;

impl Script<'_, '_, '_> {
    /// Adds one row to the report with the files that pods may lack. Relative paths are not reported if the user named
    /// an image, because these files should be in the image.
    pub fn report_files(&mut self) {
        let spec = &self.context.spec;
        let has_image = self.image.is_some() || self.context.options.image.is_some();
        let command = spec.get(field::COMMAND).and_then(program::as_text).unwrap_or_default();
        let modules = if has_image { Vec::new() } else { program::modules(&command) };
        let env = spec.get(field::ENV).and_then(Json::as_object).into_iter().flatten();
        let env: Vec<String> = env.filter_map(|(_, value)| Some(value.as_str()?.to_owned())).collect();
        let folder = spec.get(field::WORKING_DIR).and_then(Json::as_str).unwrap_or_default().to_owned();
        let of_command =
            words(&command).into_iter().filter(|word| is_on_nodes(word) || !has_image && is_relative(word));
        let of_env = env.iter().flat_map(|value| words(value)).chain([folder]).filter(|word| is_on_nodes(word));
        let mut files: Vec<String> = Vec::new();
        for file in of_command.chain(modules).chain(of_env) {
            if !files.contains(&file) {
                files.push(file);
            }
        }
        let Some(first) = files.first() else { return };
        let span = self.place(first);
        let more = if files.len() > MOST { format!(", and {} more", files.len() - MOST) } else { String::new() };
        let row = self.context.outcomes.add(files[..files.len().min(MOST)].join(", ") + &more, span);
        let how = "pods have only the files of the image and of spec.storage: build programs into the image, and mount \
                   data with spec.storage at the same path";
        self.lost(row, how);
    }
}
