//! Changes of the validators, which sources pass on (docs/protocol/validators.md, "Changes of the validators").

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use esker_chain::ProofVerifier;
use esker_outbound::{Dialer, SourceUrl};
use esker_primitives::hexfmt;
use thiserror::Error;

use crate::feed::{Source, SourceError};
use crate::request::{Timeouts, get};

/// Path of the changes.
const PATH: &str = "/ext/sync/validator-changes";
/// Most bytes of an answer.
const MAX_ANSWER: usize = 8 << 20;
/// Most changes of an answer.
const MAX_CHANGES: usize = 4096;

/// The reason why changes of the validators are not accepted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChangeRefusal {
    /// They are not changes of this network.
    #[error("{0}")]
    Invalid(String),
    /// This node can't store them.
    #[error("{0}")]
    Storage(String),
}

/// The validators that a follower knows of its network. They check certificates.
#[async_trait]
pub trait FollowedValidators: ProofVerifier {
    /// The epoch that the next change begins.
    fn next_epoch(&self) -> u64;

    /// Takes changes in order, each checked with the validators before it; known ones change nothing. When this returns,
    /// they are durable, and certificates of the new validators count. Returns how many were new.
    ///
    /// # Errors
    /// See [`ChangeRefusal`]. Those before the refused one are taken.
    async fn append(&self, changes: &[Bytes]) -> Result<usize, ChangeRefusal>;
}

/// Takes the changes of a source that are not known here. Returns whether there were any.
pub(crate) async fn update(
    validators: &dyn FollowedValidators,
    source: &dyn Source,
) -> Result<bool, SourceError> {
    let mut has_new = false;
    loop {
        let changes = source.validator_changes(validators.next_epoch()).await?;
        if changes.is_empty() {
            return Ok(has_new);
        }
        // Each further request needs a new change, and a network has few of them.
        match validators.append(&changes).await {
            Ok(0) => return Ok(has_new),
            Ok(_) => has_new = true,
            Err(ChangeRefusal::Invalid(reason)) => return Err(SourceError::Changes(reason)),
            Err(ChangeRefusal::Storage(reason)) => return Err(SourceError::Storage(reason)),
        }
    }
}

/// Asks a node for the changes from the one that begins this epoch on.
pub(crate) async fn fetch(
    (dialer, url): (&Dialer, &SourceUrl),
    from: u64,
    timeouts: Timeouts,
) -> Result<Vec<Bytes>, SourceError> {
    let answer = read((dialer, url), from, timeouts.idle);
    let answer = tokio::time::timeout(timeouts.idle, answer).await.map_err(|_| {
        let seconds = timeouts.idle.as_secs_f32();
        let text = format!("its changes of the validators did not arrive within {seconds} s");
        SourceError::Unreachable(text)
    })??;
    parse(&answer)
}

async fn read(
    (dialer, url): (&Dialer, &SourceUrl),
    from: u64,
    idle: Duration,
) -> Result<Vec<u8>, SourceError> {
    let path = format!("{PATH}?from={from}");
    let mut body = get(dialer, url, &path, idle).await.map_err(|error| match error {
        SourceError::Refused(text) => SourceError::Refused(format!("{PATH}: {text}")),
        error => error,
    })?;
    let mut answer = Vec::new();
    while let Some(data) = body.next().await? {
        if answer.len().saturating_add(data.len()) > MAX_ANSWER {
            return Err(SourceError::Changes(format!("more than {MAX_ANSWER} bytes")));
        }
        answer.extend_from_slice(&data);
    }
    Ok(answer)
}

/// The answer has one change in each line, in hex.
fn parse(answer: &[u8]) -> Result<Vec<Bytes>, SourceError> {
    let text = str::from_utf8(answer).map_err(|_| SourceError::Changes("no text".to_owned()))?;
    if !text.is_empty() && !text.ends_with('\n') {
        let text = "its changes of the validators ended within a line";
        return Err(SourceError::Unreachable(text.to_owned()));
    }
    if text.lines().nth(MAX_CHANGES).is_some() {
        return Err(SourceError::Changes(format!("more than {MAX_CHANGES}")));
    }
    let decode = |(number, line): (usize, &str)| match hexfmt::decode_plain(line) {
        Ok(bytes) => Ok(Bytes::from(bytes)),
        Err(error) => Err(SourceError::Changes(format!("line {number}: {error}"))),
    };
    (1..).zip(text.lines()).map(decode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_one_change_a_line() {
        assert_eq!(parse(b"").unwrap(), Vec::<Bytes>::new());
        assert_eq!(parse(b"0x01\n0x0203\n").unwrap(), [&[1][..], &[2, 3]]);
        let error = |answer: &[u8]| parse(answer).unwrap_err().to_string();
        let refused = |reason: &str| format!("its changes of the validators are refused: {reason}");
        assert_eq!(error(b"0x01\n01\n"), refused("line 2: missing 0x prefix to hex encoding"));
        assert_eq!(error(&[0xff, b'\n']), refused("no text"));
        assert_eq!(error(&b"\n".repeat(MAX_CHANGES + 1)), refused("more than 4096"));
        assert_eq!(error(b"0x01\n0x0"), "its changes of the validators ended within a line");
    }
}
