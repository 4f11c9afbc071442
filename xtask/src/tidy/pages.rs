//! Markdown pages: their headings, and the anchors that links to them use.

use std::path::Path;

use crate::workspace;

/// The headings of a page, as their text reads; `None` if there is no such page.
pub(super) fn headings(page: &Path) -> Option<Vec<String>> {
    workspace::text(page).map(|text| headings_of(&text))
}

/// The headings of a page's text, without the marks of code. Lines inside code blocks are none.
fn headings_of(text: &str) -> Vec<String> {
    let mut in_block = false;
    let mut headings = Vec::new();
    for line in text.lines() {
        if line.starts_with("```") {
            in_block = !in_block;
        } else if !in_block && line.starts_with('#') {
            headings.push(line.trim_start_matches('#').trim().replace('`', ""));
        }
    }
    headings
}

/// The anchor of a heading: lower case, spaces as hyphens, nothing else but letters, digits, `-` and `_`.
pub(super) fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_read_outside_of_code() {
        let text = "# One\n\n```sh\n# a comment\n```\n## `getTx`, and more\ntext # no heading\n";
        assert_eq!(headings_of(text), ["One", "getTx, and more"]);
    }

    #[test]
    fn anchors_are_those_of_the_usual_renderers() {
        for (heading, expected) in [
            ("Block gas cost", "block-gas-cost"),
            ("A network of one's own", "a-network-of-ones-own"),
            ("nat.export without to", "natexport-without-to"),
            ("eth_getLogs", "eth_getlogs"),
        ] {
            assert_eq!(anchor(heading), expected);
        }
    }
}
