//! Variables that hold several words of a launch line (the line that starts the ranks), as text or as an array. If a
//! launch line uses such a variable, the words are inserted in its place.

use crate::launch::options;
use crate::shell_text::{Hidden, UNKNOWN, marked};
use khorovod_compiler::shell::{
    self, Change, Context, PartKind, TokenKind, is_name, reference, within_quotes, without_quotes, words,
};

/// The value of a variable, as shell text.
#[derive(Debug, Clone, PartialEq)]
pub enum Held {
    /// Text, as it is written within double quotes.
    Text(String),
    /// An array, as the words of a command.
    List(String),
}

/// Variables and their values.
pub type Variables = Vec<(String, Held)>;

/// The maximum length of a value in bytes. A value may contain other values several times, so lengths can grow
/// exponentially.
const LONGEST: usize = 32 << 10;

/// If a line sets a variable to several words, adds the variable to `known`. If it sets the variable to something else, removes the variable from
/// `known`.
pub fn learn(line: &str, known: &mut Variables) {
    let words = ["export ", "declare ", "typeset ", "readonly ", "-a ", "-x "];
    let line = words.iter().fold(line.trim(), |line, word| line.strip_prefix(word).unwrap_or(line).trim_start());
    let Some((name, value)) = line.split_once('=') else { return };
    let (name, more) = name.strip_suffix('+').map_or((name, false), |name| (name, true));
    if !is_name(name) {
        return;
    }
    let value = spliced(value, known);
    let list = value.trim_end().strip_prefix('(').and_then(|list| list.strip_suffix(')'));
    let held = match list {
        Some(list) => Some(one_line(list)).filter(|list| words_of(list)).map(Held::List),
        None => within_quotes(&value).map(Held::Text),
    };
    let before = known.iter().position(|(other, _)| other == name).map(|at| known.swap_remove(at).1);
    let held = match (more, before, held) {
        (false, _, held) => held,
        (true, Some(Held::Text(before)), Some(Held::Text(held))) => Some(Held::Text(before + &held)),
        (true, Some(Held::List(before)), Some(Held::List(held))) => Some(Held::List(before + " " + &held)),
        _ => None,
    };
    let several = |held: &Held| match held {
        Held::Text(text) => marked(text).contains(char::is_whitespace),
        Held::List(_) => true,
    };
    let fits = |held: &Held| matches!(held, Held::Text(text) | Held::List(text) if text.len() < LONGEST);
    known.extend(held.filter(|held| several(held) && fits(held)).map(|held| (name.to_owned(), held)));
}

/// Whether an array has literal words, and not only the output of a command.
fn words_of(list: &str) -> bool {
    let alone = list.trim().starts_with("$(") && marked(list).trim() == UNKNOWN;
    !alone && words(&marked(list)).is_some()
}

/// Returns the words of an array in one line, without the comments between them.
fn one_line(list: &str) -> String {
    let tokens = shell::tokenize(list).into_iter();
    let words = tokens.filter(|token| !token.kind.is_space() && token.kind != TokenKind::Comment);
    words.map(|token| &list[token.span]).collect::<Vec<_>>().join(" ")
}

/// Returns a line with the values of variables inserted.
pub fn spliced(line: &str, known: &Variables) -> String {
    if known.is_empty() {
        return line.to_owned();
    }
    shell::rewrite(line, |place| {
        if let PartKind::Double(_) = place.kind {
            // `"${A[@]}"` becomes one word per element.
            let inside = place.written.strip_prefix('"').and_then(|inside| inside.strip_suffix('"'));
            let list = inside.filter(|inside| inside.ends_with("[@]}")).and_then(reference);
            return match list.and_then(|(name, _)| find(name, known)) {
                Some(Held::List(list)) => Change::To(list.clone()),
                _ => Change::Within,
            };
        }
        if let PartKind::List(_) = place.kind {
            return Change::Within;
        }
        let Some((name, all)) = reference(place.written) else { return Change::Keep };
        match (find(name, known), all, place.context) {
            (Some(Held::Text(text)), false, Context::Quoted) => Change::To(text.clone()),
            (Some(Held::Text(text)), false, Context::Bare) => Change::To(without_quotes(text)),
            (Some(Held::List(list)), true, Context::Bare) => Change::To(list.clone()),
            (Some(Held::List(list)), true, Context::Quoted) if !list.contains(['"', '\'', '\\']) => {
                Change::To(list.clone())
            }
            _ => Change::Keep,
        }
    })
}

/// Returns the words of a launch line without the options that the import ignores, such as `--rdzv_id`, and without their values.
/// Options that it reads, such as `--nnodes`, stay.
pub fn without_own_options(line: &str) -> String {
    let hidden = Hidden::of(line);
    let Some(words) = words(&hidden.text) else { return line.to_owned() };
    let launcher =
        (0..words.len()).find_map(|at| options::launcher(&words[at..]).map(|(kind, count)| (kind, at + count)));
    let Some((kind, mut at)) = launcher else { return line.to_owned() };
    let mut kept: Vec<&str> = words[..at].iter().map(|word| &hidden.text[word.place.clone()]).collect();
    while let Some(word) = words.get(at).filter(|word| word.text.starts_with('-')) {
        let (name, inline) = word.text.split_once('=').map_or((&*word.text, false), |(name, _)| (name, true));
        let Some((count, meaning)) = options::find(kind, name) else { break };
        let end = (at + 1 + if inline { 0 } else { count }).min(words.len());
        if !meaning.is_own() {
            kept.extend(words[at..end].iter().map(|word| &hidden.text[word.place.clone()]));
        }
        at = end;
    }
    kept.extend(words[at..].iter().map(|word| &hidden.text[word.place.clone()]));
    hidden.shown(&kept.join(" "))
}

fn find<'k>(name: &str, known: &'k Variables) -> Option<&'k Held> {
    known.iter().find(|(other, _)| other == name).map(|(_, held)| held)
}

/// Converts the text within the double quotes of `bash -c "…"` to the lines that bash runs.
pub fn lines(text: &str) -> String {
    let (mut made, mut escaped) = (String::new(), false);
    for c in text.chars() {
        match c {
            '\\' if !escaped => {
                escaped = true;
                continue;
            }
            c if escaped && !"\"\\$`".contains(c) => made.extend(['\\', c]),
            c => made.push(c),
        }
        escaped = false;
    }
    made.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(script: &[&str], line: &str) -> String {
        let mut known = Variables::new();
        for line in script {
            learn(line, &mut known);
        }
        spliced(line, &known)
    }

    #[test]
    fn texts_and_lists_replace_their_variables() {
        let launcher = "export L=\"torchrun --rank \\$R \\\n --at $HOST:1\"";
        assert_eq!(after(&[launcher], "srun $L a.py"), "srun torchrun --rank \\$R --at ${HOST}:1 a.py");
        assert_eq!(after(&[launcher], "srun '$L' \\$L"), "srun '$L' \\$L");
        let line = after(&[launcher, "C=\"$L a.py\""], "bash -c \"$C\"");
        let word = within_quotes(line.strip_prefix("bash -c ").unwrap()).unwrap();
        assert_eq!(lines(&word), "torchrun --rank $R --at ${HOST}:1 a.py");
        let list = "declare -a A=(\n  --lr 1 # low\n  \"b c\"\n)";
        assert_eq!(after(&[list, "A+=( $D )"], "x \"${A[@]}\" ${A[*]}"), "x --lr 1 \"b c\" $D --lr 1 \"b c\" $D");
        assert_eq!(after(&["A=\"a *\"", "A+=' it'\"'\"'s'"], "x $A \"$A\""), "x a \\* it\\'s \"a * it's\"");
    }

    #[test]
    fn own_options_are_removed_with_their_values() {
        let line = "srun -N 2 torchrun --nnodes=$N --rdzv_endpoint=$HEAD:$P --rdzv_id $(date +%s) --nproc_per_node $G a.py --rdzv_id $X";
        assert_eq!(without_own_options(line), "srun -N 2 torchrun --nnodes=$N --nproc_per_node $G a.py --rdzv_id $X");
        assert_eq!(without_own_options("python a.py $A"), "python a.py $A");
    }

    #[test]
    fn variables_without_fixed_texts_are_not_replaced() {
        assert_eq!(after(&["A=\"a b\"", "A=$(date)"], "x $A"), "x $A");
        assert_eq!(after(&["A=one", "B=($(hosts))", "C+=\" x y\""], "$A ${B[@]} $C"), "$A ${B[@]} $C");
        let twice: Vec<String> = (0..40).map(|_| "A=\"$A $A\"".to_owned()).collect();
        let twice: Vec<&str> = std::iter::once("A=\"a b\"").chain(twice.iter().map(String::as_str)).collect();
        assert!(after(&twice, "$A").len() < LONGEST);
    }
}
