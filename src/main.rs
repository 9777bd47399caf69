//! The `khorovod` command: it reads files and options, calls one function of the library, and prints the result. It contains
//! no rule about training or Kubernetes.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
