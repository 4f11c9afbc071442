//! Harmful messages of a validator about changes.

use bytes::Bytes;
use esker_validators::{SetChange, Signatures, SignedChange, ValidatorKey};

use super::ChangeHistory;
use super::agreement::Votes;
use super::message::Message;
use super::signing::{Statement, sign as sign_change};

/// A change at this height to the validators without the last one, another one for each height.
fn change(history: &ChangeHistory, height: u64) -> SetChange {
    let mut members = history.newest().members.clone();
    members.pop();
    SetChange::new(history.newest_epoch() + 1, height, members).unwrap()
}

fn state(epoch: u64, known: u64, votes: Option<Votes>) -> Bytes {
    Message::State { epoch, known, votes }.encode()
}

/// A well-formed message with this validator's approval and promise of a change, another one for each number; it also
/// says that it knows more, or less, than there is.
pub(crate) fn restless(history: &ChangeHistory, key: &ValidatorKey, number: u64) -> Bytes {
    let change = change(history, 1_000 + number);
    let sign = |statement| {
        let signature = sign_change(&change, &history.domain, statement, key);
        Signatures::from([(key.public_key(), signature)])
    };
    let (approvals, promises) = (sign(Statement::Approval), sign(Statement::Promise));
    let known = if number.is_multiple_of(2) { u64::MAX - number } else { 0 };
    state(number, known, Some(Votes { change, approvals, promises }))
}

/// Messages with signatures that are false: of another validator, and a change that it agrees on alone.
pub(crate) fn forged(history: &ChangeHistory, key: &ValidatorKey) -> [Bytes; 2] {
    let change = change(history, 1_000);
    let signature = sign_change(&change, &history.domain, Statement::Promise, key);
    let others = history.newest().members.iter().map(|(member, _)| *member);
    let other = others.into_iter().find(|member| *member != key.public_key()).unwrap();
    let approvals = Signatures::from([(other, signature)]);
    let votes = Votes { change: change.clone(), approvals, promises: Signatures::new() };
    let promises = Signatures::from([(key.public_key(), signature)]);
    let alone = SignedChange { change, promises };
    [state(0, 0, Some(votes)), Message::Changes(vec![alone.to_bytes().into()]).encode()]
}
