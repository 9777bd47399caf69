//! The `khorovod` command: reads texts and settings, calls one of the library's verbs, and shows
//! what comes back. No rule about training or Kubernetes stands here.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
