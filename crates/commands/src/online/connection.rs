//! The running node that a command works with.

use std::time::Duration;

use alloy_primitives::U256;
use esker_client::{CallError, HttpClient, RpcClient, XvmClient};
use esker_node::clock::SystemClock;
use esker_primitives::{AssetId, Clock as _, network};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::OnlineError;
use super::target::C;
use crate::node_url::NodeUrl;

/// Time that the node may take for an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// How an asset VM's endpoint refuses a method that it does not have.
const NO_SERVICE: &str = "rpc: can't find service";

/// The asset of fees on the asset VM's chains, and of balances on EVM chains.
pub(super) const NATIVE: &str = "NAT";

/// Decimal places of the native asset on chains of the asset VM.
pub(super) const NANO_DECIMALS: u8 = 9;

/// Decimal places of the native asset on EVM chains.
pub(super) const WEI_DECIMALS: u8 = 18;

/// A running node.
#[derive(Debug)]
pub(super) struct Connection {
    url: NodeUrl,
    http: HttpClient,
    rpc: RpcClient,
}

/// An asset, as people name it.
#[derive(Clone, Debug)]
pub(super) struct Asset {
    /// None: the coin of an EVM chain other than C, which is perhaps an asset of some chain.
    pub(super) id: Option<AssetId>,
    pub(super) symbol: String,
    /// Decimal places of its amounts.
    pub(super) decimals: u8,
    pub(super) is_native: bool,
}

impl Connection {
    /// A connection to the node at `url`; nothing is sent yet.
    pub(super) fn new(url: &NodeUrl) -> Result<Self, OnlineError> {
        let http = url
            .client(PATIENCE)
            .map_err(|reason| OnlineError::Url { url: url.url.clone(), reason })?;
        Ok(Self { url: url.clone(), rpc: RpcClient::over(http.clone()), http })
    }

    /// Lets the node take so long for an answer.
    pub(super) fn with_patience(mut self, patience: Duration) -> Self {
        self.http = self.http.with_timeout(patience);
        self.rpc = RpcClient::over(self.http.clone());
        self
    }

    /// The node's address, as given.
    pub(super) fn url(&self) -> &str {
        &self.url.url
    }

    /// The node's address in a form that can be compared.
    pub(super) fn normal_url(&self) -> String {
        self.url.normal()
    }

    /// Whether the node is on this machine.
    pub(super) fn is_loopback(&self) -> bool {
        self.http.addresses().iter().all(|address| address.ip().to_canonical().is_loopback())
    }

    /// The HTTP client, for typed calls.
    pub(super) const fn http(&self) -> &HttpClient {
        &self.http
    }

    /// Calls of an asset-VM chain.
    pub(super) fn asset_chain(&self, alias: &str) -> XvmClient {
        XvmClient::over(RpcClient::over(self.http.clone()), alias)
    }

    /// Calls a method at a path.
    pub(super) fn call<R: DeserializeOwned>(
        &mut self,
        path: &str,
        method: &str,
        params: Value,
    ) -> Result<R, OnlineError> {
        let result = self.rpc.call(path, method, params);
        result.map_err(|error| self.error(path, method, error))
    }

    /// Calls a method of an EVM chain.
    pub(super) fn evm<R: DeserializeOwned>(
        &mut self,
        alias: &str,
        method: &str,
        params: Value,
    ) -> Result<R, OnlineError> {
        self.call(&format!("/ext/bc/{alias}/rpc"), method, params)
    }

    /// Calls a control of a development node.
    pub(super) fn control<R: DeserializeOwned>(
        &mut self,
        method: &str,
        params: Value,
    ) -> Result<R, OnlineError> {
        self.call("/ext/bc/X", method, params).map_err(|error| match error {
            OnlineError::Call { error: CallError::Rpc { message, .. }, .. }
                if message.starts_with(NO_SERVICE) =>
            {
                OnlineError::NotDevelopment(self.url().to_owned())
            }
            other => other,
        })
    }

    /// The clock of a development node, Unix seconds; other nodes are refused.
    pub(super) fn development_time(&mut self) -> Result<u64, OnlineError> {
        self.clock("dev.getTime", json!({}))
    }

    /// The clock of a development node after a control that shows or moves it, Unix seconds.
    pub(super) fn clock(&mut self, method: &str, params: Value) -> Result<u64, OnlineError> {
        let reply: Value = self.control(method, params)?;
        let time = reply["timestamp"].as_str().and_then(|text| text.parse().ok());
        time.ok_or_else(|| unexpected(method, &reply))
    }

    /// The time that decides which locked outputs can be spent, Unix seconds.
    pub(super) fn time(&mut self) -> Result<u64, OnlineError> {
        match self.development_time() {
            Err(OnlineError::NotDevelopment(_)) => Ok(SystemClock.now_s()),
            result => result,
        }
    }

    /// The prefix of the network's addresses.
    pub(super) fn address_prefix(&mut self) -> Result<&'static str, OnlineError> {
        let reply: Value = self.call("/ext/info", "info.getNetworkID", json!({}))?;
        let id = reply["networkID"].as_str().and_then(|text| text.parse().ok());
        id.map(network::hrp).ok_or_else(|| unexpected("info.getNetworkID", &reply))
    }

    /// An asset of an asset-VM chain by ID or alias; the native one without. The node's word, but for the native asset's
    /// decimal places and an ID that was asked for.
    pub(super) fn asset(&mut self, alias: &str, name: Option<&str>) -> Result<Asset, OnlineError> {
        let path = format!("/ext/bc/{alias}");
        let mut describe = |name: &str| -> Result<Value, OnlineError> {
            self.call(&path, "xvm.getAssetDescription", json!({"assetID": name}))
        };
        let native = describe(NATIVE)?;
        let found = match name {
            Some(name) => describe(name)?,
            None => native.clone(),
        };
        let decimals = found["denomination"].as_str().and_then(|text| text.parse().ok());
        let id = found["assetID"].as_str().and_then(|text| text.parse().ok());
        match (id, decimals) {
            (Some(id), Some(decimals)) if is_asked_for(name, &id) => {
                let is_native = found["assetID"] == native["assetID"];
                let symbol = match is_native {
                    // Each network has its own there.
                    true if decimals != NANO_DECIMALS => {
                        return Err(unexpected("xvm.getAssetDescription", &found));
                    }
                    true => NATIVE.to_owned(),
                    false => found["symbol"].as_str().unwrap_or_default().to_owned(),
                };
                Ok(Asset { id: Some(id), symbol, decimals, is_native })
            }
            _ => Err(unexpected("xvm.getAssetDescription", &found)),
        }
    }

    /// The coin of an EVM chain.
    pub(super) fn coin(&mut self, alias: &str) -> Result<Asset, OnlineError> {
        let decimals = WEI_DECIMALS;
        if alias == C {
            return Ok(Asset { decimals, ..self.asset("X", None)? });
        }
        Ok(Asset { id: None, symbol: "coin".to_owned(), decimals, is_native: true })
    }

    /// The alias and the coin of an EVM chain: of the named one, else of C, else of the node's only chain.
    pub(super) fn evm_chain(&mut self, name: Option<&str>) -> Result<(String, Asset), OnlineError> {
        let alias = name.unwrap_or(C);
        match self.coin(alias) {
            Err(error @ OnlineError::NotServed { .. }) if name.is_none() => {
                let only = self.only_chain().ok_or(error)?;
                let coin = self.coin(&only)?;
                Ok((only, coin))
            }
            coin => Ok((alias.to_owned(), coin?)),
        }
    }

    /// The EVM chain of a development node's accounts; other nodes are refused.
    pub(super) fn development_chain(&mut self) -> Result<String, OnlineError> {
        match self.development_time() {
            Ok(_) => Ok(C.to_owned()),
            Err(error @ OnlineError::NotServed { .. }) => self.only_chain().ok_or(error),
            Err(error) => Err(error),
        }
    }

    /// The alias of the only chain of a node, as `esker evm` has it; `None` if the node has more chains.
    pub(super) fn only_chain(&mut self) -> Option<String> {
        let reply = self.http.request("GET", "/ext/status", &[], b"").ok()?;
        let status: Value = serde_json::from_slice(&reply.body).ok()?;
        let [chain] = status["chains"].as_array()?.as_slice() else { return None };
        let alias = chain["alias"].as_str()?;
        // It becomes a part of a path.
        let is_alias = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        (!alias.is_empty() && alias.bytes().all(is_alias)).then(|| alias.to_owned())
    }

    /// Wei of an account on an EVM chain, in the last block.
    pub(super) fn wei_balance(
        &mut self,
        alias: &str,
        address: &impl serde::Serialize,
    ) -> Result<U256, OnlineError> {
        self.evm(alias, "evm_getBalance", json!([address, "latest"]))
    }

    /// The error of a call.
    pub(super) fn error(&self, path: &str, method: &str, error: CallError) -> OnlineError {
        match error {
            CallError::Http(error) => {
                OnlineError::Unreachable { url: self.url().to_owned(), error: error.to_string() }
            }
            CallError::Status { status: 404, .. } => {
                OnlineError::NotServed { url: self.url().to_owned(), path: path.to_owned() }
            }
            error => OnlineError::Call { method: method.to_owned(), error },
        }
    }

    /// Like [`Self::error`], for a typed call of an asset-VM chain.
    pub(super) fn xvm_error(&self, alias: &str, method: &str, error: CallError) -> OnlineError {
        self.error(&format!("/ext/bc/{alias}"), &format!("xvm.{method}"), error)
    }
}

/// Whether an asset is that of the name, if the name is an ID.
fn is_asked_for(name: Option<&str>, id: &AssetId) -> bool {
    name.and_then(|name| name.parse::<AssetId>().ok()).is_none_or(|asked| asked == *id)
}

/// A reply without what the method replies.
pub(super) fn unexpected(method: &str, reply: &Value) -> OnlineError {
    OnlineError::Call { method: method.to_owned(), error: CallError::Unexpected(reply.to_string()) }
}
