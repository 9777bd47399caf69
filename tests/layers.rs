//! The layers of the source code: no import cycle between modules, each phase of the compiler uses only the phases before
//! it, and nothing outside `src/cli` reads files, the environment or a clock. The last test refuses some words in names.
//!
//! The modules are parsed with `syn`. A module uses another if a path in it, in a `use`, an expression, a type or the
//! tokens of a macro, resolves to an item of the other. At each level of the module tree the modules with one parent are
//! the nodes of a graph, and what a module uses counts for all the modules that contain it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};

/// The phases of the compiler. Each may use those before it.
const LAYERS: &[&str] = &[
    "problem",
    "yaml",
    "shell",
    "job",
    "plan",
    "pods",
    "timeline",
    "report",
    "kubernetes",
    "targets",
    "api",
    "pipeline",
];

/// Crates and modules that touch nothing outside: everything below `src` except the command.
const PURE: &[&str] = &["khorovod_compiler", "khorovod_import", "khorovod::picture", "khorovod::show"];

/// The modules of `std` that reach outside.
const OUTSIDE: &[&str] = &["fs", "env", "io", "net", "os", "process", "thread", "time"];

/// Crates that reach outside.
const OUTSIDE_CRATES: &[&str] = &["getrandom", "tempfile", "anstream", "clap", "clap_complete", "clap_mangen"];

/// Macros that print.
const PRINTS: &[&str] = &["print", "println", "eprint", "eprintln", "dbg"];

/// The only module that may use threads; its documentation gives the reason.
const THREADS: &str = "khorovod_compiler::pipeline::parallel";

/// Crates, by the file of their root.
const CRATES: &[(&str, &str)] = &[
    ("khorovod_compiler", "src/compiler/lib.rs"),
    ("khorovod_import", "src/import/lib.rs"),
    ("khorovod", "src/lib.rs"),
    ("khorovod_command", "src/main.rs"),
];

/// A path as segments, starting with the name of a crate when it is absolute.
type Segments = Vec<String>;

/// One module: what it declares, and every path written in it.
#[derive(Default)]
struct Module {
    file: PathBuf,
    children: BTreeSet<String>,
    /// Names that a `use` brings in, and the paths they stand for.
    names: BTreeMap<String, Segments>,
    /// The modules of `use module::*`.
    globs: Vec<Segments>,
    /// Paths of `use`, and of everything else.
    paths: Vec<Segments>,
    /// Names of macros that are called.
    macros: BTreeSet<String>,
}

/// All modules of all crates, by their absolute paths.
#[derive(Default)]
struct Source(BTreeMap<Segments, Module>);

/// Collects what a module writes, without its inline modules and its tests.
struct Collector<'a>(&'a mut Module);

fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let is = |name: &str| attribute.path().is_ident(name);
        let words = match &attribute.meta {
            syn::Meta::List(list) => list.tokens.to_string(),
            _ => String::new(),
        };
        is("test") || is("cfg") && words == "test"
    })
}

impl<'ast> Visit<'ast> for Collector<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let attributes = match item {
            // Read from its own file, or by `Source::add`.
            syn::Item::Mod(_) => return,
            syn::Item::Fn(item) => &item.attrs,
            syn::Item::Use(item) => &item.attrs,
            syn::Item::Impl(item) => &item.attrs,
            syn::Item::Const(item) => &item.attrs,
            syn::Item::Static(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        if !is_test(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.import(&item.tree, &mut Vec::new());
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.0.paths.push(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        self.0.macros.extend(called.path.segments.last().map(|segment| segment.ident.to_string()));
        self.tokens(called.tokens.clone());
        visit::visit_macro(self, called);
    }
}

impl Collector<'_> {
    fn import(&mut self, tree: &syn::UseTree, path: &mut Segments) {
        let depth = path.len();
        match tree {
            syn::UseTree::Path(step) => {
                path.push(step.ident.to_string());
                self.import(&step.tree, path);
            }
            syn::UseTree::Group(group) => group.items.iter().for_each(|item| self.import(item, path)),
            syn::UseTree::Glob(_) => self.0.globs.push(path.clone()),
            syn::UseTree::Name(name) => self.name(path, &name.ident.to_string(), &name.ident.to_string()),
            syn::UseTree::Rename(rename) => self.name(path, &rename.ident.to_string(), &rename.rename.to_string()),
        }
        path.truncate(depth);
    }

    fn name(&mut self, path: &[String], item: &str, called: &str) {
        let mut whole = path.to_vec();
        let mut called = called;
        if item == "self" {
            called = if called == "self" { path.last().map_or("", String::as_str) } else { called };
        } else {
            whole.push(item.to_owned());
        }
        self.0.paths.push(whole.clone());
        self.0.names.insert(called.to_owned(), whole);
    }

    /// Paths in the tokens of a macro: several names joined by `::`, or the name of a type.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Segments = Vec::new();
        // Colons since the last name; 2 continue the path.
        let mut colons = 0;
        let mut field = false;
        for token in tokens.into_iter().map(Some).chain([None]) {
            match token {
                Some(TokenTree::Ident(ident)) => {
                    if colons != 2 {
                        self.path(std::mem::take(&mut path));
                    }
                    if !field {
                        path.push(ident.to_string());
                    }
                    (colons, field) = (0, false);
                }
                Some(TokenTree::Punct(mark)) if mark.as_char() == ':' => colons += 1,
                other => {
                    let called = matches!(&other, Some(TokenTree::Punct(mark)) if mark.as_char() == '!');
                    if called {
                        self.0.macros.extend(path.last().cloned());
                    }
                    field = matches!(&other, Some(TokenTree::Punct(mark)) if mark.as_char() == '.');
                    self.path(std::mem::take(&mut path));
                    colons = 0;
                    if let Some(TokenTree::Group(group)) = other {
                        self.tokens(group.stream());
                    }
                }
            }
        }
    }

    fn path(&mut self, path: Segments) {
        let is_type = path.first().is_some_and(|name| name.starts_with(|c: char| c.is_uppercase()));
        if path.len() > 1 || is_type {
            self.0.paths.push(path);
        }
    }
}

/// The source of this repository.
static SOURCE: LazyLock<Source> = LazyLock::new(Source::read);

impl Source {
    /// Every module of every crate below `src`.
    fn read() -> Self {
        let mut source = Self::default();
        for (name, root) in CRATES {
            source.add_file(vec![(*name).to_owned()], &Path::new(env!("CARGO_MANIFEST_DIR")).join(root));
        }
        source
    }

    fn add_file(&mut self, path: Segments, file: &Path) {
        let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let folder = match path.len() {
            1 => file.parent().unwrap().to_owned(),
            _ => file.with_extension(""),
        };
        self.add(path, file, &folder, &parsed.items);
    }

    fn add(&mut self, path: Segments, file: &Path, folder: &Path, items: &[syn::Item]) {
        let mut module = Module { file: file.to_owned(), ..Module::default() };
        for item in items {
            Collector(&mut module).visit_item(item);
            let syn::Item::Mod(child) = item else { continue };
            if is_test(&child.attrs) {
                continue;
            }
            let name = child.ident.to_string();
            let below = [path.clone(), vec![name.clone()]].concat();
            match &child.content {
                Some((_, items)) => self.add(below, file, &folder.join(&name), items),
                None => self.add_file(below, &folder.join(format!("{name}.rs"))),
            }
            module.children.insert(name);
        }
        self.0.insert(path, module);
    }

    /// The module that has the item at a path which is written in the module `here`; none for items of other crates.
    fn resolve(&self, here: &[String], path: &[String], depth: usize) -> Option<Segments> {
        let (first, rest) = path.split_first()?;
        let base = match first.as_str() {
            "crate" => here[..1].to_vec(),
            "self" => here.to_vec(),
            "super" if here.len() > 1 => {
                let parent = &here[..here.len() - 1];
                return match rest.first().map(String::as_str) {
                    Some("super") => self.resolve(parent, rest, depth),
                    Some(_) => self.item(parent, rest, depth),
                    None => Some(parent.to_vec()),
                };
            }
            _ => return self.item(here, path, depth),
        };
        if rest.is_empty() { Some(base) } else { self.item(&base, rest, depth) }
    }

    /// The module that has the item at a path below the module `at`.
    fn item(&self, at: &[String], path: &[String], depth: usize) -> Option<Segments> {
        let module = self.0.get(at)?;
        let (first, rest) = path.split_first()?;
        if depth == 0 {
            return None;
        }
        if module.children.contains(first) {
            let below = [at, std::slice::from_ref(first)].concat();
            return if rest.is_empty() { Some(below) } else { self.item(&below, rest, depth).or(Some(below)) };
        }
        if let Some(target) = module.names.get(first).filter(|target| *target != path) {
            let target = [target.as_slice(), rest].concat();
            return self.resolve(at, &target, depth - 1);
        }
        let through = module.globs.iter().find_map(|glob| {
            let glob = self.resolve(at, glob, depth - 1).filter(|glob| glob != at)?;
            // Items of the module itself are not listed, so only what it passes on is found.
            self.passes_on(&glob, first).then(|| self.item(&glob, path, depth - 1))?
        });
        through.or_else(|| Some(at.to_vec()))
    }

    fn passes_on(&self, at: &[String], name: &str) -> bool {
        self.0.get(at).is_some_and(|module| module.children.contains(name) || module.names.contains_key(name))
    }

    /// Which module uses which, and by which path.
    fn uses(&self) -> Vec<(&Segments, Segments, String)> {
        let mut uses = Vec::new();
        for (here, module) in &self.0 {
            for path in module.paths.iter().chain(&module.globs) {
                if let Some(there) = self.resolve(here, path, 8).filter(|there| there != here) {
                    uses.push((here, there, path.join("::")));
                }
            }
        }
        uses
    }
}

/// The modules in one module: which of them uses which, and where.
type Graph = BTreeMap<String, BTreeMap<String, String>>;

/// The graph of every module that has others in it.
fn graphs(source: &Source) -> BTreeMap<Segments, Graph> {
    let mut graphs: BTreeMap<Segments, Graph> = BTreeMap::new();
    for (here, there, path) in source.uses() {
        let common = here.iter().zip(&there).take_while(|(one, other)| one == other).count();
        if let (Some(from), Some(to)) = (here.get(common), there.get(common))
            && common > 0
        {
            let root = Path::new(env!("CARGO_MANIFEST_DIR"));
            let file = source.0[here].file.strip_prefix(root).unwrap().display().to_string();
            let edges = graphs.entry(here[..common].to_vec()).or_default().entry(from.clone()).or_default();
            edges.entry(to.clone()).or_insert_with(|| format!("{file} uses {path}"));
        }
    }
    graphs
}

/// A path from a node back to itself.
fn cycle(graph: &Graph) -> Option<Vec<&str>> {
    fn search<'g>(graph: &'g Graph, trail: &mut Vec<&'g str>, done: &mut BTreeSet<&'g str>) -> bool {
        let here = *trail.last().expect("a trail has a start");
        for next in graph.get(here).into_iter().flat_map(BTreeMap::keys) {
            if let Some(start) = trail.iter().position(|node| node == next) {
                trail.drain(..start);
                return true;
            }
            if !done.contains(next.as_str()) {
                trail.push(next);
                if search(graph, trail, done) {
                    return true;
                }
                trail.pop();
            }
        }
        done.insert(here);
        false
    }
    let mut done = BTreeSet::new();
    graph.keys().find_map(|start| {
        let mut trail = vec![start.as_str()];
        search(graph, &mut trail, &mut done).then_some(trail)
    })
}

#[test]
fn no_modules_use_each_other_in_a_circle() {
    let mut found = String::new();
    for (parent, mut graph) in graphs(&SOURCE) {
        while let Some(trail) = cycle(&graph) {
            let _ = writeln!(found, "in {}:", parent.join("::"));
            for (at, from) in trail.iter().enumerate() {
                let to = trail[(at + 1) % trail.len()];
                let _ = writeln!(found, "  {from} → {to}: {}", graph[*from][to]);
            }
            // Look for the next one.
            let (last, first) = (trail[trail.len() - 1].to_owned(), trail[0].to_owned());
            graph.get_mut(&last).unwrap().remove(&first);
        }
    }
    assert!(found.is_empty(), "import cycles:\n{found}");
}

#[test]
fn each_phase_uses_only_the_phases_before_it() {
    let source = &*SOURCE;
    let root = [CRATES[0].0.to_owned()];
    let unknown: Vec<&String> =
        source.0[&root[..]].children.iter().filter(|name| !LAYERS.contains(&name.as_str())).collect();
    assert!(unknown.is_empty(), "{unknown:?} have no place in LAYERS");
    let place = |name: &str| LAYERS.iter().position(|layer| *layer == name).unwrap();
    let graphs = graphs(source);
    let wrong: Vec<String> = graphs[&root[..]]
        .iter()
        .flat_map(|(from, uses)| uses.iter().map(move |(to, how)| (from, to, how)))
        .filter(|(from, to, _)| place(to) > place(from))
        .map(|(from, to, how)| format!("{from} must not use {to}: {how}"))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn only_the_command_reaches_outside() {
    let source = &*SOURCE;
    let mut wrong = Vec::new();
    let mut seen = 0;
    for (here, module) in &source.0 {
        let name = here.join("::");
        let is_pure = PURE
            .iter()
            .any(|pure| name.strip_prefix(pure).is_some_and(|rest| rest.is_empty() || rest.starts_with("::")));
        if !is_pure {
            continue;
        }
        seen += 1;
        wrong.extend(
            module
                .macros
                .iter()
                .filter(|name| PRINTS.contains(&name.as_str()))
                .map(|print| format!("{name}: {print}!")),
        );
        for path in module.paths.iter().chain(&module.globs) {
            let reaches = match path.as_slice() {
                [first, second, ..] if first == "std" => {
                    OUTSIDE.contains(&second.as_str()) && !(name == THREADS && second == "thread")
                }
                [first, ..] => OUTSIDE_CRATES.contains(&first.as_str()),
                [] => false,
            };
            if reaches {
                wrong.push(format!("{name}: {}", path.join("::")));
            }
        }
    }
    assert!(seen > 100, "only {seen} modules were found");
    assert!(wrong.is_empty(), "these reach outside; only the command may: {wrong:#?}");
}

/// The source of one crate, from the texts of its modules.
fn source(modules: &[(&str, &str)]) -> Source {
    let mut source = Source::default();
    for (path, text) in modules {
        let mut module = Module { file: Path::new(env!("CARGO_MANIFEST_DIR")).join("lib.rs"), ..Module::default() };
        for item in syn::parse_file(text).unwrap().items {
            Collector(&mut module).visit_item(&item);
            if let syn::Item::Mod(child) = item {
                module.children.insert(child.ident.to_string());
            }
        }
        source.0.insert(path.split("::").map(str::to_owned).collect(), module);
    }
    source
}

#[test]
fn a_cycle_is_found_however_it_is_written() {
    let top = ("k", "mod a; mod b;");
    let b = ("k::b", "pub use crate::a::A; pub struct B;");
    for a in [
        "use crate::b::B; pub struct A;",
        "pub struct A(super::b::B);",
        "pub struct A; fn f() { crate::b::B; }",
        "use super::*; pub struct A; fn f() { b::B; }",
        "pub struct A; declare! { x: crate::b::B }",
        "use super::b as c; pub struct A; declare! { x: c::B }",
        "pub struct A; macro_rules! m { () => { $crate::b::B }; }",
    ] {
        let graphs = graphs(&source(&[top, ("k::a", a), b]));
        assert_eq!(cycle(&graphs[&["k".to_owned()][..]]), Some(vec!["a", "b"]), "{a}");
    }
    // A name that another module passes on belongs to the module that declares it.
    let through = [("k", "mod a; mod b; mod c;"), ("k::a", "use crate::b::A2;"), ("k::b", "pub use crate::c::A2;")];
    let graphs = graphs(&source(&[through[0], through[1], through[2], ("k::c", "use crate::a::X; pub struct A2;")]));
    assert_eq!(cycle(&graphs[&["k".to_owned()][..]]), Some(vec!["a", "c"]));
    // Tests may use what they like.
    let tested = [top, ("k::a", "pub struct A; #[cfg(test)] mod tests { use crate::b::B; }"), b];
    assert_eq!(cycle(&self::graphs(&source(&tested))[&["k".to_owned()][..]]), None);
}

/// Folders with Rust code.
const FOLDERS: &[&str] = &["src", "tests", "web", "plugin", "fuzz"];

/// Words that no name may have, because software does not speak, know or die. The prose linter refuses them in comments.
const REFUSED_ANYWHERE: &[&str] = &[
    "tell", "tells", "told", "telling", "say", "says", "said", "saying", "unsaid", "speak", "speaks", "spoken", "know",
    "knows", "knew", "stand", "stands", "stood", "die", "dies", "died", "who", "whom", "whose", "nobody", "became",
];

/// Further words that no function, type, constant or module may have: they are idioms, or do not name anything.
const REFUSED_IN_ITEMS: &[&str] =
    &["what", "ours", "mine", "beside", "elsewhere", "asks", "asked", "wants", "wanted", "handed", "whole"];

/// The only names in which `whole` is the right word.
const ALLOWED: &[&str] = &["a_folder_is_replaced_as_a_whole", "blocks_of_text_and_windows_lines_move_as_a_whole"];

/// The words of a name: `read_file`, `ReadFile` and `READ_FILE` have two.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut last_is_lower = false;
    for letter in name.chars() {
        if letter == '_' || letter.is_uppercase() && last_is_lower {
            words.push(String::new());
        }
        last_is_lower = letter.is_lowercase();
        if letter != '_' {
            words.last_mut().unwrap().extend(letter.to_lowercase());
        }
    }
    words
}

/// Collects the names that a file declares and that have a refused word.
#[derive(Default)]
struct RefusedNames(BTreeSet<String>);

impl RefusedNames {
    fn check(&mut self, name: &syn::Ident, is_item: bool) {
        let name = name.to_string();
        let refused = |word: &str| {
            REFUSED_ANYWHERE.contains(&word)
                || is_item && REFUSED_IN_ITEMS.contains(&word) && !(word == "whole" && ALLOWED.contains(&&*name))
        };
        if words(&name).iter().any(|word| refused(word)) {
            self.0.insert(name);
        }
    }
}

impl<'ast> Visit<'ast> for RefusedNames {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let name = match item {
            syn::Item::Const(item) => Some(&item.ident),
            syn::Item::Enum(item) => Some(&item.ident),
            syn::Item::Mod(item) => Some(&item.ident),
            syn::Item::Static(item) => Some(&item.ident),
            syn::Item::Struct(item) => Some(&item.ident),
            syn::Item::Trait(item) => Some(&item.ident),
            syn::Item::Type(item) => Some(&item.ident),
            syn::Item::Macro(item) => item.ident.as_ref(),
            _ => None,
        };
        if let Some(name) = name {
            self.check(name, true);
        }
        visit::visit_item(self, item);
    }

    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        self.check(&signature.ident, true);
        visit::visit_signature(self, signature);
    }

    fn visit_variant(&mut self, variant: &'ast syn::Variant) {
        self.check(&variant.ident, false);
        visit::visit_variant(self, variant);
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        if let Some(name) = &field.ident {
            self.check(name, false);
        }
        visit::visit_field(self, field);
    }

    fn visit_pat_ident(&mut self, pattern: &'ast syn::PatIdent) {
        self.check(&pattern.ident, false);
        visit::visit_pat_ident(self, pattern);
    }

    /// The functions in a macro, such as `proptest!`.
    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        let mut is_name = false;
        for token in called.tokens.clone() {
            let TokenTree::Ident(ident) = &token else { continue };
            if is_name {
                self.check(ident, true);
            }
            is_name = ident == "fn";
        }
        visit::visit_macro(self, called);
    }
}

/// The names of a text with a refused word.
fn refused_names(text: &str) -> BTreeSet<String> {
    let mut names = RefusedNames::default();
    names.visit_file(&syn::parse_file(text).unwrap());
    names.0
}

/// All Rust files below a folder, without those of build outputs.
fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() && name != "target" && name != "node_modules" && name != "pkg" {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn names_are_plain_english() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in FOLDERS {
        rust_files(&root.join(folder), &mut files);
    }
    assert!(files.len() > 300, "only {} files were found", files.len());
    let mut wrong = Vec::new();
    for file in files {
        let names = refused_names(&fs::read_to_string(&file).unwrap());
        let file = file.strip_prefix(root).unwrap().display();
        wrong.extend(names.iter().map(|name| format!("{file}: {name}")));
    }
    wrong.sort();
    assert!(wrong.is_empty(), "use other words in these names; tests/prose/README.md has the rules: {wrong:#?}");
}

#[test]
fn refused_words_are_found_in_every_kind_of_name() {
    for text in [
        "fn tell_of_files() {}",
        "struct Said;",
        "impl A { fn as_it_stands(&self) {} }",
        "enum A { Say }",
        "struct A { told: bool }",
        "fn a() { let (_, who) = b(); }",
        "fn a() { b(|says| c) }",
        "const BESIDE: u32 = 1;",
        "mod said {}",
        "fn what_is_refused() {}",
        "proptest! { #[test] fn it_knows() {} }",
    ] {
        assert_eq!(refused_names(text).len(), 1, "{text}");
    }
    for text in ["fn a() { let what = says(b); }", "fn report_standing() {}", "struct Unknown { whole: u32 }"] {
        assert!(refused_names(text).is_empty(), "{text}");
    }
}
