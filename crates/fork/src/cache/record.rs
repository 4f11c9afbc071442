//! Records of cache files and packs.
//!
//! A file is the text `ESKFORK1`, then records, of which the first is the pin. A record is
//! `length u32 | crc32 u32 | body`, both numbers little-endian; the checksum is CRC-32 (ISO-HDLC) of the body. A body is
//! `kind u8 | RLP list`:
//!
//! | kind | list |
//! |---|---|
//! | 1 pin | chain ID, header of JSON-RPC as text |
//! | 2 node | hashed address of its storage trie (empty: account trie), nibbles of the path, RLP |
//! | 3 account | address; the nodes prove its value |
//! | 4 slot | address, slot; the nodes prove its value |
//! | 5 code | hash, code |
//! | 6 claimed account | address; unless it does not exist: nonce, balance, code hash |
//! | 7 claimed slot | address, slot, value |
//! | 8 ancestor | header of JSON-RPC as text; descending, from the pin's parent on |
//! | 9 text | name, text: what the node has to know of the chain; nothing proves it |

use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_rlp::{Decodable, Encodable, Header as RlpHeader};
use alloy_trie::Nibbles;

use crate::pin::Pin;
use crate::state::{BaseAccount, Fact, Trie};

/// The beginning of each file.
pub(super) const MAGIC: &[u8; 8] = b"ESKFORK1";
/// Length and checksum.
const FRAME: usize = 8;
/// Longest body, bytes.
const MAX_BODY: usize = 48 << 20;

const PIN: u8 = 1;
const NODE: u8 = 2;
const ACCOUNT: u8 = 3;
const SLOT: u8 = 4;
const CODE: u8 = 5;
const CLAIMED_ACCOUNT: u8 = 6;
const CLAIMED_SLOT: u8 = 7;
const ANCESTOR: u8 = 8;
const TEXT: u8 = 9;

/// A record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Record {
    Pin { chain_id: u64, json: String },
    Node { trie: Trie, path: Nibbles, rlp: Bytes },
    Account(Address),
    Slot(Address, U256),
    Code { hash: B256, code: Bytes },
    ClaimedAccount(Address, Option<BaseAccount>),
    ClaimedSlot(Address, U256, U256),
    Ancestor { json: String },
    Text { name: String, text: String },
}

impl From<&Pin> for Record {
    fn from(pin: &Pin) -> Self {
        Self::Pin { chain_id: pin.chain_id, json: pin.json().to_owned() }
    }
}

impl From<&Fact> for Record {
    fn from(fact: &Fact) -> Self {
        match fact {
            Fact::Node { trie, path, rlp } => {
                Self::Node { trie: *trie, path: *path, rlp: rlp.clone() }
            }
            Fact::Account { address, is_proven: true, .. } => Self::Account(*address),
            Fact::Account { address, account, .. } => Self::ClaimedAccount(*address, *account),
            Fact::Slot { address, slot, is_proven: true, .. } => Self::Slot(*address, *slot),
            Fact::Slot { address, slot, value, .. } => Self::ClaimedSlot(*address, *slot, *value),
            Fact::Code { hash, code } => Self::Code { hash: *hash, code: code.clone() },
            Fact::Ancestor { json, .. } => Self::Ancestor { json: json.to_string() },
            Fact::Text { name, text } => {
                Self::Text { name: name.to_string(), text: text.to_string() }
            }
        }
    }
}

impl Record {
    /// Adds the record to a file's bytes.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let body = self.body();
        // A body is far shorter: the longest part is a reply, which has a limit.
        let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&crc32fast::hash(&body).to_le_bytes());
        out.extend_from_slice(&body);
    }

    pub(super) fn body(&self) -> Vec<u8> {
        match self {
            Self::Pin { chain_id, json } => body(PIN, &[chain_id, &json.as_bytes()]),
            Self::Node { trie, path, rlp } => {
                let scope: &[u8] = match trie {
                    Trie::Accounts => &[],
                    Trie::Storage(account) => account.as_slice(),
                };
                body(NODE, &[&scope, &path.to_vec().as_slice(), rlp])
            }
            Self::Account(address) => body(ACCOUNT, &[address]),
            Self::Slot(address, slot) => body(SLOT, &[address, slot]),
            Self::Code { hash, code } => body(CODE, &[hash, code]),
            Self::ClaimedAccount(address, None) => body(CLAIMED_ACCOUNT, &[address]),
            Self::ClaimedAccount(address, Some(account)) => {
                let parts = &account.parts;
                body(CLAIMED_ACCOUNT, &[address, &parts.nonce, &parts.balance, &parts.code_hash])
            }
            Self::ClaimedSlot(address, slot, value) => body(CLAIMED_SLOT, &[address, slot, value]),
            Self::Ancestor { json } => body(ANCESTOR, &[&json.as_bytes()]),
            Self::Text { name, text } => body(TEXT, &[&name.as_bytes(), &text.as_bytes()]),
        }
    }

    pub(super) fn read(body: &[u8]) -> alloy_rlp::Result<Self> {
        let (kind, mut rest) = body.split_first().ok_or(alloy_rlp::Error::InputTooShort)?;
        let mut list = RlpHeader::decode_bytes(&mut rest, true)?;
        let b = &mut list;
        let record = match *kind {
            PIN => {
                let chain_id = Decodable::decode(b)?;
                let json = String::decode(b)?;
                Self::Pin { chain_id, json }
            }
            NODE => Self::Node {
                trie: trie(&Bytes::decode(b)?)?,
                path: path(&Bytes::decode(b)?)?,
                rlp: Decodable::decode(b)?,
            },
            ACCOUNT => Self::Account(Decodable::decode(b)?),
            SLOT => Self::Slot(Decodable::decode(b)?, Decodable::decode(b)?),
            CODE => Self::Code { hash: Decodable::decode(b)?, code: Decodable::decode(b)? },
            CLAIMED_ACCOUNT => Self::ClaimedAccount(Decodable::decode(b)?, claimed(b)?),
            CLAIMED_SLOT => Self::ClaimedSlot(
                Decodable::decode(b)?,
                Decodable::decode(b)?,
                Decodable::decode(b)?,
            ),
            ANCESTOR => Self::Ancestor { json: String::decode(b)? },
            TEXT => Self::Text { name: String::decode(b)?, text: String::decode(b)? },
            _ => return Err(alloy_rlp::Error::Custom("unknown kind")),
        };
        match b.is_empty() && rest.is_empty() {
            true => Ok(record),
            false => Err(alloy_rlp::Error::UnexpectedLength),
        }
    }
}

fn body(kind: u8, fields: &[&dyn Encodable]) -> Vec<u8> {
    let mut out = vec![kind];
    let payload_length = fields.iter().map(|field| field.length()).sum();
    RlpHeader { list: true, payload_length }.encode(&mut out);
    fields.iter().for_each(|field| field.encode(&mut out));
    out
}

fn trie(scope: &[u8]) -> alloy_rlp::Result<Trie> {
    if scope.is_empty() {
        return Ok(Trie::Accounts);
    }
    let account = B256::try_from(scope);
    account.map(Trie::Storage).map_err(|_| alloy_rlp::Error::Custom("not a hash"))
}

fn path(nibbles: &[u8]) -> alloy_rlp::Result<Nibbles> {
    if nibbles.len() > 64 || nibbles.iter().any(|nibble| *nibble > 15) {
        return Err(alloy_rlp::Error::Custom("not a path"));
    }
    Ok(Nibbles::from_nibbles(nibbles))
}

fn claimed(b: &mut &[u8]) -> alloy_rlp::Result<Option<BaseAccount>> {
    if b.is_empty() {
        return Ok(None);
    }
    let (nonce, balance) = (Decodable::decode(b)?, Decodable::decode(b)?);
    Ok(Some(BaseAccount::claimed(nonce, balance, Decodable::decode(b)?)))
}

/// A record in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Framed {
    pub(super) index: usize,
    pub(super) offset: u64,
    pub(super) kind: &'static str,
    pub(super) record: Result<Record, String>,
    /// Whether the file ends before the record does.
    pub(super) is_cut: bool,
}

fn kind_name(kind: Option<&u8>) -> &'static str {
    match kind.copied() {
        Some(PIN) => "pin",
        Some(NODE) => "node",
        Some(ACCOUNT) => "account",
        Some(SLOT) => "slot",
        Some(CODE) => "code",
        Some(CLAIMED_ACCOUNT) => "claimed account",
        Some(CLAIMED_SLOT) => "claimed slot",
        Some(ANCESTOR) => "ancestor",
        Some(TEXT) => "text",
        _ => "unknown kind",
    }
}

/// The records of a file's bytes, after the magic. Reading ends after a record that is cut.
pub(super) fn read_records(file: &[u8]) -> Vec<Framed> {
    let mut records = Vec::new();
    let mut rest = file.get(MAGIC.len()..).unwrap_or_default();
    while !rest.is_empty() {
        let (index, offset) = (records.len(), (file.len() - rest.len()) as u64);
        let Some((body, sum, after)) = frame(rest) else {
            let record = Err("it is cut off, or its length is damaged".to_owned());
            records.push(Framed { index, offset, kind: "unknown kind", record, is_cut: true });
            break;
        };
        let record = match crc32fast::hash(body) == sum {
            true => Record::read(body).map_err(|error| error.to_string()),
            false => Err("its checksum is wrong".to_owned()),
        };
        let kind = kind_name(body.first());
        records.push(Framed { index, offset, kind, record, is_cut: false });
        rest = after;
    }
    records
}

/// The bodies of the records of a file's bytes; `None` if it is none, or one is damaged.
pub(super) fn bodies(file: &[u8]) -> Option<Vec<&[u8]>> {
    let mut rest = file.strip_prefix(MAGIC)?;
    let mut bodies = Vec::new();
    while !rest.is_empty() {
        let (body, sum, after) = frame(rest)?;
        bodies.push(Some(body).filter(|body| crc32fast::hash(body) == sum)?);
        rest = after;
    }
    Some(bodies)
}

/// Whether a body is that of a header before the block's.
pub(super) fn is_ancestor(body: &[u8]) -> bool {
    body.first() == Some(&ANCESTOR)
}

/// The body, the checksum, and what follows.
fn frame(bytes: &[u8]) -> Option<(&[u8], u32, &[u8])> {
    let (head, rest) = bytes.split_first_chunk::<FRAME>()?;
    let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
    let sum = u32::from_le_bytes([head[4], head[5], head[6], head[7]]);
    let length = usize::try_from(length).ok().filter(|length| *length <= MAX_BODY)?;
    let (body, after) = rest.split_at_checked(length)?;
    Some((body, sum, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records() -> Vec<Record> {
        let address = Address::repeat_byte(7);
        let hash = B256::repeat_byte(9);
        let account = BaseAccount::claimed(3, U256::from(1) << 200, hash);
        vec![
            Record::Pin { chain_id: 43114, json: "{}".to_owned() },
            Record::Node {
                trie: Trie::Accounts,
                path: Nibbles::new(),
                rlp: Bytes::from_static(b"root"),
            },
            Record::Node {
                trie: Trie::Storage(hash),
                path: Nibbles::from_nibbles([1, 0, 15]),
                rlp: Bytes::from_static(&[0xc0]),
            },
            Record::Account(address),
            Record::Slot(address, U256::MAX),
            Record::Code { hash, code: Bytes::from_static(&[0x60, 0]) },
            Record::ClaimedAccount(address, None),
            Record::ClaimedAccount(address, Some(account)),
            Record::ClaimedSlot(address, U256::ZERO, U256::from(5)),
            Record::Ancestor { json: "{}".to_owned() },
            Record::Text { name: "a".to_owned(), text: "b".to_owned() },
        ]
    }

    #[test]
    fn records_are_read_as_written() {
        let mut file = MAGIC.to_vec();
        records().iter().for_each(|record| record.write(&mut file));
        let read: Vec<_> = read_records(&file).into_iter().map(|r| r.record.unwrap()).collect();
        assert_eq!(read, records());
        // Any changed byte and any cut is noticed; what precedes stays readable.
        for at in MAGIC.len()..file.len() {
            let mut changed = file.clone();
            changed[at] ^= 1;
            let read = read_records(&changed);
            assert!(read.iter().any(|framed| framed.record.is_err()), "byte {at}");
            let cut = read_records(&file[..at]);
            let whole = cut.iter().take_while(|framed| framed.record.is_ok()).count();
            assert!(whole < records().len(), "cut at {at}");
            let good = cut.into_iter().take(whole).map(|framed| framed.record.unwrap());
            assert!(good.eq(records().into_iter().take(whole)));
        }
    }
}
