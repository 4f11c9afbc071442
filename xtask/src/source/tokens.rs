//! The words and signs of a source file, without comments.

/// The kind of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A name or keyword; a raw one without `r#`.
    Word(String),
    /// One sign; `::` is two.
    Sign(char),
    /// A string, character, number or lifetime. No rule needs its content.
    Literal,
}

/// A token and its line, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its kind.
    pub kind: Kind,
    /// The line where it begins.
    pub line: usize,
}

impl Token {
    /// The name, if it is one.
    pub fn word(&self) -> Option<&str> {
        match &self.kind {
            Kind::Word(word) => Some(word),
            Kind::Sign(_) | Kind::Literal => None,
        }
    }

    /// Whether it is this sign.
    pub fn is(&self, sign: char) -> bool {
        self.kind == Kind::Sign(sign)
    }
}

/// The tokens of a file.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut reader = Reader { rest: text, line: 1, tokens: Vec::new() };
    while reader.step() {}
    reader.tokens
}

struct Reader<'a> {
    rest: &'a str,
    line: usize,
    tokens: Vec<Token>,
}

impl Reader<'_> {
    /// Takes the next token, comment or space. False at the end.
    fn step(&mut self) -> bool {
        let Some(first) = self.rest.chars().next() else { return false };
        if self.rest.starts_with("//") {
            self.skip(self.rest.find('\n').unwrap_or(self.rest.len()));
        } else if self.rest.starts_with("/*") {
            self.skip(block_comment(self.rest));
        } else if let Some(length) = string(self.rest).or_else(|| character(self.rest)) {
            self.push(Kind::Literal, length);
        } else if first.is_whitespace() {
            self.skip(first.len_utf8());
        } else if is_word(first) {
            self.word();
        } else {
            self.push(Kind::Sign(first), first.len_utf8());
        }
        true
    }

    fn word(&mut self) {
        let raw = self.rest.strip_prefix("r#").filter(|rest| rest.starts_with(is_word));
        let start = if raw.is_some() { 2 } else { 0 };
        let name = &self.rest[start..];
        let length = name.find(|c| !is_word(c)).unwrap_or(name.len());
        let name = &name[..length];
        let kind = if name.starts_with(|c: char| c.is_ascii_digit()) {
            Kind::Literal
        } else {
            Kind::Word(name.to_owned())
        };
        self.push(kind, start.saturating_add(length));
    }

    fn push(&mut self, kind: Kind, length: usize) {
        self.tokens.push(Token { kind, line: self.line });
        self.skip(length);
    }

    fn skip(&mut self, length: usize) {
        let (skipped, rest) = self.rest.split_at(length);
        self.line = self.line.saturating_add(skipped.matches('\n').count());
        self.rest = rest;
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The length of a comment, which may contain others.
fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with("/*") {
            depth = depth.saturating_add(1);
            at = at.saturating_add(2);
        } else if rest.starts_with("*/") {
            depth = depth.saturating_sub(1);
            at = at.saturating_add(2);
            if depth == 0 {
                return at;
            }
        } else {
            at = at.saturating_add(rest.chars().next().map_or(1, char::len_utf8));
        }
    }
    text.len()
}

/// The length of a string of any kind at the start of the text.
fn string(text: &str) -> Option<usize> {
    let letters = text.find(|c: char| !"bcr".contains(c))?;
    let prefix = &text[..letters];
    if !["", "b", "c", "r", "br", "cr"].contains(&prefix) {
        return None;
    }
    let rest = &text[letters..];
    let inner = if prefix.ends_with('r') {
        let hashes = rest.find(|c| c != '#')?;
        let body = rest[hashes..].strip_prefix('"')?;
        let end = format!("\"{}", "#".repeat(hashes));
        let close = body.find(&end)?;
        hashes.saturating_add(1).saturating_add(close).saturating_add(end.len())
    } else {
        let body = rest.strip_prefix('"')?;
        quoted(body, '"')?.saturating_add(1)
    };
    Some(letters.saturating_add(inner))
}

/// The length of a character or a lifetime at the start of the text.
fn character(text: &str) -> Option<usize> {
    let prefix = usize::from(text.starts_with("b'"));
    let body = text[prefix..].strip_prefix('\'')?;
    let mut chars = body.chars();
    let first = chars.next()?;
    let length = if first != '\\' && chars.next() != Some('\'') {
        // A lifetime.
        body.find(|c| !is_word(c)).unwrap_or(body.len())
    } else {
        quoted(body, '\'')?
    };
    Some(prefix.saturating_add(1).saturating_add(length))
}

/// The length up to and including the closing quote. A character after a backslash does not close the string.
fn quoted(body: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in body.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return Some(at.saturating_add(1)),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<(String, usize)> {
        let named = |token: Token| Some((token.word()?.to_owned(), token.line));
        tokens(text).into_iter().filter_map(named).collect()
    }

    fn check(text: &str, expected: &[(&str, usize)]) {
        let expected: Vec<_> =
            expected.iter().map(|(word, line)| ((*word).to_owned(), *line)).collect();
        assert_eq!(words(text), expected, "{text}");
    }

    #[test]
    fn names_have_lines() {
        check(
            "use a::b;\n\nfn r#type() {}",
            &[("use", 1), ("a", 1), ("b", 1), ("fn", 3), ("type", 3)],
        );
    }

    #[test]
    fn comments_and_strings_hold_no_names() {
        for text in [
            "// a",
            "/* a /* b */ c */",
            "\"a \\\" b\"",
            "r#\"a \" b\"#",
            "br\"a\\\"",
            "b\"a\"",
            "c\"a\"",
            "'a'",
            "'\\''",
            "b'a'",
            "'\\u{1F600}'",
            "1u8",
            "0xab_u64",
            "'ä'",
        ] {
            check(&format!("{text}\n;x"), &[("x", 2)]);
        }
        check("\"two\nlines\" x", &[("x", 2)]);
        check("&'a str", &[("str", 1)]);
        check("'outer: loop", &[("loop", 1)]);
        check("ab\"c\"", &[("ab", 1)]);
    }

    #[test]
    fn signs_are_single() {
        let signs: Vec<bool> = tokens("a::b").iter().map(|token| token.is(':')).collect();
        assert_eq!(signs, [false, true, true, false]);
    }
}
