//! The node's settings as `getConfig` and `getSettings` show them, without secrets.

use esker_fork::source::SourceAddress;
use esker_settings::config::keys::{CHAIN_KEYS, KEYS, Key};
use esker_settings::config::{Config, Mode, ResolvedSetting};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// Stands for what is not shown.
const HIDDEN: &str = "***";

/// The settings in the forms of the replies.
#[derive(Clone, Debug, Default)]
pub struct ShownSettings {
    /// Of `getConfig`.
    pub config: Value,
    /// Of `getSettings`.
    pub settings: Vec<ShownSetting>,
}

/// A setting with its value and its origin.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShownSetting {
    /// Its name; `chains.NAME.key` for a chain's setting.
    name: String,
    /// Its value: a number, `true` or `false`, a list, or a text.
    value: Value,
    /// The value that applies if nothing sets it.
    default: Value,
    /// `default`, `file`, `env`, `flag`; `dev` and `evm`: the command's own default; `public`: the profile of a public node;
    /// `fork`: the block on which the chain begins; `reset`: a reset to another chain.
    origin: &'static str,
    /// The line of the file, the variable, or the flag.
    place: Option<String>,
}

/// The settings of a node with this data folder.
pub(crate) fn shown(config: &Config, data_dir: &std::path::Path) -> ShownSettings {
    let settings = config.values.iter().map(|setting| {
        let effective = |value: Value| match setting.name.as_str() {
            "data-dir" => data_dir.display().to_string().into(),
            "api-keystore-enabled" => config.keystore_enabled().into(),
            _ => value,
        };
        let key = key_of(&setting.name);
        let show = |text: &str| typed(key, &without_secrets(key, text));
        ShownSetting {
            name: setting.name.clone(),
            value: effective(show(&setting.text)),
            default: show(&setting.default),
            origin: origin(config, key, setting),
            place: setting.origin.place(),
        }
    });
    let settings: Vec<_> = settings.collect();
    ShownSettings { config: by_name(&settings), settings }
}

/// Every setting of the node with its value, and the settings of its chains that were given.
fn by_name(settings: &[ShownSetting]) -> Value {
    let (mut node, mut chains) = (Map::new(), Map::new());
    for ShownSetting { name, value, .. } in settings {
        match chain_of(name) {
            Some((chain, key)) => {
                let settings = chains.entry(chain).or_insert_with(|| Map::new().into());
                settings[key] = value.clone();
            }
            None => {
                node.insert(name.clone(), value.clone());
            }
        }
    }
    node.insert("chains".to_owned(), chains.into());
    Value::Object(node)
}

/// The chain of a chain's setting, and the setting's name there.
fn chain_of(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix("chains.").and_then(|name| name.rsplit_once('.'))
}

fn key_of(name: &str) -> Option<&'static Key> {
    let (keys, name) = chain_of(name).map_or((KEYS, name), |(_, key)| (CHAIN_KEYS, key));
    keys.iter().find(|key| key.name == name)
}

fn origin(config: &Config, key: Option<&Key>, setting: &ResolvedSetting) -> &'static str {
    let kind = setting.origin.kind();
    let is_of_command = key.is_some_and(|key| setting.default != key.default);
    match (config.mode, kind) {
        (Mode::Dev, "default") if is_of_command => "dev",
        (Mode::Evm, "default") if is_of_command => "evm",
        _ => kind,
    }
}

/// The text without passwords, keys in URLs, values of headers, and phrases that are not public.
fn without_secrets(key: Option<&Key>, text: &str) -> String {
    let Some(key) = key.filter(|_| !text.is_empty()) else { return text.to_owned() };
    match key.name {
        "fork-url" => {
            let urls = text.split(',').map(|url| {
                let address = SourceAddress::parse(url.trim());
                address.map_or_else(|_| HIDDEN.to_owned(), |address| address.to_string())
            });
            urls.collect::<Vec<_>>().join(",")
        }
        "fork-header" => {
            let headers = text.lines().map(|header| {
                let name = header.split_once(':').map_or("", |(name, _)| name);
                format!("{name}: {HIDDEN}")
            });
            headers.collect::<Vec<_>>().join("\n")
        }
        "mnemonic" if text != key.dev_default => HIDDEN.to_owned(),
        _ => text.to_owned(),
    }
}

/// A value as JSON. The setting decides whether it is a number, `true` or `false`, or a text.
fn typed(key: Option<&Key>, text: &str) -> Value {
    let kind = key.map_or("", |key| key.kind);
    if kind.contains("separated") {
        let separator = if kind.contains("comma") { ',' } else { ' ' };
        return text.split(separator).filter(|item| !item.is_empty()).map(Value::from).collect();
    }
    match text {
        "true" => true.into(),
        "false" => false.into(),
        number if kind.starts_with("whole number") => {
            number.parse::<u64>().map_or_else(|_| text.into(), Value::from)
        }
        text => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use esker_settings::config::Flags;
    use expect_test::expect;

    use super::*;

    fn load(mode: Mode, flags: &[(&'static str, &str)], env: &[(&str, &str)]) -> ShownSettings {
        let flags: Flags = flags.iter().map(|(name, text)| (*name, (*text).to_owned())).collect();
        let env: Vec<_> =
            env.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        shown(&Config::load(mode, flags, env).unwrap(), Path::new("/data"))
    }

    fn lines(shown: &ShownSettings, names: &[&str]) -> String {
        let wanted = |setting: &&ShownSetting| names.contains(&setting.name.as_str());
        let line = |setting: &ShownSetting| {
            let ShownSetting { name, value, default, origin, place } = setting;
            format!(
                "{name}: {value}, else {default}: {origin} {}\n",
                place.as_deref().unwrap_or("-")
            )
        };
        shown.settings.iter().filter(wanted).map(line).collect()
    }

    #[test]
    fn each_setting_has_its_origin() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("esker.toml");
        let text = "native-aliases = ['A', 'B']\n[chains.X]\nlog-level = 'warn'\n";
        std::fs::write(&file, text).unwrap();
        let flags = [("http-port", "0"), ("config", file.to_str().unwrap())];
        let shown = load(Mode::Dev, &flags, &[("ESKER_INDEX_ENABLED", "true"), ("HOME", "/home")]);
        let names = [
            "http-port",
            "native-aliases",
            "index-enabled",
            "evm-port",
            "data-dir",
            "api-keystore-enabled",
            "log-level",
            "chains.X.log-level",
        ];
        let text = lines(&shown, &names).replace(file.to_str().unwrap(), "FILE");
        expect![[r#"
            data-dir: "/data", else "": default -
            native-aliases: ["A","B"], else ["NAT","AVAX"]: file FILE:1
            http-port: 0, else 9650: flag --http-port
            evm-port: 8545, else 8545: dev -
            api-keystore-enabled: true, else "auto": default -
            index-enabled: true, else false: env ESKER_INDEX_ENABLED
            log-level: "info", else "info": default -
            chains.X.log-level: "warn", else "": file FILE:3
        "#]]
        .assert_eq(&text);
        assert_eq!(shown.config["chains"], serde_json::json!({"X": {"log-level": "warn"}}));
    }

    #[test]
    fn secrets_are_not_shown() {
        let flags = [
            ("fork-url", "https://user:hunter22@eth.example/v2/0123456789abcdef,http://b.example"),
            ("fork-header", "Authorization: Bearer abcdef\nX-Key: abcdef"),
            (
                "mnemonic",
                "legal winner thank year wave sausage worth useful legal winner thank yellow",
            ),
        ];
        let shown = load(Mode::Evm, &flags, &[]);
        expect![[r#"
            mnemonic: "***", else "test test test test test test test test test test test junk": flag --mnemonic
            fork-url: ["https://eth.example:443/v2/***","http://b.example:80"], else []: flag --fork-url
            fork-header: "Authorization: ***\nX-Key: ***", else "": flag --fork-header
        "#]]
        .assert_eq(&lines(&shown, &["mnemonic", "fork-url", "fork-header"]));
        let all = format!("{shown:?}");
        for secret in ["hunter22", "0123456789abcdef", "abcdef", "legal"] {
            assert!(!all.contains(secret), "{secret} is shown");
        }
        let public = load(Mode::Evm, &[], &[]);
        assert!(lines(&public, &["mnemonic"]).starts_with("mnemonic: \"test test"));
        assert!(lines(&public, &["network"]).contains("evm -"), "{}", lines(&public, &["network"]));
    }
}
