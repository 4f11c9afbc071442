//! Calls at the pinned block, by its hash or else by its number, and what the source is able to do.

use std::sync::atomic::{AtomicU8, Ordering};

use serde_json::{Value, json};

use crate::error::ForkError;
use crate::pin::Pin;
use crate::source::{Answer, Call, Fault, Source, SourceError};

/// Whether the source is able to do something; unknown until it was tried.
#[derive(Debug, Default)]
pub(super) struct Ability(AtomicU8);

const UNKNOWN: u8 = 0;
const PRESENT: u8 = 1;
const ABSENT: u8 = 2;

impl Ability {
    pub(super) fn is_unknown(&self) -> bool {
        self.0.load(Ordering::Relaxed) == UNKNOWN
    }

    pub(super) fn is_absent(&self) -> bool {
        self.0.load(Ordering::Relaxed) == ABSENT
    }

    pub(super) fn set(&self, is_present: bool) {
        self.0.store(if is_present { PRESENT } else { ABSENT }, Ordering::Relaxed);
    }
}

/// Reads state of the pinned block.
#[derive(Debug)]
pub(super) struct StateReader {
    pub(super) source: Source,
    /// Blocks by their hash (EIP-1898).
    by_hash: Ability,
    /// `eth_getAccountInfo`.
    pub(super) account_info: Ability,
    /// `eth_getStorageValues`.
    pub(super) storage_values: Ability,
}

impl StateReader {
    pub(super) fn new(source: Source) -> Self {
        Self {
            source,
            by_hash: Ability::default(),
            account_info: Ability::default(),
            storage_values: Ability::default(),
        }
    }

    /// Whether the source refuses blocks by their hash.
    pub(super) fn is_by_number(&self) -> bool {
        self.by_hash.is_absent()
    }

    /// Calls methods whose last argument is the block, which `calls` gets.
    pub(super) async fn call(
        &self,
        pin: &Pin,
        calls: impl Fn(&Value) -> Vec<Call>,
    ) -> Vec<Result<Answer, SourceError>> {
        let number = Value::from(format!("{:#x}", pin.header.number));
        if self.by_hash.is_absent() {
            return self.source.batch(&calls(&number)).await;
        }
        let hash = json!({"blockHash": pin.hash.to_string()});
        let answers = self.source.batch(&calls(&hash)).await;
        if self.by_hash.is_absent() {
            // Another call has found it out meanwhile.
            return self.source.batch(&calls(&number)).await;
        }
        if !self.by_hash.is_unknown() {
            return answers;
        }
        let is_refused = |answer: &Result<Answer, SourceError>| {
            matches!(answer, Err(SourceError { fault: Fault::Refused { .. }, .. }))
        };
        if answers.iter().any(Result::is_ok) {
            self.by_hash.set(true);
        } else if answers.iter().any(is_refused) {
            let by_number = self.source.batch(&calls(&number)).await;
            if by_number.iter().any(Result::is_ok) {
                self.by_hash.set(false);
                return by_number;
            }
        }
        answers
    }

    /// Checks that the pinned block is still the one at its number.
    pub(super) async fn check_number(&self, pin: &Pin) -> Result<(), ForkError> {
        let number = pin.header.number;
        let params = json!([format!("{number:#x}"), false]);
        let answer = self.source.call(Call::new("eth_getBlockByNumber", params)).await?;
        let expected = pin.hash;
        let found = answer.result.get("hash").and_then(Value::as_str).unwrap_or("missing");
        if found.eq_ignore_ascii_case(&expected.to_string()) {
            return Ok(());
        }
        let found = esker_primitives::excerpt(found).into_owned();
        Err(ForkError::Reorganized { url: answer.url.to_string(), number, expected, found })
    }
}
