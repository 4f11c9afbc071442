//! `esker config show`: each setting with its value and its origin.

use std::fmt::Write as _;

use super::{Config, Origin};

/// A table of three columns, ended by a newline.
pub fn render(config: &Config) -> String {
    let rows: Vec<[String; 3]> = config
        .values
        .iter()
        .map(|value| {
            let effective = match value.name.as_str() {
                "data-dir" if value.text.is_empty() => data_dir(config),
                "api-keystore-enabled" if value.text == "auto" => {
                    format!("auto ({})", config.keystore_enabled())
                }
                _ => value.text.clone(),
            };
            [value.name.clone(), effective, origin(&value.origin)]
        })
        .collect();
    let width =
        |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (names, values) = (width(0), width(1));
    let mut out = String::new();
    for [name, value, origin] in rows {
        // Writing to a String can't fail.
        let _ok = writeln!(out, "{name:<names$}  {value:<values$}  {origin}");
    }
    out
}

fn origin(origin: &Origin) -> String {
    let kind = origin.kind();
    origin.place().map_or_else(|| kind.to_owned(), |place| format!("{kind} {place}"))
}

fn data_dir(config: &Config) -> String {
    match &config.data_dir {
        Some(path) => path.display().to_string(),
        None => "(temporary)".to_owned(),
    }
}
