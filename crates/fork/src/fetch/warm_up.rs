//! Asks the source what a call reads, so that all of it is fetched together.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use alloy_primitives::Address;
use esker_evm_state::not_fetched::LackingCall;
use esker_primitives::sync::Mutex;
use serde_json::{Map, Value, json};
use tokio::sync::watch;
use tokio::time::Instant;

use super::reader::{Ability, StateReader};
use crate::json::{FieldError, Fields};
use crate::misses::Want;
use crate::pin::Pin;
use crate::source::{Call, Fault};

const METHOD: &str = "eth_createAccessList";
/// Most parts of a list that are fetched.
const MAX_PARTS: usize = 2048;
/// Longest data of a call that is asked about.
const MAX_INPUT: usize = 128 << 10;
/// The time that the source has for a list.
const PATIENCE: Duration = Duration::from_secs(5);
/// The time for which a source is not asked after it has given no list in time.
const REST: Duration = Duration::from_secs(300);
/// A source that has refused so many in a row is not asked again.
const MAX_REFUSALS: u32 = 4;
/// Most calls that are remembered.
const MAX_CALLS: usize = 4096;

/// What the source was asked about.
#[derive(Debug, Default)]
pub(super) struct WarmUps {
    ability: Ability,
    /// Refusals in a row.
    refusals: AtomicU32,
    asked: Mutex<Asked>,
}

#[derive(Debug, Default)]
struct Asked {
    hasher: RandomState,
    /// Hashes of calls. None is asked about twice.
    calls: HashSet<u64>,
    /// Recipients that are being asked about. Parallel calls of one contract read much of the same.
    running: HashMap<Option<Address>, watch::Receiver<()>>,
    /// Not asked before this time.
    resting_until: Option<Instant>,
}

/// What a caller does.
enum Claim<'a> {
    Ask(Running<'a>),
    Wait(watch::Receiver<()>),
}

/// What a call reads. Who waits for it is woken when it is dropped.
pub(super) struct Listed<'a> {
    pub(super) wants: BTreeSet<Want>,
    _running: Running<'a>,
}

/// What the source said.
enum Asking {
    Listed(BTreeSet<Want>),
    /// The call ends with a revert there.
    Reverted,
    Refused,
    /// No answer in time.
    Stalled,
}

/// A list that is being fetched. Dropping it wakes who waits.
struct Running<'a> {
    warm_ups: &'a WarmUps,
    to: Option<Address>,
    _sender: watch::Sender<()>,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.warm_ups.asked.lock().running.remove(&self.to);
    }
}

impl WarmUps {
    /// What a call reads at the pinned block; `None` if the source does not say it, or was asked before. Waits if another
    /// caller asks about the same contract.
    pub(super) async fn list(
        &self,
        reader: &StateReader,
        pin: &Pin,
        call: &LackingCall,
    ) -> Option<Listed<'_>> {
        let running = match self.claim(call)? {
            Claim::Ask(running) => running,
            Claim::Wait(mut other) => {
                // The sender sends nothing: it ends.
                let _ended = tokio::time::timeout(PATIENCE, other.changed()).await;
                return None;
            }
        };
        let asking = self.ask(reader, pin, call);
        match tokio::time::timeout(PATIENCE, asking).await.unwrap_or(Asking::Stalled) {
            Asking::Listed(wants) => {
                self.refusals.store(0, Ordering::Relaxed);
                return Some(Listed { wants, _running: running });
            }
            Asking::Refused => {
                if self.refusals.fetch_add(1, Ordering::Relaxed) + 1 >= MAX_REFUSALS {
                    self.ability.set(false);
                }
            }
            Asking::Stalled => {
                self.asked.lock().resting_until = Instant::now().checked_add(REST);
            }
            Asking::Reverted => {}
        }
        None
    }

    fn claim(&self, call: &LackingCall) -> Option<Claim<'_>> {
        if self.ability.is_absent() || call.input.len() > MAX_INPUT {
            return None;
        }
        let mut asked = self.asked.lock();
        if asked.resting_until.is_some_and(|until| Instant::now() < until) {
            return None;
        }
        if let Some(other) = asked.running.get(&call.to) {
            return Some(Claim::Wait(other.clone()));
        }
        let hash = asked.hasher.hash_one(call);
        if asked.calls.len() >= MAX_CALLS {
            asked.calls.clear();
        }
        if !asked.calls.insert(hash) {
            return None;
        }
        let (sender, receiver) = watch::channel(());
        asked.running.insert(call.to, receiver);
        Some(Claim::Ask(Running { warm_ups: self, to: call.to, _sender: sender }))
    }

    async fn ask(&self, reader: &StateReader, pin: &Pin, call: &LackingCall) -> Asking {
        let block = match reader.is_by_number() {
            true => Value::from(format!("{:#x}", pin.header.number)),
            false => json!({"blockHash": pin.hash.to_string()}),
        };
        let list = |fields: Map<String, Value>| {
            reader.source.call(Call::new(METHOD, json!([fields, block])))
        };
        let mut answer = list(fields_of(call)).await;
        if matches!(&answer, Err(error) if is_about_funds(&error.fault)) {
            // Accounts for development may own nothing there. Most of the list is the same without a sender.
            let mut fields = fields_of(call);
            fields.retain(|name, _| name == "to" || name == "input");
            answer = list(fields).await;
        }
        match answer {
            Ok(answer) => parts(&answer.result).map_or(Asking::Refused, Asking::Listed),
            Err(error) => {
                tracing::debug!(%error, "the fork's source does not say what a call reads");
                match error.fault {
                    Fault::NoMethod(_) => self.ability.set(false),
                    Fault::TimedOut(_) => return Asking::Stalled,
                    Fault::Refused { text, .. } if text.contains("revert") => {
                        return Asking::Reverted;
                    }
                    _ => {}
                }
                Asking::Refused
            }
        }
    }
}

fn fields_of(call: &LackingCall) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut set = |name: &str, value: String| fields.insert(name.to_owned(), value.into());
    set("from", call.from.to_string());
    set("input", call.input.to_string());
    set("gas", format!("{:#x}", call.gas));
    if !call.value.is_zero() {
        set("value", format!("{:#x}", call.value));
    }
    if let Some(to) = call.to {
        set("to", to.to_string());
    }
    fields
}

/// Whether the sender has too little at the source.
fn is_about_funds(fault: &Fault) -> bool {
    matches!(fault, Fault::Refused { text, .. } if text.to_lowercase().contains("insufficient funds"))
}

/// The accounts and slots of a list.
fn parts(result: &Value) -> Result<BTreeSet<Want>, FieldError> {
    let mut wants = BTreeSet::new();
    for entry in Fields::of(result)?.list("accessList")? {
        let fields = Fields::of(entry)?;
        let address = fields.address("address")?;
        wants.insert(Want::Account(address));
        for key in fields.list("storageKeys")? {
            let slot = crate::json::quantity(key)
                .ok_or_else(|| FieldError::new("storageKeys", "a slot", Some(key)))?;
            wants.insert(Want::Slot(address, slot));
        }
        if wants.len() >= MAX_PARTS {
            break;
        }
    }
    while wants.len() > MAX_PARTS {
        wants.pop_last();
    }
    Ok(wants)
}
