//! The node's settings as `getConfig` shows them. None of them is a secret.

use esker_settings::config::Config;
use esker_settings::config::keys::{CHAIN_KEYS, KEYS, Key};
use serde_json::{Map, Value};

/// Every setting of the node with its effective value, and the settings of its chains that were given.
pub(crate) fn shown(config: &Config, data_dir: &std::path::Path) -> Value {
    let (mut node, mut chains) = (Map::new(), Map::new());
    for setting in &config.values {
        let chain = setting.name.strip_prefix("chains.").and_then(|name| name.rsplit_once('.'));
        let value = |keys: &[Key], name: &str| {
            let key = keys.iter().find(|key| key.name == name);
            typed(key, &setting.text)
        };
        match chain {
            Some((chain, name)) => {
                let settings = chains.entry(chain).or_insert_with(|| Map::new().into());
                settings[name] = value(CHAIN_KEYS, name);
            }
            None => {
                node.insert(setting.name.clone(), value(KEYS, &setting.name));
            }
        }
    }
    node.insert("data-dir".to_owned(), data_dir.display().to_string().into());
    node.insert("api-keystore-enabled".to_owned(), config.keystore_enabled().into());
    node.insert("chains".to_owned(), chains.into());
    Value::Object(node)
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
