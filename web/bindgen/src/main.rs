//! Makes the JavaScript that calls a WebAssembly module, with its types, as `wasm-bindgen --target web` does. The command of
//! wasm-bindgen has the same library, but also a test runner with an HTTP server, which takes most of its compilation.
//!
//!     khorovod-web-bindgen FOLDER NAME=MODULE…

use std::process::ExitCode;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(folder) = arguments.next() else {
        eprintln!("usage: khorovod-web-bindgen FOLDER NAME=MODULE…");
        return ExitCode::from(2);
    };
    for argument in arguments {
        let Some((name, module)) = argument.split_once('=') else {
            eprintln!("`{argument}` is not NAME=MODULE");
            return ExitCode::from(2);
        };
        let mut bindgen = Bindgen::new();
        let made = bindgen.web(true).and_then(|bindgen| {
            bindgen
                .input_path(module)
                .out_name(name)
                .typescript(true)
                .remove_name_section(true)
                .remove_producers_section(true)
                .generate(&folder)
        });
        if let Err(error) = made {
            eprintln!("{module}: {error:?}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
