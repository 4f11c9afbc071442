//! Generates docs/configuration.md from the table of settings.

use std::fmt::Write as _;

use super::keys::{CHAIN_KEYS, KEYS, Key};

const HEAD: &str = "\
# Configuration

Generated from the table of settings (`crates/settings/src/config/keys.rs`) by `cargo xtask docs`; do not edit.

Every setting can be given as a flag (`--http-port 9650`), as an environment variable (`ESKER_HTTP_PORT=9650`) and as
a key of the configuration file that `--config` names (`http-port = 9650`). A flag overrides a variable, a variable
the file, the file the default. `esker config show` prints each value and its origin; with `--dev`, those of
`esker dev`.

- A flag that is true or false is set by its name alone, or with `=`: `--index-transactions=false`.
- The file is TOML. A key that is not listed here is an error. Relative paths in it begin at the file's own folder.
- Lists are strings as shown, or in the file arrays of strings.
- SIGHUP makes a running node read its log levels from the file again, and open its log files again.

Exit codes: 0 ok, 1 failure while running, 2 usage or configuration, 3 damaged data, 4 port in use.
";

const CHAINS_HEAD: &str = "
## Chains

A chain has a table of its own in the file, `[chains.NAME]`, where NAME is one of its aliases, its name or its ID:

```toml
[chains.X]
index-transactions = false

[chains.Second]
vm = \"xvm\"
genesis = \"second.json\"
aliases = [\"Y\"]
```

The second table declares a chain. Its blockchain ID follows from network, name and genesis; it is reached at
`/ext/bc/Y` and at `/ext/bc/<blockchain ID>`, and exchanges assets with the other chains of the node.
";

/// The whole page.
pub fn markdown() -> String {
    let mut page = HEAD.to_owned();
    for section in sections(KEYS) {
        heading(&mut page, "##", section);
        table(&mut page, KEYS, section, true);
    }
    page.push_str(CHAINS_HEAD);
    for section in sections(CHAIN_KEYS) {
        heading(&mut page, "###", section);
        table(&mut page, CHAIN_KEYS, section, false);
    }
    page
}

fn heading(page: &mut String, level: &str, text: &str) {
    // Writing to a String can't fail.
    let _ok = writeln!(page, "\n{level} {text}\n");
}

/// Sections in the order of the table.
fn sections(table: &'static [Key]) -> Vec<&'static str> {
    let mut sections: Vec<_> = table.iter().map(|key| key.section).collect();
    sections.dedup();
    sections
}

fn table(page: &mut String, keys: &'static [Key], section: &str, with_flag: bool) {
    page.push_str("| Key | Value | Default | What it does |\n|---|---|---|---|\n");
    for key in keys.iter().filter(|key| key.section == section) {
        let name = if with_flag { format!("`--{}`", key.name) } else { format!("`{}`", key.name) };
        let default = match (key.default, key.dev_default) {
            ("", "") => String::new(),
            ("", dev) => format!("none; dev: `{dev}`"),
            (node, dev) if node == dev => format!("`{node}`"),
            (node, dev) => format!("`{node}`; dev: `{dev}`"),
        };
        let also = match key.dev_flags().as_slice() {
            [] => String::new(),
            flags => format!(" Under `esker dev` also `{}`.", flags.join("`, `")),
        };
        let _ok = writeln!(page, "| {name} | {} | {default} | {}{also} |", key.kind, key.text());
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::profile;

    #[test]
    fn the_page_of_public_nodes_has_the_profile() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/public.md");
        let page = std::fs::read_to_string(&file).unwrap();
        let (begin, end) =
            ("<!-- profile: written by `cargo xtask docs` -->\n", "<!-- end of profile -->\n");
        let (before, rest) = page.split_once(begin).unwrap();
        let (_, after) = rest.split_once(end).unwrap();
        let current = format!("{before}{begin}\n{}\n{end}{after}", profile::markdown());
        expect_test::expect_file![file].assert_eq(&current);
    }

    #[test]
    fn the_page_is_up_to_date() {
        expect_test::expect_file!["../../../../docs/configuration.md"]
            .assert_eq(&super::markdown());
    }
}
