//! Reads accounts and slots without proofs: in one call where the source has one, else in a batch.

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use serde_json::{Map, Value, json};

use super::reader::StateReader;
use crate::error::ForkError;
use crate::json::{FieldError, Fields, bytes, quantity};
use crate::pin::Pin;
use crate::source::{Answer, Call, Fault, SourceError};
use crate::state::{BaseAccount, Fact, is_of_asset};

type Answers = std::vec::IntoIter<Result<Answer, SourceError>>;

/// Reads accounts, with their code: its hash is not known otherwise.
pub(super) async fn accounts(
    reader: &StateReader,
    pin: &Pin,
    addresses: &[Address],
) -> Result<Vec<Fact>, ForkError> {
    if addresses.is_empty() {
        return Ok(Vec::new());
    }
    if !reader.account_info.is_absent() {
        let answers = reader.call(pin, |block| {
            let call = |address: &Address| {
                Call::new("eth_getAccountInfo", json!([address.to_string(), block]))
            };
            addresses.iter().map(call).collect()
        });
        let answers = answers.await;
        if !note_method(&reader.account_info, &answers) {
            let facts = addresses
                .iter()
                .zip(answers)
                .map(|(address, answer)| info_facts(*address, &answer?));
            return Ok(facts.collect::<Result<Vec<_>, _>>()?.concat());
        }
    }
    let answers = reader.call(pin, |block| {
        let methods = ["eth_getTransactionCount", "eth_getBalance", "eth_getCode"];
        let calls = addresses.iter().flat_map(|address| {
            methods.map(|method| Call::new(method, json!([address.to_string(), block])))
        });
        calls.collect()
    });
    let mut answers = answers.await.into_iter();
    let facts = addresses.iter().map(|address| parts_facts(*address, &mut answers));
    Ok(facts.collect::<Result<Vec<_>, _>>()?.concat())
}

/// Reads slots.
pub(super) async fn slots(
    reader: &StateReader,
    pin: &Pin,
    wanted: &[(Address, Vec<U256>)],
) -> Result<Vec<Fact>, ForkError> {
    if let Some((address, slot)) = each(wanted).find(|(_, slot)| is_of_asset(pin.form, *slot)) {
        return Err(ForkError::AssetWithoutProof { address, slot });
    }
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    if !reader.storage_values.is_absent() {
        let answers = reader.call(pin, |block| {
            let slots = wanted.iter().map(|(address, slots)| {
                (address.to_string(), slots.iter().map(|slot| key(*slot)).collect())
            });
            vec![Call::new(
                "eth_getStorageValues",
                json!([Value::Object(slots.collect::<Map<_, _>>()), block]),
            )]
        });
        let answers = answers.await;
        if !note_method(&reader.storage_values, &answers) {
            let answer = answers.into_iter().next().ok_or(ForkError::Cancelled)??;
            return values_facts(wanted, &answer);
        }
    }
    let answers = reader.call(pin, |block| {
        let calls = each(wanted).map(|(address, slot)| {
            Call::new("eth_getStorageAt", json!([address.to_string(), key(slot), block]))
        });
        calls.collect()
    });
    let answers = answers.await;
    let facts = each(wanted).zip(answers).map(|((address, slot), answer)| {
        let answer = answer?;
        let value = number(&answer, "eth_getStorageAt")?;
        Ok::<_, ForkError>(Fact::Slot { address, slot, value, is_proven: false })
    });
    facts.collect()
}

/// Notes whether the source has a method. Returns true if it does not.
fn note_method(ability: &super::reader::Ability, answers: &[Result<Answer, SourceError>]) -> bool {
    let is_missing = |answer: &Result<Answer, SourceError>| {
        let Err(SourceError { fault, .. }) = answer else { return false };
        // Some sources refuse unknown methods with other errors. Only the first answer decides.
        ability.is_unknown() && matches!(fault, Fault::Refused { .. })
            || matches!(fault, Fault::NoMethod(_))
    };
    let is_absent = answers.iter().any(is_missing);
    if is_absent || answers.iter().any(Result::is_ok) {
        ability.set(!is_absent);
    }
    is_absent
}

fn each(wanted: &[(Address, Vec<U256>)]) -> impl Iterator<Item = (Address, U256)> {
    wanted.iter().flat_map(|(address, slots)| slots.iter().map(move |slot| (*address, *slot)))
}

fn key(slot: U256) -> Value {
    B256::from(slot).to_string().into()
}

fn form(answer: &Answer, method: &'static str, fault: FieldError) -> ForkError {
    ForkError::Form { url: answer.url.to_string(), method, fault }
}

fn number(answer: &Answer, method: &'static str) -> Result<U256, ForkError> {
    let found = quantity(&answer.result);
    let fault = || FieldError::new("", "a number of at most 256 bits", Some(&answer.result));
    found.ok_or_else(|| form(answer, method, fault()))
}

/// The facts about an account. One without nonce, balance and code does not exist (EIP-161).
fn account_facts(address: Address, nonce: u64, balance: U256, code: Bytes) -> Vec<Fact> {
    let hash = keccak256(&code);
    let is_empty = nonce == 0 && balance.is_zero() && code.is_empty();
    let account = (!is_empty).then(|| BaseAccount::claimed(nonce, balance, hash));
    let mut facts = vec![Fact::Account { address, account, is_proven: false }];
    if !code.is_empty() {
        facts.push(Fact::Code { hash, code });
    }
    facts
}

fn info_facts(address: Address, answer: &Answer) -> Result<Vec<Fact>, ForkError> {
    let form = |fault| form(answer, "eth_getAccountInfo", fault);
    let fields = Fields::of(&answer.result).map_err(form)?;
    let nonce = fields.u64("nonce").map_err(form)?;
    let balance = fields.u256("balance").map_err(form)?;
    let code = fields.bytes("code").map_err(form)?;
    Ok(account_facts(address, nonce, balance, code))
}

fn parts_facts(address: Address, answers: &mut Answers) -> Result<Vec<Fact>, ForkError> {
    let mut next = || answers.next().ok_or(ForkError::Cancelled);
    let (nonce, balance, code) = (next()?, next()?, next()?);
    let (nonce, balance, code) = (nonce?, balance?, code?);
    let method = "eth_getTransactionCount";
    let fault = || FieldError::new("", "a number of at most 64 bits", Some(&nonce.result));
    let count = number(&nonce, method)?;
    let count = u64::try_from(count).map_err(|_| form(&nonce, method, fault()))?;
    let balance = number(&balance, "eth_getBalance")?;
    Ok(account_facts(address, count, balance, code_of(&code)?))
}

/// The code in an answer of `eth_getCode`.
pub(super) fn code_of(answer: &Answer) -> Result<Bytes, ForkError> {
    let fault = || FieldError::new("", "bytes in hexadecimal", Some(&answer.result));
    bytes(&answer.result).ok_or_else(|| form(answer, "eth_getCode", fault()))
}

fn values_facts(wanted: &[(Address, Vec<U256>)], answer: &Answer) -> Result<Vec<Fact>, ForkError> {
    let form = |fault| form(answer, "eth_getStorageValues", fault);
    let by_address = answer.result.as_object();
    let by_address =
        by_address.ok_or_else(|| form(FieldError::new("", "an object", Some(&answer.result))))?;
    let mut facts = Vec::new();
    for (address, slots) in wanted {
        let name = address.to_string();
        let found = by_address.iter().find(|(key, _)| key.eq_ignore_ascii_case(&name));
        let values = found.and_then(|(_, values)| values.as_array());
        let values = values.filter(|values| values.len() == slots.len()).ok_or_else(|| {
            form(FieldError::new(&name, "as many values as slots", found.map(|(_, value)| value)))
        })?;
        for (slot, value) in slots.iter().zip(values) {
            let fault = || form(FieldError::new(&name, "a list of values", Some(value)));
            let value = quantity(value).ok_or_else(fault)?;
            facts.push(Fact::Slot { address: *address, slot: *slot, value, is_proven: false });
        }
    }
    Ok(facts)
}
