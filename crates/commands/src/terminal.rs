//! Text of a node, or of a file, that goes to a terminal, and answers that come from there.

use std::borrow::Cow;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

/// Most bytes of an error.
const MAX_ERROR: usize = 4096;

/// A text in which control characters other than line feeds and tabs are escaped: nothing in it can control the terminal.
pub fn printable(text: &str) -> Cow<'_, str> {
    let is_control = |c: char| c.is_control() && c != '\n' && c != '\t';
    if !text.contains(is_control) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if is_control(c) {
            escaped.extend(c.escape_default());
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

/// Asks a question that ends with ` [y/N] ` on standard error. `None`: there is no terminal that could answer.
pub(crate) fn confirm(question: &str) -> io::Result<Option<bool>> {
    if !io::stdin().is_terminal() {
        return Ok(None);
    }
    let mut screen = io::stderr();
    let mut answer = String::new();
    write!(screen, "{}", printable(question))?;
    screen.flush()?;
    io::stdin().lock().read_line(&mut answer)?;
    Ok(Some(["y", "yes"].contains(&answer.trim().to_lowercase().as_str())))
}

/// An error's text, [`printable`]; the end of a long one is left out, and its length is in its place.
pub fn printable_error(text: &str) -> String {
    let mut end = MAX_ERROR.min(text.len());
    while !text.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    let (shown, left_out) = text.split_at(end);
    let shown = printable(shown);
    match left_out.len() {
        0 => shown.into_owned(),
        bytes => format!("{shown}.. ({bytes} bytes more)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(printable("Größe\t1\n2\n"), "Größe\t1\n2\n");
        assert_eq!(printable("a\u{1b}[2Jb\r\u{7}\u{9b}c\0"), "a\\u{1b}[2Jb\\r\\u{7}\\u{9b}c\\u{0}");
    }

    #[test]
    fn long_errors_are_cut() {
        assert_eq!(printable_error("no\u{1b}"), "no\\u{1b}");
        let longest = "x".repeat(MAX_ERROR);
        assert_eq!(printable_error(&longest), longest);
        let cut = printable_error(&format!("{}é\u{1b}", &longest[1..]));
        assert_eq!(cut, format!("{}.. (3 bytes more)", &longest[1..]));
    }
}
