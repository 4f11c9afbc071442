//! The node of the other network, and what it says of its network.

use esker_fork::source::{Answer, Call, Source, SourceAddress, SourceLimits};
use esker_primitives::{AssetId, excerpt, network};
use esker_settings::config::{Config, Settings};
use serde_json::{Value, json};

use crate::chains::source_limits;
use crate::wiring::error::StartError;

/// The setting that names the node.
pub(super) const SETTING: &str = "fork-x";
/// The setting of the addresses.
pub(super) const ADDRESSES: &str = "fork-x-address";

/// A fault of a setting.
pub(super) fn fault(name: &'static str, reason: impl Into<String>) -> StartError {
    StartError::ForkSetting { name, reason: reason.into() }
}

/// The node of the other network.
pub(super) struct XSource {
    chain: Source,
    info: Source,
}

/// What the node says of its network.
#[derive(Debug)]
pub(super) struct OtherNetwork {
    pub(super) id: u32,
    /// Human-readable part of its addresses.
    pub(super) hrp: &'static str,
    pub(super) native_asset_id: AssetId,
}

impl XSource {
    /// Opens nothing yet.
    ///
    /// # Errors
    /// The setting is not the URL of a node, or of its X-Chain.
    pub(super) fn new(config: &Config) -> Result<Self, StartError> {
        let settings = &config.settings;
        let (chain, info) = endpoints(&settings.fork_x)?;
        // AvalancheGo takes one call in a request.
        let limits = SourceLimits { max_batch: 1, ..source_limits(settings) };
        let source = |url: &str| -> Result<Source, StartError> {
            let addresses = vec![address(url, settings)?];
            Ok(Source::new(addresses, config.dialer.clone(), limits.clone()))
        };
        Ok(Self { chain: source(&chain)?, info: source(&info)? })
    }

    /// The URL of the X-Chain, without secrets.
    pub(super) fn url(&self) -> &str {
        self.chain.url()
    }

    /// An answer of this source that can't be used.
    pub(super) fn garbage(&self, method: &str, reason: impl std::fmt::Display) -> StartError {
        fault(SETTING, format!("{}: {method}: {reason}", self.url()))
    }

    pub(super) async fn call(
        &self,
        method: &'static str,
        params: Value,
    ) -> Result<Value, StartError> {
        answer(self.chain.call(Call::new(method, params)).await)
    }

    /// Calls a method several times, in requests of their own.
    pub(super) async fn calls(&self, calls: &[Call]) -> Result<Vec<Value>, StartError> {
        self.chain.batch(calls).await.into_iter().map(answer).collect()
    }

    /// Asks for the network and its native asset.
    pub(super) async fn network(&self) -> Result<OtherNetwork, StartError> {
        const NETWORK: &str = "info.getNetworkID";
        const ASSET: &str = "avm.getAssetDescription";
        let found = answer(self.info.call(Call::new(NETWORK, json!({}))).await)?;
        let id = number(&found["networkID"]).and_then(|id| u32::try_from(id).ok());
        let id = id.ok_or_else(|| self.garbage(NETWORK, shown(&found)))?;
        let found = self.call(ASSET, json!({ "assetID": "AVAX" })).await?;
        let asset = found["assetID"].as_str().and_then(|text| text.parse().ok());
        let native_asset_id = asset.ok_or_else(|| self.garbage(ASSET, shown(&found)))?;
        Ok(OtherNetwork { id, hrp: network::hrp(id), native_asset_id })
    }

    /// The height of the X-Chain.
    pub(super) async fn height(&self) -> Result<u64, StartError> {
        const METHOD: &str = "avm.getHeight";
        let found = self.call(METHOD, json!({})).await?;
        number(&found["height"]).ok_or_else(|| self.garbage(METHOD, shown(&found)))
    }
}

fn answer<E: std::fmt::Display>(answer: Result<Answer, E>) -> Result<Value, StartError> {
    answer.map(|answer| answer.result).map_err(|error| fault(SETTING, error.to_string()))
}

/// What an answer is, for an error.
pub(super) fn shown(answer: &Value) -> String {
    format!("not the expected answer: {}", excerpt(&answer.to_string()))
}

/// A number, as a number or as text.
fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

fn address(url: &str, settings: &Settings) -> Result<SourceAddress, StartError> {
    let address = SourceAddress::parse(url).map_err(|error| fault(SETTING, error.to_string()))?;
    // Headers are given for one node.
    let mut headers = settings.fork_header.0.iter().filter(|_| settings.fork_url.0.is_empty());
    headers.try_fold(address, |address, header| {
        address.with_header(header).map_err(|error| fault("fork-header", error.to_string()))
    })
}

/// The URLs of the X-Chain and of the info API.
fn endpoints(url: &str) -> Result<(String, String), StartError> {
    let (path, query) = match url.split_once('?') {
        Some((path, query)) => (path, format!("?{query}")),
        None => (url, String::new()),
    };
    let path = path.trim_end_matches('/');
    let (base, chain) = path.split_once("/ext/bc/").unwrap_or((path, "X"));
    let is_other = ["C", "P"].contains(&chain) || chain.contains('/') || base.contains("/ext");
    if is_other {
        let reason = "expected the URL of a node or of its X-Chain: http://HOST:PORT[/ext/bc/X]";
        return Err(fault(SETTING, reason));
    }
    Ok((format!("{base}/ext/bc/{chain}{query}"), format!("{base}/ext/info{query}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_urls() {
        for (given, chain, info) in [
            ("http://h:1", "http://h:1/ext/bc/X", "http://h:1/ext/info"),
            ("http://h:1/", "http://h:1/ext/bc/X", "http://h:1/ext/info"),
            ("http://h/ext/bc/X/", "http://h/ext/bc/X", "http://h/ext/info"),
            ("https://h/a?k=v", "https://h/a/ext/bc/X?k=v", "https://h/a/ext/info?k=v"),
        ] {
            assert_eq!(endpoints(given).unwrap(), (chain.to_owned(), info.to_owned()));
        }
        for other in ["http://h/ext/bc/C/rpc", "http://h/ext/bc/P", "http://h/ext/info"] {
            let refused = endpoints(other).unwrap_err().to_string();
            assert!(refused.contains("expected the URL of a node or of its X-Chain"), "{refused}");
        }
    }
}
