//! The messages about changes of the validators.
//!
//! | Message | Type | Content |
//! |---|---|---|
//! | state | 1 | the sender's epoch (u64), the newest epoch that it knows (u64), and what it passes on |
//! | changes | 2 | a count (u8), and signed changes with their lengths (u32), in order |
//!
//! What is passed on is a change with its length (u32; 0: none), approvals, and promises, as in a signed change.

use bytes::Bytes;
use esker_primitives::codec::{Reader, Writer};
use esker_validators::{ChangeError, SetChange, Signatures, put_signatures, read_signatures};

use super::agreement::Votes;

/// Most bytes of a message.
pub(crate) const MAX_MESSAGE: usize = 512 << 10;

/// Most changes of a message.
pub(super) const MAX_CHANGES: usize = 6;

const STATE: u8 = 1;
const CHANGES: u8 = 2;

/// A message.
#[derive(Clone, Debug)]
pub(super) enum Message {
    State { epoch: u64, known: u64, votes: Option<Votes> },
    Changes(Vec<Bytes>),
}

impl Message {
    pub(super) fn encode(&self) -> Bytes {
        let mut out = Writer::new();
        match self {
            Self::State { epoch, known, votes } => {
                out.u8(STATE);
                out.u64(*epoch);
                out.u64(*known);
                let change = votes.as_ref().map_or_else(Vec::new, |votes| votes.change.to_bytes());
                out.bytes(&change);
                let none = Signatures::new();
                for signatures in votes
                    .as_ref()
                    .map_or([&none, &none], |votes| [&votes.approvals, &votes.promises])
                {
                    put_signatures(&mut out, signatures);
                }
            }
            Self::Changes(changes) => {
                out.u8(CHANGES);
                out.u8(u8::try_from(changes.len()).expect("at most MAX_CHANGES"));
                for change in changes {
                    out.bytes(change);
                }
            }
        }
        out.into_vec().into()
    }

    /// The message of these bytes; the reason if they are none.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, ChangeError> {
        if bytes.len() > MAX_MESSAGE {
            return Err(ChangeError::Form("a message is too long"));
        }
        let mut reader = Reader::new(bytes);
        let message = match reader.u8()? {
            STATE => {
                let (epoch, known) = (reader.u64()?, reader.u64()?);
                let change = match reader.bytes()? {
                    [] => None,
                    bytes => Some(SetChange::from_bytes(bytes)?),
                };
                let approvals = read_signatures(&mut reader)?;
                let promises = read_signatures(&mut reader)?;
                let votes = change.map(|change| Votes { change, approvals, promises });
                Self::State { epoch, known, votes }
            }
            CHANGES => {
                let count = usize::from(reader.u8()?);
                if count > MAX_CHANGES {
                    return Err(ChangeError::Form("a message has too many changes"));
                }
                let next = |_| reader.bytes().map(Bytes::copy_from_slice);
                Self::Changes((0..count).map(next).collect::<Result<_, _>>()?)
            }
            _ => return Err(ChangeError::Form("a message is of no known type")),
        };
        reader.finish()?;
        Ok(message)
    }
}
