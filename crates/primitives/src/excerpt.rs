//! Excerpts of clients' texts, for errors: short texts unchanged, the beginning of long ones.

use std::borrow::Cow;

/// Most characters of a client's text that an error repeats.
pub const MAX_QUOTED_CHARS: usize = 100;

/// What follows an excerpt that is not the whole.
pub(crate) const CUT: &str = "...";

/// A text as errors show it: its first [`MAX_QUOTED_CHARS`] characters, and `...` where it has more.
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
