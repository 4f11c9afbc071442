//! The messages between the validators about transactions.
//!
//! A message is its type (1 byte), a count (u16, big-endian), and its items. An item of an announcement or a request is
//! a kind (1 byte), a chain ID and a transaction ID; a delivered transaction has its length (u32, big-endian) and its
//! bytes too.

use bytes::Bytes;
use esker_chain::forward::{ForwardedTx, TxKind};
use esker_primitives::{ChainId, Id};

/// Most bytes of a message. One with more breaks the protocol.
pub(crate) const MAX_MESSAGE: usize = 512 << 10;

/// Most transactions that a message names.
pub(crate) const MAX_ITEMS: usize = 1_024;

const ANNOUNCE: u8 = 1;
const REQUEST: u8 = 2;
const DELIVER: u8 = 3;

/// A transaction's name. The kind is that of its pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TxKey {
    pub(crate) chain: ChainId,
    pub(crate) kind: TxKind,
    pub(crate) id: Id,
}

impl TxKey {
    /// Bytes of a key.
    const LEN: usize = 1 + 2 * Id::LEN;

    pub(crate) const fn new(chain: ChainId, kind: TxKind, id: Id) -> Self {
        Self { chain, kind: kind.pool(), id }
    }

    pub(crate) const fn of(tx: &ForwardedTx) -> Self {
        Self::new(tx.chain, tx.kind, tx.id)
    }
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// These wait at the sender.
    Announce(Vec<TxKey>),
    /// The sender wants these, which were announced to it.
    Request(Vec<TxKey>),
    /// What was requested.
    Deliver(Vec<ForwardedTx>),
}

const fn code_of(kind: TxKind) -> u8 {
    match kind {
        TxKind::Asset => 0,
        TxKind::AssetWallet => 1,
        TxKind::Atomic => 2,
        TxKind::Evm => 3,
    }
}

const fn kind_of(code: u8) -> Option<TxKind> {
    match code {
        0 => Some(TxKind::Asset),
        1 => Some(TxKind::AssetWallet),
        2 => Some(TxKind::Atomic),
        3 => Some(TxKind::Evm),
        _ => None,
    }
}

/// Bytes that a transaction takes in a message.
pub(crate) fn delivered_len(tx: &ForwardedTx) -> usize {
    TxKey::LEN + size_of::<u32>() + tx.bytes.len()
}

fn put_name(out: &mut Vec<u8>, kind: TxKind, chain: &ChainId, id: &Id) {
    out.push(code_of(kind));
    out.extend_from_slice(chain.as_bytes());
    out.extend_from_slice(id.as_bytes());
}

fn begin(kind: u8, items: usize) -> Vec<u8> {
    let count = u16::try_from(items).expect("messages have at most MAX_ITEMS");
    let mut out = vec![kind];
    out.extend_from_slice(&count.to_be_bytes());
    out
}

impl Message {
    /// The bytes of a message of at most [`MAX_ITEMS`] items.
    pub(crate) fn encode(&self) -> Bytes {
        let of_keys = |kind, keys: &[TxKey]| {
            let mut out = begin(kind, keys.len());
            for key in keys {
                put_name(&mut out, key.kind, &key.chain, &key.id);
            }
            out
        };
        let out = match self {
            Self::Announce(keys) => of_keys(ANNOUNCE, keys),
            Self::Request(keys) => of_keys(REQUEST, keys),
            Self::Deliver(txs) => {
                let mut out = begin(DELIVER, txs.len());
                for tx in txs {
                    put_name(&mut out, tx.kind, &tx.chain, &tx.id);
                    let len = u32::try_from(tx.bytes.len()).expect("transactions fit a message");
                    out.extend_from_slice(&len.to_be_bytes());
                    out.extend_from_slice(&tx.bytes);
                }
                out
            }
        };
        out.into()
    }

    /// The message of these bytes; the reason if they are none.
    pub(crate) fn decode(bytes: Bytes) -> Result<Self, &'static str> {
        if bytes.len() > MAX_MESSAGE {
            return Err("a message is too long");
        }
        let mut rest = Rest(bytes);
        let [kind] = rest.array()?;
        let count = usize::from(u16::from_be_bytes(rest.array()?));
        if count > MAX_ITEMS {
            return Err("a message names too many transactions");
        }
        let message = match kind {
            ANNOUNCE => Self::Announce((0..count).map(|_| rest.key()).collect::<Result<_, _>>()?),
            REQUEST => Self::Request((0..count).map(|_| rest.key()).collect::<Result<_, _>>()?),
            DELIVER => Self::Deliver((0..count).map(|_| rest.tx()).collect::<Result<_, _>>()?),
            _ => return Err("a message is of no known type"),
        };
        if !rest.0.is_empty() {
            return Err("a message has more bytes than it says");
        }
        Ok(message)
    }
}

/// What is left of a message.
struct Rest(Bytes);

impl Rest {
    fn take(&mut self, len: usize) -> Result<Bytes, &'static str> {
        match len <= self.0.len() {
            true => Ok(self.0.split_to(len)),
            false => Err("a message is cut off"),
        }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], &'static str> {
        let mut array = [0; N];
        array.copy_from_slice(&self.take(N)?);
        Ok(array)
    }

    fn name(&mut self) -> Result<(TxKind, ChainId, Id), &'static str> {
        let [code] = self.array()?;
        let kind = kind_of(code).ok_or("a transaction is of no known kind")?;
        Ok((kind, Id::new(self.array()?), Id::new(self.array()?)))
    }

    fn key(&mut self) -> Result<TxKey, &'static str> {
        let (kind, chain, id) = self.name()?;
        Ok(TxKey::new(chain, kind, id))
    }

    fn tx(&mut self) -> Result<ForwardedTx, &'static str> {
        let (kind, chain, id) = self.name()?;
        let len = u32::from_be_bytes(self.array()?);
        let bytes = self.take(usize::try_from(len).unwrap_or(usize::MAX))?;
        Ok(ForwardedTx { chain, kind, id, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tx(kind: TxKind, bytes: &'static [u8]) -> ForwardedTx {
        let (chain, id) = (Id::sha256(b"chain"), Id::sha256(bytes));
        ForwardedTx { chain, kind, id, bytes: Bytes::from_static(bytes) }
    }

    #[test]
    fn messages_are_read_as_they_were_written() {
        let kinds = [TxKind::Asset, TxKind::AssetWallet, TxKind::Atomic, TxKind::Evm];
        let txs: Vec<_> = kinds.map(|kind| tx(kind, b"transaction")).into();
        let keys: Vec<_> = txs.iter().map(TxKey::of).collect();
        let deliver = Message::Deliver(txs.clone());
        assert_eq!(deliver.encode().len(), 3 + 4 * delivered_len(&txs[0]));
        for message in [Message::Announce(keys.clone()), Message::Request(keys), deliver] {
            let bytes = message.encode();
            assert_eq!(Message::decode(bytes.clone()).unwrap(), message);
            for len in 0..bytes.len() {
                assert!(Message::decode(bytes.slice(..len)).is_err(), "{len} bytes");
            }
        }
    }

    #[test]
    fn other_bytes_are_refused_with_the_reason() {
        let mut key = Message::Announce(vec![TxKey::of(&tx(TxKind::Evm, b"1"))]).encode().to_vec();
        key[3] = 9;
        for (bytes, reason) in [
            (vec![9, 0, 0], "a message is of no known type"),
            (vec![1, 0, 0, 0], "a message has more bytes than it says"),
            (vec![1, 255, 255], "a message names too many transactions"),
            (vec![0; MAX_MESSAGE + 1], "a message is too long"),
            (key, "a transaction is of no known kind"),
            ([&[3, 0, 1, 0][..], &[0; 64], &[255; 4]].concat(), "a message is cut off"),
        ] {
            assert_eq!(Message::decode(bytes.into()), Err(reason));
        }
    }
}
