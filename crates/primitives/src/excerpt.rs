//! Excerpts of clients' texts for errors: short texts are unchanged, long ones are cut.

use std::borrow::Cow;

/// Most characters of a client's text that an error repeats.
pub const MAX_QUOTED_CHARS: usize = 100;

/// Follows the excerpt of a longer text.
pub(crate) const CUT: &str = "...";

/// The form of a text in errors: its first [`MAX_QUOTED_CHARS`] characters, and `...` if it is longer.
///
/// ```
/// use esker_primitives::excerpt;
/// assert_eq!(excerpt("short"), "short");
/// assert_eq!(excerpt(&"x".repeat(5000)), format!("{}...", "x".repeat(100)));
/// ```
pub fn excerpt(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(MAX_QUOTED_CHARS) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}{CUT}", &text[..end])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_counted_and_not_cut() {
        for (length, cut) in [(0, false), (100, false), (101, true)] {
            let text = "é".repeat(length);
            let expected =
                format!("{}{}", "é".repeat(length.min(100)), if cut { "..." } else { "" });
            assert_eq!(excerpt(&text), expected);
        }
    }
}
