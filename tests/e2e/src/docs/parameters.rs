//! The tables of parameters on the pages, made of an endpoint's own description.
//!
//! A section of a method with parameters has one table:
//!
//! ```text
//! | Parameter | Type | Default | |
//! |---|---|---|---|
//! | `height` | number or text | 0 | what the page adds |
//! ```
//!
//! Names and types are those of the schemas, and so is `required` in the place of a default. Other defaults and the last
//! column are written by hand and stay, and so does the order of the rows.

use std::ops::Range;

use serde_json::Value;

use super::page::{Page, Section};

const HEAD: [&str; 2] = ["| Parameter | Type | Default | |", "|---|---|---|---|"];
const REQUIRED: &str = "required";
/// The text of a missing default.
const NO_DEFAULT: &str = "none";

/// A row of the page.
#[derive(Debug)]
struct Row<'a> {
    name: &'a str,
    default: &'a str,
    note: &'a str,
}

/// The expected table of a method, and the lines of the page that it replaces. `None` for a method without parameters
/// and without a table.
pub fn parameter_table(
    page: &Page,
    section: &Section,
    document: &Value,
    method: &Value,
) -> Option<(Range<usize>, Vec<String>)> {
    let found = table_lines(page, section);
    let parameters = method["params"].as_array().map_or(&[][..], Vec::as_slice);
    if parameters.is_empty() {
        return found.map(|lines| (lines, Vec::new()));
    }
    let rows: Vec<_> = found.clone().map_or(Vec::new(), |lines| rows(&page.lines[lines]));
    let place = |parameter: &&Value| {
        let position = |row: &Row<'_>| parameter["name"] == row.name;
        rows.iter().position(position).unwrap_or(usize::MAX)
    };
    let mut ordered: Vec<_> = parameters.iter().collect();
    ordered.sort_by_key(place);
    let mut table = HEAD.map(str::to_owned).to_vec();
    for parameter in ordered {
        let name = parameter["name"].as_str().unwrap_or_default();
        let row = rows.iter().find(|row| row.name == name);
        let words = type_words(document, &parameter["schema"]);
        let default = match (parameter["required"] == true, row.map(|row| row.default)) {
            (true, _) => REQUIRED,
            (false, None | Some("" | REQUIRED)) => NO_DEFAULT,
            (false, Some(default)) => default,
        };
        let note = row.map_or("", |row| row.note);
        let space = if note.is_empty() { "" } else { " " };
        table.push(format!("| `{name}` | {words} | {default} | {note}{space}|"));
    }
    match found {
        Some(lines) => Some((lines, table)),
        // Before the first request and its introduction, with an empty line after it.
        None => {
            let at = before_introduction(page, section, section.exchanges.first()?.line - 1);
            table.push(String::new());
            Some((at..at, table))
        }
    }
}

/// The first line of a request's introduction: a separate paragraph that ends with a colon.
fn before_introduction(page: &Page, section: &Section, request: usize) -> usize {
    let text = &page.lines[section.line..request.saturating_sub(1)];
    if !text.last().is_some_and(|line| line.ends_with(':')) {
        return request;
    }
    let blank = text.iter().rposition(String::is_empty).unwrap_or_default();
    // The section's only paragraph is not just an introduction.
    if blank == 0 { request } else { section.line + blank + 1 }
}

/// Lines of the section's table of parameters, if it has one.
fn table_lines(page: &Page, section: &Section) -> Option<Range<usize>> {
    let from = section.line;
    let next = page.sections.iter().map(|other| other.line).find(|line| *line > from);
    let until = next.map_or(page.lines.len(), |line| line.saturating_sub(1));
    let begin = from + page.lines[from..until].iter().position(|line| line == HEAD[0])?;
    let length = page.lines[begin..until].iter().take_while(|line| line.starts_with('|')).count();
    Some(begin..begin + length)
}

fn rows(lines: &[String]) -> Vec<Row<'_>> {
    lines.iter().skip(HEAD.len()).filter_map(|line| row(line)).collect()
}

fn row(line: &str) -> Option<Row<'_>> {
    let mut cells = line.strip_prefix('|')?.strip_suffix('|')?.splitn(4, '|').map(str::trim);
    let name = cells.next()?.trim_matches('`');
    let (_, default, note) = (cells.next()?, cells.next()?, cells.next()?);
    Some(Row { name, default, note })
}

/// A schema in words: its title, or its type in JSON.
pub fn type_words(document: &Value, schema: &Value) -> String {
    if let Some(title) = schema["title"].as_str() {
        return title.to_owned();
    }
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return type_words(document, &document["components"]["schemas"][name]);
    }
    for of in ["allOf", "anyOf"] {
        if let Some(forms) = schema[of].as_array() {
            let mut words: Vec<_> = forms
                .iter()
                .filter(|form| form["type"] != "null")
                .map(|form| type_words(document, form))
                .collect();
            words.dedup();
            return words.join(" or ");
        }
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().find(|kind| **kind != "null").and_then(Value::as_str),
        kind => kind.as_str(),
    };
    match kind {
        Some("string") => "text".to_owned(),
        Some("integer" | "number") => "number".to_owned(),
        Some("array") => format!("list of {}", plural(&type_words(document, &schema["items"]))),
        Some(kind) => kind.to_owned(),
        None => "any".to_owned(),
    }
}

fn plural(words: &str) -> String {
    match words {
        "address" | "hash" => format!("{words}es"),
        "data" | "any" => words.to_owned(),
        words => format!("{words}s"),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;

    #[test]
    fn names_types_and_requirement_are_the_schema_s() {
        let text = "## a.b\n\n| Parameter | Type | Default | |\n|---|---|---|---|\n| `two` | x | y | kept |\n\
                    | `gone` | x | y | |\n\n```sh\ncurl x\n```\n";
        let page = Page::parse(Path::new("p.md"), text).unwrap();
        let document = json!({ "components": { "schemas": { "Hash": { "title": "hash" } } } });
        let hash = json!({ "$ref": "#/components/schemas/Hash" });
        let method = json!({ "params": [
            { "name": "one", "required": true, "schema": { "type": "array", "items": hash } },
            { "name": "two", "required": false, "schema": { "anyOf": [hash, { "type": "null" }] } },
        ] });
        let (lines, table) = parameter_table(&page, &page.sections[1], &document, &method).unwrap();
        assert_eq!(lines, 2..6);
        assert_eq!(
            table[2..],
            ["| `two` | hash | y | kept |", "| `one` | list of hashes | required | |"]
        );
        let none = json!({ "params": [] });
        let emptied = parameter_table(&page, &page.sections[1], &document, &none);
        assert_eq!(emptied, Some((2..6, Vec::new())));
    }

    #[test]
    fn a_section_without_a_table_gets_one() {
        let page = Page::parse(Path::new("p.md"), "## a.b\n\n```sh\ncurl x\n```\n").unwrap();
        let method =
            json!({ "params": [{ "name": "n", "schema": { "type": ["integer", "null"] } }] });
        let (lines, table) =
            parameter_table(&page, &page.sections[1], &json!({}), &method).unwrap();
        assert_eq!((lines, &*table[2], &*table[3]), (2..2, "| `n` | number | none | |", ""));
        assert_eq!(parameter_table(&page, &page.sections[1], &json!({}), &json!({})), None);
        for (text, at) in [
            ("## a.b\n\ntext.\n\nFor example:\n\n```sh\ncurl x\n```\n", 4),
            ("## a.b\n\ntext:\n\n```sh\ncurl x\n```\n", 4),
            ("## a.b\n\ntext.\n\nmore.\n\n```sh\ncurl x\n```\n", 6),
        ] {
            let page = Page::parse(Path::new("p.md"), text).unwrap();
            let table = parameter_table(&page, &page.sections[1], &json!({}), &method);
            assert_eq!(table.unwrap().0, at..at, "{text}");
        }
    }
}
