//! The beginnings and ends of functions.

use super::tokens::Token;

/// A function with a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name, without its type's.
    pub name: String,
    /// The line of `fn`.
    pub line: usize,
    /// Lines from `fn` to the closing brace, both included.
    pub lines: usize,
}

/// The functions of a file, including those inside others, in the order of their beginnings.
pub fn functions(tokens: &[Token]) -> Vec<Function> {
    let mut found = Vec::new();
    for (at, pair) in tokens.windows(2).enumerate() {
        let [keyword, name] = pair else { continue };
        let (Some("fn"), Some(name)) = (keyword.word(), name.word()) else { continue };
        let Some(open) = body(tokens, at) else { continue };
        let close = &tokens[closing(tokens, open).min(tokens.len().saturating_sub(1))];
        let lines = close.line.saturating_sub(keyword.line).saturating_add(1);
        found.push(Function { name: name.to_owned(), line: keyword.line, lines });
    }
    found
}

/// The position at which the body of the function at `start` opens; `None` for a function without one, as in traits.
fn body(tokens: &[Token], start: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(start) {
        if token.is('(') || token.is('[') {
            depth = depth.saturating_add(1);
        } else if token.is(')') || token.is(']') {
            depth = depth.saturating_sub(1);
        } else if depth == 0 && token.is(';') {
            return None;
        } else if depth == 0 && token.is('{') {
            return Some(at);
        }
    }
    None
}

/// The position of the bracket that closes the one at `open`; the number of tokens if there is none.
pub(crate) fn closing(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        if token.is('{') || token.is('(') || token.is('[') {
            depth = depth.saturating_add(1);
        } else if token.is('}') || token.is(')') || token.is(']') {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return at;
            }
        }
    }
    tokens.len()
}

#[cfg(test)]
mod tests {
    use super::super::tokens::tokens;
    use super::*;

    #[test]
    fn functions_have_lengths() {
        let text = "fn a() {}\nimpl B {\n    fn c(\n        x: [u8; 3],\n    ) {\n        fn d() {\n        }\n    }\n}\n\
                    trait E {\n    fn f();\n}\ntype G = fn(u8);\n";
        let found: Vec<_> = functions(&tokens(text))
            .into_iter()
            .map(|function| (function.name, function.line, function.lines))
            .collect();
        let expected = [("a", 1, 1), ("c", 3, 6), ("d", 6, 2)];
        assert_eq!(found, expected.map(|(name, line, lines)| (name.to_owned(), line, lines)));
    }
}
