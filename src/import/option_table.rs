//! Tables of the options that a program takes, and lists of words.

/// The names of an option, separated by blanks; what follows it; and its meaning.
pub type Row<T, M> = (&'static str, T, M);

/// Finds an option by one of its names.
pub fn row<'t, T, M>(table: &'t [Row<T, M>], name: &str) -> Option<&'t Row<T, M>> {
    table.iter().find(|row| names(row).any(|known| known == name))
}

/// The names of an option.
pub fn names<T, M>((names, ..): &Row<T, M>) -> impl Iterator<Item = &'static str> + use<T, M> {
    names.split(' ')
}

/// Whether a word is one of several that are separated by blanks.
pub fn has_word(words: &str, word: &str) -> bool {
    words.split(' ').any(|known| known == word)
}
