//! Fetches one group of parts.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::{Address, B256, U256, keccak256};
use alloy_trie::KECCAK_EMPTY;
use serde_json::json;

use super::ancestors::fetch_ancestors;
use super::claimed::{self, code_of};
use super::context::Context;
use super::options::Trust;
use super::preimage::{MAX_PATH, find_address, find_slot};
use super::proven::ProofRequest;
use super::reader::StateReader;
use super::reading::Reading;
use crate::error::{Contradiction, ForkError, account_name};
use crate::misses::{Want, path_text};
use crate::source::{Answer, Call, SourceError};
use crate::state::{BaseAccount, Fact};

/// What a group takes.
#[derive(Debug, Default)]
struct Targets {
    /// Slots by account. An account without slots is wanted itself.
    slots: BTreeMap<Address, BTreeSet<U256>>,
    /// Accounts whose code is wanted, with its hash if it is known.
    codes: BTreeMap<Address, Option<B256>>,
}

/// Fetches parts and keeps what comes. All parts are known afterwards.
///
/// # Errors
/// The first error. The other parts may be known nevertheless.
pub(super) async fn run(
    context: &Context,
    reading: &Reading,
    wants: &[Want],
) -> Result<(), ForkError> {
    let reader = reading.reader.as_ref().ok_or_else(|| context.lacking(wants))?;
    fetch_ancestors(context, (reading, reader), wants).await?;
    match &context.trust {
        Trust::Proven => fetch_proven(context, (reading, reader), wants).await?,
        Trust::Claimed(_) => fetch_claimed(context, (reading, reader), wants).await?,
    }
    match wants.iter().find(|want| !context.known.is_known(want)) {
        Some(want) => Err(no_node(want, "the trie has no node of its own there")),
        None => Ok(()),
    }
}

fn no_node(want: &Want, reason: &'static str) -> ForkError {
    let (trie, path) = match want {
        Want::AccountNode(path) => ("account trie".to_owned(), path_text(path)),
        Want::StorageNode(address, path) => (format!("storage trie of {address}"), path_text(path)),
        other => (other.to_string(), String::new()),
    };
    ForkError::NoProofOfNode { trie, path, reason }
}

/// Sorts parts into targets. Finding the keys of nodes takes long, so it is for a thread for blocking work.
fn targets(wants: &[Want]) -> Result<Targets, ForkError> {
    let mut targets = Targets::default();
    for want in wants {
        match want {
            Want::Account(address) => {
                targets.slots.entry(*address).or_default();
            }
            Want::Slot(address, slot) => {
                targets.slots.entry(*address).or_default().insert(*slot);
            }
            Want::Code(_) | Want::BlockHash(_) => {}
            Want::AccountNode(path) => {
                let address =
                    find_address(path).ok_or_else(|| no_node(want, unfound(path.len())))?;
                targets.slots.entry(address).or_default();
            }
            Want::StorageNode(address, path) => {
                let slot = find_slot(path).ok_or_else(|| no_node(want, unfound(path.len())))?;
                targets.slots.entry(*address).or_default().insert(slot);
            }
        }
    }
    Ok(targets)
}

fn unfound(length: usize) -> &'static str {
    match length > MAX_PATH {
        true => {
            "its path has more than 6 nibbles, so no key below it can be found; it is next to a value that the block deletes: leave \
             a rest of it, or fork with --fork-proofs false, without true state roots"
        }
        false => "no key below it was found",
    }
}

/// Adds the accounts whose code is wanted.
fn add_codes(context: &Context, wants: &[Want], targets: &mut Targets) -> Result<(), ForkError> {
    for want in wants {
        match want {
            Want::Code(hash) => {
                let owner = context.known.code_owner(*hash).ok_or(ForkError::UnknownCode(*hash))?;
                targets.codes.insert(owner, Some(*hash));
            }
            Want::Account(address) if context.options.reads_code_with_account => {
                targets.codes.entry(*address).or_insert(None);
            }
            _ => {}
        }
    }
    Ok(())
}

async fn fetch_proven(
    context: &Context,
    (reading, reader): (&Reading, &StateReader),
    wants: &[Want],
) -> Result<(), ForkError> {
    let owned = wants.to_vec();
    let found = tokio::task::spawn_blocking(move || targets(&owned)).await;
    let mut targets = found.map_err(|_| ForkError::Cancelled)??;
    add_codes(context, wants, &mut targets)?;
    let proofs: Vec<ProofRequest> = targets
        .slots
        .iter()
        .map(|(address, slots)| ProofRequest {
            address: *address,
            slots: slots.iter().copied().collect(),
        })
        .collect();
    let answers = reader.call(&context.pin, |block| {
        let proofs = proofs.iter().map(|proof| proof.call(block));
        proofs.chain(targets.codes.keys().map(|address| code_call(address, block))).collect()
    });
    let mut answers = answers.await.into_iter();
    let mut outcome = Outcome::default();
    for proof in &proofs {
        outcome.add_proof(context, proof, answers.next());
    }
    for (address, hash) in &targets.codes {
        outcome.add_code(*address, *hash, answers.next());
    }
    context.keep(reading, outcome.facts).await?;
    match outcome.error {
        Some(error @ ForkError::Proof { .. }) if reader.is_by_number() => {
            // Another block at the number explains a proof for another root.
            reader.check_number(&context.pin).await?;
            Err(error)
        }
        Some(error) => Err(error),
        None => Ok(()),
    }
}

fn code_call(address: &Address, block: &serde_json::Value) -> Call {
    Call::new("eth_getCode", json!([address.to_string(), block]))
}

/// What the answers of a group have shown so far.
#[derive(Default)]
struct Outcome {
    accounts: BTreeMap<Address, Option<BaseAccount>>,
    facts: Vec<Fact>,
    /// The first one.
    error: Option<ForkError>,
}

impl Outcome {
    fn failed(&mut self, error: ForkError) {
        self.error.get_or_insert(error);
    }

    fn add_proof(
        &mut self,
        context: &Context,
        request: &ProofRequest,
        answer: Option<Result<Answer, SourceError>>,
    ) {
        let verified = match answer {
            Some(Ok(answer)) => request.verify(&context.pin, &answer),
            Some(Err(error)) => Err(error.into()),
            None => Err(ForkError::Cancelled),
        };
        match verified {
            Ok((account, facts)) => {
                self.accounts.insert(request.address, account);
                self.facts.extend(facts);
            }
            Err(error) => self.failed(error),
        }
    }

    /// Adds code. Without a hash it is that of an account of this group, if that was proved.
    fn add_code(
        &mut self,
        address: Address,
        hash: Option<B256>,
        answer: Option<Result<Answer, SourceError>>,
    ) {
        let of_account = self
            .accounts
            .get(&address)
            .map(|account| account.map_or(KECCAK_EMPTY, |account| account.parts.code_hash));
        let Some(expected) = hash.or(of_account) else { return };
        let checked = match answer {
            Some(Ok(answer)) => check_code(address, expected, &answer),
            Some(Err(error)) => Err(error.into()),
            None => Err(ForkError::Cancelled),
        };
        match checked {
            Ok(fact) => self.facts.extend(fact),
            Err(error) => self.failed(error),
        }
    }
}

fn check_code(
    address: Address,
    expected: B256,
    answer: &Answer,
) -> Result<Option<Fact>, ForkError> {
    let code = code_of(answer)?;
    let found = keccak256(&code);
    if found != expected {
        return Err(Contradiction {
            url: answer.url.to_string(),
            method: "eth_getCode",
            part: account_name(&address),
            field: "code of hash",
            claimed: found.to_string(),
            proven: expected.to_string(),
        }
        .into());
    }
    Ok((!code.is_empty()).then_some(Fact::Code { hash: expected, code }))
}

async fn fetch_claimed(
    context: &Context,
    (reading, reader): (&Reading, &StateReader),
    wants: &[Want],
) -> Result<(), ForkError> {
    let mut addresses = BTreeSet::new();
    let mut slots: BTreeMap<Address, Vec<U256>> = BTreeMap::new();
    for want in wants {
        match want {
            Want::Account(address) => {
                addresses.insert(*address);
            }
            Want::Slot(address, slot) => slots.entry(*address).or_default().push(*slot),
            Want::Code(_) | Want::BlockHash(_) => {}
            Want::AccountNode(_) | Want::StorageNode(..) => {
                return Err(no_node(want, "the values of this fork are not proved"));
            }
        }
    }
    let mut codes = Targets::default();
    add_codes(context, wants, &mut codes)?;
    codes.codes.retain(|_, hash| hash.is_some());
    let pin = &context.pin;
    let addresses: Vec<Address> = addresses.into_iter().collect();
    let slots: Vec<_> = slots.into_iter().collect();
    let mut facts = claimed::accounts(reader, pin, &addresses).await?;
    facts.extend(claimed::slots(reader, pin, &slots).await?);
    if !codes.codes.is_empty() {
        let answers = reader.call(pin, |block| {
            codes.codes.keys().map(|address| code_call(address, block)).collect()
        });
        let answers = answers.await;
        for ((address, hash), answer) in codes.codes.iter().zip(answers) {
            facts.extend(check_code(*address, hash.unwrap_or(KECCAK_EMPTY), &answer?)?);
        }
    }
    if reader.is_by_number() {
        reader.check_number(pin).await?;
    }
    context.keep(reading, facts).await
}
