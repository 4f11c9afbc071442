//! Names of what a transaction of an EVM chain did: its contract, function, events and error.

use std::collections::HashMap;
use std::path::PathBuf;

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use esker_artifacts::{Folders, Found, IMPLEMENTATION_SLOT, Registry, delegate_of};
use esker_primitives::{excerpt, plain_text};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::OnlineError;
use super::connection::Connection;

/// Most events that get names.
const MAX_EVENTS: usize = 100;
/// Most characters of a reason.
const MAX_REASON: usize = 500;
/// Most characters of a line of a trace.
const MAX_LINE: usize = 2500;

/// What is shown by name.
#[derive(Clone, Debug, Default)]
pub(super) struct NameTerms {
    /// Folders of artifacts.
    pub(super) artifacts: Vec<PathBuf>,
    /// Whether all calls are shown.
    pub(super) has_trace: bool,
}

/// Names where they are known. Texts of one line.
#[derive(Debug, Default)]
pub(super) struct TxNames {
    /// The contract that the transaction created.
    pub(super) contract: Option<String>,
    /// The function that it called, or the constructor with its arguments.
    pub(super) call: Option<String>,
    /// Why it failed.
    pub(super) reason: Option<String>,
    /// The first events, those that are known.
    pub(super) events: Vec<String>,
    /// Its calls and events, one a line.
    pub(super) trace: Option<Vec<String>>,
}

/// Finds the names of a transaction with its receipt.
pub(super) fn of_tx(names: &mut Names<'_>, tx: &Value) -> Result<TxNames, OnlineError> {
    let receipt = &tx["receipt"];
    let mut of_tx = TxNames::default();
    if let Some(created) = receipt["contractAddress"].as_str() {
        let found = names.contract(created)?.found;
        let creation = names.registry.creation(found.as_ref(), &bytes(&tx["input"]));
        of_tx.call = creation.map(|creation| creation.to_string());
        of_tx.contract = found.map(|found| found.label().to_string());
    } else if let Some(to) = tx["to"].as_str() {
        let input = bytes(&tx["input"]);
        let known = names.called(to, &input)?;
        let call = names.registry.call(known.found.as_ref(), &input);
        of_tx.call = call.filter(|_| known.has_code).map(|call| call.to_string());
    }
    for log in receipt["logs"].as_array().into_iter().flatten().take(MAX_EVENTS) {
        of_tx.events.extend(names.event(log)?);
    }
    if receipt["status"] == "0x0" {
        of_tx.reason = names.reason(&tx["hash"]);
    }
    Ok(of_tx)
}

fn registry(folders: &[PathBuf]) -> Result<Registry, OnlineError> {
    let registry = Registry::default();
    if folders.is_empty() {
        return Ok(registry);
    }
    if let Some(missing) = folders.iter().find(|folder| !folder.is_dir()) {
        return Err(OnlineError::Argument {
            name: "--artifacts",
            text: excerpt(&missing.display().to_string()).into_owned(),
            reason: "there is no such folder".to_owned(),
        });
    }
    let mut read = Folders::new(folders.to_vec());
    // Files that can't be used are left out.
    read.scan();
    registry.replace(read.contracts());
    Ok(registry)
}

/// The contract at an address.
#[derive(Clone, Debug)]
struct Known {
    has_code: bool,
    found: Option<Found>,
    /// The contract to which its code delegates.
    delegate: Option<Address>,
}

impl Known {
    const NOTHING: Self = Self { has_code: false, found: None, delegate: None };
}

/// Names by the code of a chain's contracts.
pub(super) struct Names<'a> {
    node: &'a mut Connection,
    alias: &'a str,
    registry: Registry,
    /// By address.
    found: HashMap<String, Known>,
    /// What the slots of proxies name, by the proxy's address.
    implementations: HashMap<String, Option<Address>>,
}

impl<'a> Names<'a> {
    /// Names by the artifacts of these folders, and by common standards.
    pub(super) fn new(
        node: &'a mut Connection,
        alias: &'a str,
        folders: &[PathBuf],
    ) -> Result<Self, OnlineError> {
        let registry = registry(folders)?;
        let (found, implementations) = (HashMap::new(), HashMap::new());
        Ok(Self { node, alias, registry, found, implementations })
    }

    /// Calls a method of the chain.
    pub(super) fn ask<R: DeserializeOwned>(
        &mut self,
        method: &str,
        params: Value,
    ) -> Result<R, OnlineError> {
        self.node.evm(self.alias, method, params)
    }

    /// A call of a trace: its kind, its function, its gas.
    pub(super) fn frame(&mut self, frame: &Value) -> Result<String, OnlineError> {
        let text = |name: &str| frame[name].as_str().unwrap_or_default();
        let (kind, to, input) = (text("type"), text("to"), bytes(&frame["input"]));
        let known = match to {
            "" => Known::NOTHING,
            to if kind.starts_with("CREATE") => self.contract(to)?,
            to => self.called(to, &input)?,
        };
        let what = if kind.starts_with("CREATE") {
            let creation = self.registry.creation(known.found.as_ref(), &input);
            let label = || known.found.map(|found| found.label().to_string());
            let name = creation.map(|creation| creation.to_string()).or_else(label);
            name.map_or_else(|| to.to_owned(), |name| format!("{name} at {to}"))
        } else {
            let call = self.registry.call(known.found.as_ref(), &input);
            let unknown = || match input.len() {
                0 => to.to_owned(),
                length => format!("{to} with {length} bytes"),
            };
            call.filter(|_| known.has_code).map_or_else(unknown, |call| call.to_string())
        };
        let gas: U256 = serde_json::from_value(frame["gasUsed"].clone()).unwrap_or_default();
        Ok(plain_text(&format!("{kind} {what} ({gas} gas)"), MAX_LINE))
    }

    /// Why a call of a trace failed; `None`: it did not.
    pub(super) fn failure(&self, frame: &Value) -> Option<String> {
        let error = frame["error"].as_str()?;
        let custom =
            || self.registry.error(&bytes(&frame["output"])).map(|error| error.to_string());
        let reason = frame["revertReason"].as_str().map(str::to_owned).or_else(custom);
        let text = reason.map_or_else(|| error.to_owned(), |reason| format!("{error}: {reason}"));
        Some(plain_text(&text, MAX_REASON))
    }

    fn contract(&mut self, address: &str) -> Result<Known, OnlineError> {
        if let Some(known) = self.found.get(address) {
            return Ok(known.clone());
        }
        let params = json!([address, "latest"]);
        let code: Bytes = self.ask("evm_getCode", params)?;
        let found = self.registry.contract(keccak256(&code), || Ok::<_, OnlineError>(&code))?;
        let known = Known { has_code: !code.is_empty(), found, delegate: delegate_of(&code) };
        self.found.insert(address.to_owned(), known.clone());
        Ok(known)
    }

    /// The contract that a call of an address runs.
    fn called(&mut self, address: &str, input: &[u8]) -> Result<Known, OnlineError> {
        self.with_item(address, |found| found.has_function(input))
    }

    /// The contract at an address, or that to which it delegates if only that one has an item.
    fn with_item(
        &mut self,
        address: &str,
        has_item: impl Fn(&Found) -> bool,
    ) -> Result<Known, OnlineError> {
        let own = self.contract(address)?;
        let is_found = own.found.as_ref().is_some_and(&has_item);
        if self.registry.is_empty() || !own.has_code || is_found {
            return Ok(own);
        }
        let Some(behind) = self.implementation(address, &own)? else { return Ok(own) };
        let behind = self.contract(&behind.to_string())?.found;
        let behind = behind.filter(|found| own.found.is_none() || has_item(found));
        Ok(Known { found: behind.or(own.found), ..own })
    }

    /// The contract to which a contract passes calls on.
    fn implementation(
        &mut self,
        address: &str,
        known: &Known,
    ) -> Result<Option<Address>, OnlineError> {
        if known.delegate.is_some() {
            return Ok(known.delegate);
        }
        if let Some(found) = self.implementations.get(address) {
            return Ok(*found);
        }
        let stored: B256 =
            self.ask("evm_getStorageAt", json!([address, IMPLEMENTATION_SLOT, "latest"]))?;
        let found = (!stored.is_zero()).then(|| Address::from_word(stored));
        self.implementations.insert(address.to_owned(), found);
        Ok(found)
    }

    /// An event of a receipt or a trace, if it is known.
    pub(super) fn event(&mut self, log: &Value) -> Result<Option<String>, OnlineError> {
        let topics: Vec<B256> = serde_json::from_value(log["topics"].clone()).unwrap_or_default();
        let found = match log["address"].as_str().filter(|_| !self.registry.is_empty()) {
            Some(address) => self.with_item(address, |found| found.has_event(&topics))?.found,
            None => None,
        };
        let event = self.registry.event(found.as_ref(), &topics, &bytes(&log["data"]));
        Ok(event.map(|event| event.to_string()))
    }

    /// Why a transaction failed; `None` also if the node does not trace.
    fn reason(&mut self, hash: &Value) -> Option<String> {
        let config = json!({"tracer": "callTracer", "tracerConfig": {"onlyTopCall": true}});
        let params = json!([hash, config]);
        let frame: Value = self.ask("debug_traceTransaction", params).ok()?;
        self.failure(&frame)
    }
}

fn bytes(value: &Value) -> Bytes {
    serde_json::from_value(value.clone()).unwrap_or_default()
}
