//! Texts of contracts and clients, which may have any characters.

/// A text of at most so many characters on one line, and without a terminal's control sequences.
pub fn plain_text(text: &str, most: usize) -> String {
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

/// Whether a character is not seen and changes how others are shown: marks of direction and of lines.
pub fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_one_line_and_no_control_characters() {
        for (text, most, plain) in [
            ("a b", 3, "a b"),
            ("abcd", 3, "abc..."),
            ("\u{1b}[2J\n\u{202e}é", 100, "\\u{1b}[2J\\n\\u{202e}é"),
        ] {
            assert_eq!(plain_text(text, most), plain);
            assert_eq!(plain_text(&plain_text(text, most), 100), plain);
        }
    }
}
