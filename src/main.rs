//! The `khorovod` command.
fn main() {}
