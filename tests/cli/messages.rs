//! The output formats of problems: for people, with and without colour, and for programs.

use std::fs;

use super::common::{JOB, SEED, khorovod, place};
use super::{piped, run};

#[test]
fn escapes_in_the_input_do_not_reach_the_terminal() {
    let place = place();
    for evil in ["a\u{1b}]0;x\u{7}b", "a\u{9b}31mb", "a\u{202e}b", "\\e[31m"] {
        let text = JOB.replace("name: mnist", &format!("name: \"{evil}\"")).replace("gpus", "gp\u{7f}us");
        for args in [&["render"][..], &["plan"], &["validate"], &["validate", "-o", "github"]] {
            let (code, out, err) = piped(khorovod(place.path()).args(args).env("KHOROVOD_SSH_SEED", SEED), &text);
            assert_eq!(code, 1);
            let shown = format!("{out}{err}");
            let bad = shown.chars().find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
            assert_eq!(bad, None, "{args:?}: {shown}");
        }
    }
    fs::write(place.path().join("e\u{1b}[31m.yaml"), "x").unwrap();
    for args in [["render", "e\u{1b}[31m.yaml"], ["render", "no\u{1b}[31m.yaml"], ["explain", "\u{1b}[31m"]] {
        let (_, _, err) = run(khorovod(place.path()).args(args));
        assert!(!err.contains('\u{1b}'), "{err}");
    }
}

#[test]
fn a_secret_in_a_spec_is_not_repeated() {
    let place = place();
    let text = format!("{JOB}  env: {{DB_PASSWORD: hunter2-hunter2}}\n");
    for format in ["text", "json", "github", "sarif"] {
        let (_, out, err) = piped(khorovod(place.path()).args(["validate", "-o", format]), &text);
        assert!(format!("{out}{err}").contains("DB_PASSWORD"), "{out}{err}");
        assert!(!format!("{out}{err}").contains("hunter2"), "{out}{err}");
    }
}

#[test]
fn a_mistake_of_an_overlay_is_reported_once() {
    let place = place();
    fs::write(place.path().join("one.yaml"), JOB).unwrap();
    fs::write(place.path().join("two.yaml"), JOB.replace("mnist", "other")).unwrap();
    fs::write(place.path().join("place.yaml"), "spec: {workers: {gpuz: 8}}\n").unwrap();
    for (format, mark) in [("text", "--> place.yaml"), ("github", "::error"), ("json", "\"code\""), ("sarif", "ruleId")]
    {
        let args = ["validate", "-o", format, "--overlay", "place.yaml", "one.yaml", "two.yaml"];
        let (code, out, err) = run(khorovod(place.path()).args(args));
        assert_eq!((code, format!("{out}{err}").matches(mark).count()), (1, 1), "{out}{err}");
    }
    // The same problem in two specs is reported twice.
    let (_, _, err) =
        piped(khorovod(place.path()).args(["validate"]), &format!("{JOB}  typo: 1\n---\n{JOB}  typo: 1\n"));
    assert!(err.contains("\nerror: 2 errors;"), "{err}");
}

#[test]
fn warnings_are_errors_if_strict() {
    let place = place();
    let text = JOB.replace(":1.4", "");
    let render =
        |args: &[&str]| piped(khorovod(place.path()).arg("render").args(args).env("KHOROVOD_SSH_SEED", SEED), &text);
    let (code, out, err) = render(&[]);
    assert!(code == 0 && out.contains("StatefulSet") && err.contains("warning[image-unpinned]"), "{err}");
    assert!(err.contains("1 warning"), "{err}");
    assert_eq!(render(&["-q"]).2, "");
    let (code, out, err) = render(&["--strict"]);
    assert!(code == 1 && out.is_empty() && err.contains("error[image-unpinned]"), "{err}");
}

#[test]
fn colour_depends_on_options_and_variables() {
    let place = place();
    let bad = JOB.replace("gpus", "gpsu");
    let err = |args: &[&str], env: (&str, &str)| {
        piped(khorovod(place.path()).arg("validate").args(args).env(env.0, env.1), &bad).2
    };
    assert!(err(&["--color", "always"], ("A", "")).contains("\u{1b}["));
    assert!(err(&[], ("CLICOLOR_FORCE", "1")).contains("\u{1b}["));
    for plain in [err(&[], ("A", "")), err(&[], ("NO_COLOR", "1")), err(&["--color", "never"], ("CLICOLOR_FORCE", "1"))]
    {
        assert!(!plain.contains('\u{1b}'), "{plain}");
    }
}

#[test]
fn validate_has_formats_for_programs() {
    let place = place();
    fs::write(place.path().join("bad.yaml"), JOB.replace("gpus", "gpsu")).unwrap();
    let validate = |args: &[&str]| run(khorovod(place.path()).arg("validate").args(args).arg("bad.yaml"));
    let (code, out, err) = validate(&["-o", "github"]);
    assert_eq!((code, err.as_str()), (1, ""));
    assert!(
        out.starts_with("::error file=bad.yaml,line=8,endLine=8,col=26,endColumn=29,title=unknown-field::"),
        "{out}"
    );
    for (file, pointer) in [("found.json", "/problems/0/code"), ("found.sarif", "/runs/0/results/0/ruleId")] {
        let (code, out, _) = validate(&["-o", file]);
        assert_eq!((code, out.as_str()), (1, ""));
        let text = fs::read_to_string(place.path().join(file)).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value.pointer(pointer), Some(&"unknown-field".into()));
    }
}
