//! Texts of contracts and clients, which may have any characters.

/// A text of at most so many characters on one line, and without a terminal's control sequences.
pub(super) fn plain(text: &str, most: usize) -> String {
    let mut out = String::new();
    for (place, c) in text.chars().enumerate() {
        match c {
            _ if place == most => {
                out.push_str("...");
                break;
            }
            c if c.is_control() || is_invisible(c) => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

/// Characters that change how others are shown: marks of direction and of lines.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}
