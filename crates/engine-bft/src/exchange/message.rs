//! The messages between the validators about transactions.
//!
//! A message is its type (1 byte), a count (u16, big-endian), and its items. An item of an announcement or a request is
//! a kind (1 byte), a chain ID and a transaction ID; a delivered transaction has its length (u32, big-endian) and its
//! bytes too.

use bytes::Bytes;
use esker_chain::forward::{ForwardedTx, TxKind};
use esker_primitives::codec::{CodecError, Reader, Writer};
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

    pub(crate) const fn from_tx(tx: &ForwardedTx) -> Self {
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
    /// The requested transactions.
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

fn put_name(out: &mut Writer, kind: TxKind, chain: &ChainId, id: &Id) {
    out.u8(code_of(kind));
    out.id(chain);
    out.id(id);
}

fn begin(kind: u8, items: usize) -> Writer {
    let mut out = Writer::new();
    out.u8(kind);
    out.u16(u16::try_from(items).expect("messages have at most MAX_ITEMS"));
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
                    out.bytes(&tx.bytes);
                }
                out
            }
        };
        out.into_vec().into()
    }

    /// The message of these bytes; the reason if they are none.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, &'static str> {
        if bytes.len() > MAX_MESSAGE {
            return Err("a message is too long");
        }
        let mut reader = Reader::new(bytes);
        let kind = reader.u8().map_err(reason)?;
        let count = usize::from(reader.u16().map_err(reason)?);
        if count > MAX_ITEMS {
            return Err("a message names too many transactions");
        }
        let items = 0..count;
        let message = match kind {
            ANNOUNCE => Self::Announce(items.map(|_| key(&mut reader)).collect::<Result<_, _>>()?),
            REQUEST => Self::Request(items.map(|_| key(&mut reader)).collect::<Result<_, _>>()?),
            DELIVER => Self::Deliver(items.map(|_| tx(&mut reader)).collect::<Result<_, _>>()?),
            _ => return Err("a message is of no known type"),
        };
        reader.finish().map_err(reason)?;
        Ok(message)
    }
}

fn name(reader: &mut Reader<'_>) -> Result<(TxKind, ChainId, Id), &'static str> {
    let kind = kind_of(reader.u8().map_err(reason)?).ok_or("a transaction is of no known kind")?;
    Ok((kind, reader.id().map_err(reason)?, reader.id().map_err(reason)?))
}

fn key(reader: &mut Reader<'_>) -> Result<TxKey, &'static str> {
    let (kind, chain, id) = name(reader)?;
    Ok(TxKey::new(chain, kind, id))
}

/// A transaction with bytes of its own: it may stay much longer than the message.
fn tx(reader: &mut Reader<'_>) -> Result<ForwardedTx, &'static str> {
    let (kind, chain, id) = name(reader)?;
    let bytes = Bytes::copy_from_slice(reader.bytes().map_err(reason)?);
    Ok(ForwardedTx { chain, kind, id, bytes })
}

fn reason(error: CodecError) -> &'static str {
    match error {
        CodecError::TrailingBytes { .. } => "a message has more bytes than it says",
        _ => "a message is cut off",
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
        let keys: Vec<_> = txs.iter().map(TxKey::from_tx).collect();
        let deliver = Message::Deliver(txs.clone());
        assert_eq!(deliver.encode().len(), 3 + 4 * delivered_len(&txs[0]));
        for message in [Message::Announce(keys.clone()), Message::Request(keys), deliver] {
            let bytes = message.encode();
            assert_eq!(Message::decode(&bytes).unwrap(), message);
            for len in 0..bytes.len() {
                assert!(Message::decode(&bytes[..len]).is_err(), "{len} bytes");
            }
        }
    }

    #[test]
    fn other_bytes_are_refused_with_the_reason() {
        let mut key =
            Message::Announce(vec![TxKey::from_tx(&tx(TxKind::Evm, b"1"))]).encode().to_vec();
        key[3] = 9;
        for (bytes, reason) in [
            (vec![9, 0, 0], "a message is of no known type"),
            (vec![1, 0, 0, 0], "a message has more bytes than it says"),
            (vec![1, 255, 255], "a message names too many transactions"),
            (vec![0; MAX_MESSAGE + 1], "a message is too long"),
            (key, "a transaction is of no known kind"),
            ([&[3, 0, 1, 0][..], &[0; 64], &[255; 4]].concat(), "a message is cut off"),
        ] {
            assert_eq!(Message::decode(&bytes), Err(reason));
        }
    }
}
