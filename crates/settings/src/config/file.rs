//! The configuration file: TOML. Every error has its line.

use std::collections::BTreeMap;
use std::path::Path;

use toml::de::{DeTable, DeValue};

use super::error::{ConfigError, Origin};
use super::keys::{self, CHAIN_KEYS, CONFIG, KEYS, Key};
use super::nearest;

/// Most bytes of a configuration file.
pub const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// Most tables of chains.
pub const MAX_CHAIN_TABLES: usize = 1000;

/// The key of the chains' tables.
const CHAINS: &str = "chains";

/// Keys that hold a path: relative ones are relative to the file's own folder.
const PATHS: [&str; 6] =
    ["data-dir", "log-dir", "profile-dir", "ready-file", "genesis", "admin-api-dir"];

/// A value with its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfiguredValue {
    /// Text form.
    pub text: String,
    /// Its origin.
    pub origin: Origin,
}

/// Values by name.
pub type Values = BTreeMap<&'static str, ConfiguredValue>;

/// The content of a configuration file.
#[derive(Clone, Debug, Default)]
pub struct FileLayer {
    /// Settings of the node.
    pub values: Values,
    /// Tables of chains by the name used in the file, with their settings.
    pub chains: BTreeMap<String, ChainTable>,
}

/// One table `[chains.NAME]`.
#[derive(Clone, Debug)]
pub struct ChainTable {
    /// Origin of the table.
    pub origin: Origin,
    /// Its settings.
    pub values: Values,
    /// Settings of the reference without effect here.
    pub ignored: Vec<&'static str>,
}

/// Parses a file. `path` is used in messages and to resolve relative paths.
pub fn parse(text: &str, path: &Path) -> Result<FileLayer, ConfigError> {
    if text.len() as u64 > MAX_FILE_BYTES {
        let reason = format!("a configuration file has at most {MAX_FILE_BYTES} bytes");
        return Err(ConfigError::Read { path: path.to_owned(), reason });
    }
    let reader = Reader { text, path };
    let table = DeTable::parse(text).map_err(|error| ConfigError::Syntax {
        path: path.to_owned(),
        line: reader.line(error.span().map_or(0, |span| span.start)),
        message: error.message().to_owned(),
    })?;
    reader.node(table.get_ref())
}

struct Reader<'a> {
    text: &'a str,
    path: &'a Path,
}

impl Reader<'_> {
    fn node(&self, table: &DeTable<'_>) -> Result<FileLayer, ConfigError> {
        let mut layer = FileLayer::default();
        for (name, value) in table {
            let origin = self.origin(name.span().start);
            match name.get_ref().as_ref() {
                CHAINS => layer.chains = self.chains(value.get_ref(), &origin)?,
                CONFIG => {
                    let reason = "a configuration file can't name another one".to_owned();
                    return Err(ConfigError::Value { origin, key: CONFIG.to_owned(), reason });
                }
                other => {
                    let key = keys::find(KEYS, other).ok_or_else(|| {
                        let known = KEYS.iter().map(|key| key.name).chain([CHAINS]);
                        unknown(origin.clone(), "key", other, known)
                    })?;
                    layer.values.insert(key.name, self.value(key, value.get_ref(), origin)?);
                }
            }
        }
        Ok(layer)
    }

    fn chains(
        &self,
        value: &DeValue<'_>,
        origin: &Origin,
    ) -> Result<BTreeMap<String, ChainTable>, ConfigError> {
        let fault = |origin: &Origin, key: &str, reason: &str| ConfigError::Value {
            origin: origin.clone(),
            key: key.to_owned(),
            reason: reason.to_owned(),
        };
        let DeValue::Table(tables) = value else {
            return Err(fault(origin, CHAINS, "expected tables such as [chains.X]"));
        };
        if tables.len() > MAX_CHAIN_TABLES {
            let reason = format!("at most {MAX_CHAIN_TABLES} tables");
            return Err(fault(origin, CHAINS, &reason));
        }
        let mut chains = BTreeMap::new();
        for (name, value) in tables {
            let origin = self.origin(name.span().start);
            let DeValue::Table(table) = value.get_ref() else {
                let place = format!("{CHAINS}.{}", name.get_ref());
                return Err(fault(&origin, &place, "expected a table such as [chains.X]"));
            };
            let (values, ignored) = self.chain(table)?;
            chains.insert(name.get_ref().to_string(), ChainTable { origin, values, ignored });
        }
        Ok(chains)
    }

    /// Settings of a chain, and names of the reference's settings without effect here.
    fn chain(&self, table: &DeTable<'_>) -> Result<(Values, Vec<&'static str>), ConfigError> {
        let (mut values, mut ignored) = (Values::new(), Vec::new());
        for (name, value) in table {
            let origin = self.origin(name.span().start);
            let name = match name.get_ref().as_ref() {
                // Names of older releases.
                "coreth-admin-api-enabled" => "admin-api-enabled",
                "coreth-admin-api-dir" => "admin-api-dir",
                name => name,
            };
            if let Some(known) = keys::UNUSED_REFERENCE_KEYS.iter().find(|known| **known == name) {
                ignored.push(*known);
                continue;
            }
            let key = keys::find(CHAIN_KEYS, name).ok_or_else(|| {
                let known = CHAIN_KEYS.iter().map(|key| key.name);
                unknown(origin.clone(), "key", name, known)
            })?;
            values.insert(key.name, self.value(key, value.get_ref(), origin)?);
        }
        Ok((values, ignored))
    }

    fn value(
        &self,
        key: &Key,
        value: &DeValue<'_>,
        origin: Origin,
    ) -> Result<ConfiguredValue, ConfigError> {
        let text = (key.text_of_toml)(value).and_then(|text| (key.check)(&text));
        match text {
            Ok(text) => Ok(ConfiguredValue { text: self.located(key.name, text), origin }),
            Err(error) => {
                let (key, reason) = (key.name.to_owned(), error.to_string());
                Err(ConfigError::Value { origin, key, reason })
            }
        }
    }

    /// Resolves relative paths against the file's folder.
    fn located(&self, key: &str, text: String) -> String {
        let is_path = match key {
            "network" => text.contains(['/', '\\', '.']),
            _ => PATHS.contains(&key),
        };
        match self.path.parent() {
            Some(folder) if is_path && !text.is_empty() => folder.join(&text).display().to_string(),
            _ => text,
        }
    }

    fn origin(&self, offset: usize) -> Origin {
        Origin::File { path: self.path.to_owned(), line: self.line(offset) }
    }

    fn line(&self, offset: usize) -> usize {
        let before = self.text.as_bytes().get(..offset).unwrap_or(self.text.as_bytes());
        1 + before.iter().filter(|byte| **byte == b'\n').count()
    }
}

fn unknown<'a>(
    origin: Origin,
    what: &'static str,
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> ConfigError {
    ConfigError::Unknown { origin, what, name: name.to_owned(), hint: nearest::hint(name, known) }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: Expect) {
        let got = match parse(text, Path::new("dir/esker.toml")) {
            Ok(layer) => {
                let values =
                    layer.values.iter().map(|(k, v)| format!("{k} = {} ({})\n", v.text, v.origin));
                let chains = layer.chains.iter().flat_map(|(name, table)| {
                    table
                        .values
                        .iter()
                        .map(move |(k, v)| format!("{name}.{k} = {} ({})\n", v.text, v.origin))
                });
                values.chain(chains).collect()
            }
            Err(error) => format!("{error}\n"),
        };
        expected.assert_eq(&got);
    }

    #[test]
    fn values_with_their_lines() {
        check(
            "# a comment\nhttp-port = 0x10\nhttp-allowed-hosts = ['a', 'b']\ndata-dir = 'data'\n\
             log-level = 'WARN'\napi-keystore-enabled = false\n\n[chains.X]\nindex-transactions = true\n",
            expect![[r#"
                api-keystore-enabled = false (dir/esker.toml:6)
                data-dir = dir/data (dir/esker.toml:4)
                http-allowed-hosts = a,b (dir/esker.toml:3)
                http-port = 16 (dir/esker.toml:2)
                log-level = warn (dir/esker.toml:5)
                X.index-transactions = true (dir/esker.toml:9)
            "#]],
        );
        check(
            "network = 'local'",
            expect![[r#"
            network = local (dir/esker.toml:1)
        "#]],
        );
        check(
            "network = './mine.json'",
            expect![[r#"
            network = dir/./mine.json (dir/esker.toml:1)
        "#]],
        );
    }

    #[test]
    fn faults_name_place_and_remedy() {
        check(
            "\nhtpp-port = 1",
            expect![[r#"
            dir/esker.toml:2: unknown key "htpp-port", did you mean "http-port"?
        "#]],
        );
        check(
            "xyzzy = 1",
            expect![[r#"
            dir/esker.toml:1: unknown key "xyzzy"
        "#]],
        );
        check(
            "[chains.X]\nindex-transaction = true",
            expect![[r#"
            dir/esker.toml:2: unknown key "index-transaction", did you mean "index-transactions"?
        "#]],
        );
        check(
            "[chain.X]",
            expect![[r#"
            dir/esker.toml:1: unknown key "chain", did you mean "chains"?
        "#]],
        );
        check(
            "http-port = '9650'",
            expect![[r#"
            dir/esker.toml:1: http-port: expected a whole number, found a string
        "#]],
        );
        check(
            "http-port = 65536",
            expect![[r#"
            dir/esker.toml:1: http-port: expected a whole number from 0 to 65535
        "#]],
        );
        check(
            "http-port = 99999999999999999999999999999999999999999",
            expect![[r#"
            dir/esker.toml:1: http-port: the number is too large
        "#]],
        );
        check(
            "index-enabled = 1",
            expect![[r#"
            dir/esker.toml:1: index-enabled: expected true or false, found an integer
        "#]],
        );
        check(
            "http-allowed-hosts = ['a', 1]",
            expect![[r#"
            dir/esker.toml:1: http-allowed-hosts: in the list: expected a string, found an integer
        "#]],
        );
        check(
            "http-allowed-hosts = ['a,b']",
            expect![[r#"
            dir/esker.toml:1: http-allowed-hosts: an entry of the list holds ','
        "#]],
        );
        check(
            "http-idle-timeout = 30",
            expect![[r#"
            dir/esker.toml:1: http-idle-timeout: a time needs its unit: "30s"
        "#]],
        );
        check(
            "config = 'other.toml'",
            expect![[r#"
            dir/esker.toml:1: config: a configuration file can't name another one
        "#]],
        );
        check(
            "chains = 1",
            expect![[r#"
            dir/esker.toml:1: chains: expected tables such as [chains.X]
        "#]],
        );
        check(
            "[chains]\nX = 1",
            expect![[r#"
            dir/esker.toml:2: chains.X: expected a table such as [chains.X]
        "#]],
        );
        check(
            "a = 1\nb = ",
            expect![[r#"
            dir/esker.toml:2: string values must be quoted, expected literal string
        "#]],
        );
        check(
            "http-port = 1\nhttp-port = 2",
            expect![[r#"
            dir/esker.toml:2: duplicate key
        "#]],
        );
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,200}") {
            let _total = parse(&text, Path::new("x.toml"));
        }

        #[test]
        fn any_value_of_any_key_is_read_or_refused(
            key in prop::sample::select(KEYS.iter().map(|key| key.name).collect::<Vec<_>>()),
            value in prop::sample::select(vec![
                "1", "-1", "1.5", "true", "'x'", "['x']", "[1]", "{}", "{a=1}", "1979-05-27", "nan", "''",
            ]),
        ) {
            let _total = parse(&format!("{key} = {value}\n[chains.X]\n{key} = {value}"), Path::new("x.toml"));
        }
    }
}
