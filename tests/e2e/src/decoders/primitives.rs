//! Texts, signatures and the parts of the codec.

use std::fmt::Display;
use std::str::FromStr;

use esker_chain::Aliases;
use esker_chain::address::parse_service_address;
use esker_primitives::codec::{CodecError, Reader, Writer};
use esker_primitives::{
    ChainId, Id, IdError, NodeId, PrivateKey, ShortId, Signature, address, bech32, cb58, go, hexfmt,
};

/// Identifiers, keys and any other cb58.
pub(super) fn cb58(bytes: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(bytes) else { return false };
    let decoded = value_of(cb58::decode(text)).map(|bytes| cb58::encode(&bytes));
    let key = value_of(text.parse::<PrivateKey>()).map(|key| key.to_text());
    let ids = [shown::<Id>(text), shown::<ShortId>(text), shown::<NodeId>(text)];
    let mut taken = ids.into_iter().chain([decoded, key]).flatten().peekable();
    let any = taken.peek().is_some();
    taken.for_each(|again| assert_eq!(again, text));
    any
}

fn shown<T: FromStr<Err = IdError> + Display>(text: &str) -> Option<String> {
    value_of(text.parse::<T>()).map(|id| id.to_string())
}

/// Hex with and without checksum.
pub(super) fn hex(bytes: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(bytes) else { return false };
    // The empty text means no bytes, but no bytes are never written as the empty text.
    let lower = if text.is_empty() { "0x".to_owned() } else { text.to_ascii_lowercase() };
    if let Some(decoded) = value_of(hexfmt::decode_plain(text)) {
        assert_eq!(hexfmt::encode_plain(&decoded), lower);
    }
    assert_eq!(hexfmt::decode_checked(&hexfmt::encode_checked(bytes)).as_deref(), Ok(bytes));
    let Some(decoded) = value_of(hexfmt::decode_checked(text)) else { return false };
    assert!(text.is_empty() || hexfmt::encode_checked(&decoded) == lower);
    true
}

#[derive(Debug)]
struct OneChain;

impl Aliases for OneChain {
    fn lookup(&self, name: &str) -> Option<ChainId> {
        let known = [("X", Id::new([1; 32])), ("P", Id::ZERO)];
        known.into_iter().find(|(alias, _)| *alias == name).map(|(_, id)| id)
    }

    fn primary_alias(&self, _: &ChainId) -> Option<String> {
        None
    }

    fn aliases(&self, _: &ChainId) -> Vec<String> {
        Vec::new()
    }
}

/// Addresses: bech32, with a chain's prefix, and in the form that services accept. Also their form when Go quotes
/// them.
pub(super) fn address(bytes: &[u8]) -> bool {
    assert!(go::quote_bytes(bytes).chars().all(go::is_print));
    let Ok(text) = str::from_utf8(bytes) else { return false };
    value_of(bech32::decode(text));
    if let Some((alias, hrp, data)) = value_of(address::split(text))
        && let Ok(short) = ShortId::from_slice(&data)
    {
        let shown = address::format(&alias, &hrp, &short);
        assert_eq!(address::split(&shown), Ok((alias, hrp, data)));
    }
    let parse = |text: &str| parse_service_address(&OneChain, &Id::new([1; 32]), "local", text);
    let Some(short) = value_of(parse(text)) else { return false };
    assert_eq!(parse(&address::format("X", "local", &short)).ok(), Some(short));
    true
}

/// A signature, and the hash that it may sign.
pub(super) fn signature(bytes: &[u8]) -> bool {
    let Some((signature, hash)) = bytes.split_first_chunk() else { return false };
    let Ok(hash) = hash.try_into() else { return false };
    let taken = value_of(Signature::new(*signature).recover(&hash)).is_some();
    assert!(!taken || signature[64] < 4);
    taken
}

/// A program of reads: their number, their kinds, and their input. Writing the values that were read gives the same
/// bytes.
pub(super) fn codec(bytes: &[u8]) -> bool {
    let Some((count, rest)) = bytes.split_first() else { return false };
    let Some((kinds, input)) = rest.split_at_checked(usize::from(*count)) else { return false };
    let (mut r, mut w) = (Reader::new(input), Writer::new());
    for kind in kinds {
        if value_of(copy_one(*kind, &mut r, &mut w)).is_none() {
            return false;
        }
        assert_eq!(w.as_slice(), r.since(0));
        assert_eq!(r.position() + r.remaining(), input.len());
    }
    assert_eq!(value_of(r.finish()).is_some(), r.remaining() == 0);
    r.remaining() == 0
}

fn copy_one(kind: u8, r: &mut Reader<'_>, w: &mut Writer) -> Result<(), CodecError> {
    match kind % 14 {
        0 => w.u8(r.u8()?),
        1 => w.u16(r.u16()?),
        2 => w.u32(r.u32()?),
        3 => w.u64(r.u64()?),
        4 => w.boolean(r.boolean()?),
        5 => w.fixed(&r.fixed::<3>()?),
        6 => w.bytes(r.bytes()?),
        7 => w.string_bytes(r.string_bytes()?),
        8 => w.len(r.slice_len()?),
        9 => w.type_id(r.type_id()?),
        10 => w.id(&r.id()?),
        11 => w.values(&r.values::<u32>()?),
        12 => w.values(&r.values::<ShortId>()?),
        _ => w.values(&r.values::<u64>()?),
    }
    Ok(())
}

/// The decoded value. An error must have a text.
pub(super) fn value_of<T, E: Display>(result: Result<T, E>) -> Option<T> {
    result.map_err(|fault| assert!(!fault.to_string().is_empty())).ok()
}
