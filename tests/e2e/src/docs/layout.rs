//! JSON broken into lines for a page, members in the order in which the node sent them.

use std::iter::Peekable;
use std::str::Chars;

/// Longest object or list that stays on one line.
const ONE_LINE: usize = 100;

/// A value of JSON, indented by two. A short value stays on its line.
///
/// Anything that is not JSON comes back in some layout: callers parse first.
pub fn layout(json: &str) -> String {
    let mut out = String::new();
    write(&parse(&mut json.trim().chars().peekable()), 0, &mut out);
    out
}

enum Node {
    /// A number, a text, a literal; an empty list or object.
    Leaf(String),
    /// The opening and the closing sign, and each element with its name.
    Group(char, char, Vec<(String, Self)>),
}

fn parse(rest: &mut Peekable<Chars<'_>>) -> Node {
    skip_space(rest);
    let (open, close) = match rest.peek() {
        Some('{') => ('{', '}'),
        Some('[') => ('[', ']'),
        _ => return Node::Leaf(scalar(rest)),
    };
    rest.next();
    let mut elements = Vec::new();
    loop {
        skip_space(rest);
        match rest.peek() {
            None => break,
            Some(c) if *c == close => {
                rest.next();
                break;
            }
            Some(',') => {
                rest.next();
            }
            Some(_) => {
                let mut name = String::new();
                if open == '{' {
                    name = format!("{}: ", scalar(rest));
                    skip_space(rest);
                    rest.next();
                }
                elements.push((name, parse(rest)));
            }
        }
    }
    if elements.is_empty() {
        Node::Leaf(format!("{open}{close}"))
    } else {
        Node::Group(open, close, elements)
    }
}

fn scalar(rest: &mut Peekable<Chars<'_>>) -> String {
    let mut text = String::new();
    if rest.next_if_eq(&'"').is_some() {
        text.push('"');
        while let Some(c) = rest.next() {
            text.push(c);
            match c {
                '\\' => text.extend(rest.next()),
                '"' => break,
                _ => {}
            }
        }
        return text;
    }
    while let Some(c) = rest.next_if(|c| !",:{}[]".contains(*c) && !c.is_whitespace()) {
        text.push(c);
    }
    text
}

fn skip_space(rest: &mut Peekable<Chars<'_>>) {
    while rest.next_if(|c| c.is_whitespace()).is_some() {}
}

fn write(node: &Node, indent: usize, out: &mut String) {
    let line = one_line(node);
    match node {
        Node::Group(open, close, elements) if indent.saturating_add(line.len()) > ONE_LINE => {
            out.push(*open);
            let inner = indent.saturating_add(2);
            for (index, (name, element)) in elements.iter().enumerate() {
                out.push_str(if index == 0 { "\n" } else { ",\n" });
                out.push_str(&" ".repeat(inner));
                out.push_str(name);
                write(element, inner, out);
            }
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            out.push(*close);
        }
        _ => out.push_str(&line),
    }
}

fn one_line(node: &Node) -> String {
    match node {
        Node::Leaf(text) => text.clone(),
        Node::Group(open, close, elements) => {
            let all: Vec<String> = elements
                .iter()
                .map(|(name, element)| format!("{name}{}", one_line(element)))
                .collect();
            format!("{open}{}{close}", all.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_ones_stay_on_a_line_in_their_order() {
        assert_eq!(
            layout("{\"b\":1,\"a\":[1, 2],\"e\":{}}\n"),
            "{\"b\": 1, \"a\": [1, 2], \"e\": {}}"
        );
    }

    #[test]
    fn long_ones_are_broken() {
        let long = "x".repeat(90);
        let text = format!("{{\"a\":\"{long}\",\"b\":[\"\\\"]\",null]}}");
        let want = format!("{{\n  \"a\": \"{long}\",\n  \"b\": [\"\\\"]\", null]\n}}");
        assert_eq!(layout(&text), want);
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(value(&want), value(&text));
    }
}
