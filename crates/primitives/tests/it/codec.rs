//! The codec: texts of its errors, limits and round trips.

use esker_primitives::codec::{MAX_GENESIS_SIZE, MAX_SIZE};
use esker_primitives::{CodecError, Decode, Encode, Id, Reader, ShortId, Writer};
use expect_test::{Expect, expect};
use proptest::prelude::*;

/// A value of every kind that the codec knows.
#[derive(Debug, Clone, PartialEq)]
struct AllKinds {
    small: u8,
    medium: u16,
    large: u32,
    huge: u64,
    flag: bool,
    array: [u8; 3],
    bytes: Vec<u8>,
    string: Vec<u8>,
    id: Id,
    addresses: Vec<ShortId>,
    numbers: Vec<u32>,
}

impl Encode for AllKinds {
    fn encode(&self, w: &mut Writer) {
        w.u8(self.small);
        w.u16(self.medium);
        w.u32(self.large);
        w.u64(self.huge);
        w.boolean(self.flag);
        w.fixed(&self.array);
        w.bytes(&self.bytes);
        w.string_bytes(&self.string);
        w.id(&self.id);
        w.values(&self.addresses);
        w.len(self.numbers.len());
        self.numbers.iter().for_each(|number| w.u32(*number));
    }
}

impl Decode for AllKinds {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        Ok(Self {
            small: r.u8()?,
            medium: r.u16()?,
            large: r.u32()?,
            huge: r.u64()?,
            flag: r.boolean()?,
            array: r.fixed()?,
            bytes: r.bytes()?.to_vec(),
            string: r.string_bytes()?.to_vec(),
            id: r.id()?,
            addresses: r.values()?,
            numbers: r.slice(Reader::u32)?,
        })
    }
}

fn everything() -> impl Strategy<Value = AllKinds> {
    let scalars = any::<(u8, u16, u32, u64, bool, [u8; 3])>();
    let lists = any::<(Vec<u8>, Vec<u8>, [u8; 32], Vec<[u8; 20]>, Vec<u32>)>();
    (scalars, lists).prop_map(|((small, medium, large, huge, flag, array), lists)| AllKinds {
        small,
        medium,
        large,
        huge,
        flag,
        array,
        bytes: lists.0,
        string: lists.1,
        id: Id::new(lists.2),
        addresses: lists.3.into_iter().map(ShortId::new).collect(),
        numbers: lists.4,
    })
}

proptest! {
    #[test]
    fn round_trip(value in everything()) {
        let bytes = value.to_versioned_bytes();
        prop_assert_eq!(AllKinds::from_versioned_bytes(&bytes, MAX_SIZE), Ok(value));
        let more = [&bytes[..], &[0]].concat();
        let (read, provided) = (bytes.len(), more.len());
        let trailing = Err(CodecError::TrailingBytes { read, provided });
        prop_assert_eq!(AllKinds::from_versioned_bytes(&more, MAX_SIZE), trailing);
        for end in 0..bytes.len() {
            prop_assert!(AllKinds::from_versioned_bytes(&bytes[..end], MAX_SIZE).is_err());
        }
    }

    #[test]
    fn total(bytes: Vec<u8>) {
        if let Ok(value) = AllKinds::from_versioned_bytes(&bytes, MAX_SIZE) {
            prop_assert_eq!(value.to_versioned_bytes(), bytes);
        }
    }
}

fn check<T>(result: Result<T, CodecError>, expected: Expect) {
    expected.assert_eq(&result.err().map_or("no error".to_owned(), |fault| fault.to_string()));
}

#[test]
fn short_inputs() {
    fn short<T>(result: Result<T, CodecError>, kind: &str) {
        let expected = match kind {
            "" => "packer has insufficient length for input".to_owned(),
            _ => format!("couldn't unmarshal {kind}: packer has insufficient length for input"),
        };
        assert_eq!(result.err().expect("an error").to_string(), expected);
    }
    let r = |bytes: &'static [u8]| Reader::new(bytes);
    short(r(&[]).u8(), "uint8");
    short(r(&[0]).u16(), "uint16");
    short(r(&[0; 3]).u32(), "uint32");
    short(r(&[0; 7]).u64(), "uint64");
    short(r(&[]).boolean(), "bool");
    short(r(&[0; 2]).fixed::<3>(), "");
    short(r(&[0; 31]).id(), "");
    short(r(&[0; 19]).short_id(), "");
    short(r(&[0; 3]).bytes(), "slice");
    short(r(&[0, 0, 0, 2, 1]).bytes(), "");
    short(r(&[0]).string_bytes(), "string");
    short(r(&[0, 2, 1]).string_bytes(), "string");
    short(r(&[0; 3]).slice_len(), "slice");
    short(r(&[0; 3]).type_id(), "interface");
    check(
        r(&[2]).boolean(),
        expect!["couldn't unmarshal bool: unexpected value when unpacking bool"],
    );
    for (bytes, len) in [(&[0xff; 4], "4294967295"), (&[0x80, 0, 0, 0], "2147483648")] {
        let expected = format!("array length, {len}, exceeds maximum length, 2147483647");
        for result in [r(bytes).slice_len().map(drop), r(bytes).bytes().map(drop)] {
            let fault = result.unwrap_err().to_string();
            assert_eq!(fault, format!("max slice length exceeded; {expected}"));
        }
    }
}

#[test]
fn claimed_lengths_allocate_nothing() {
    // The input claims 2^31-1 elements of eight bytes and has one.
    let bytes = [&[0x7f, 0xff, 0xff, 0xff][..], &[0; 8]].concat();
    check(
        Reader::new(&bytes).slice(Reader::u64),
        expect!["couldn't unmarshal uint64: packer has insufficient length for input"],
    );
    // Elements without bytes don't loop for the claimed number of times.
    check(
        Reader::new(&bytes).slice(|_| Ok(())),
        expect!["packer has insufficient length for input"],
    );
    check(Reader::new(&bytes).bytes(), expect!["packer has insufficient length for input"]);
}

#[test]
fn versions_and_sizes() {
    let id = |bytes: &[u8]| Id::from_versioned_bytes(bytes, MAX_SIZE);
    check(id(&[]), expect!["couldn't unpack codec version"]);
    check(id(&[0]), expect!["couldn't unpack codec version"]);
    check(id(&[0, 1]), expect!["unknown codec version"]);
    check(id(&[0, 0]), expect!["packer has insufficient length for input"]);
    check(id(&[0; 35]), expect!["trailing buffer space: read 34 provided 35"]);
    check(id(&vec![0; MAX_SIZE]), expect!["trailing buffer space: read 34 provided 262144"]);
    check(
        id(&vec![0; MAX_SIZE + 1]),
        expect!["byte array exceeds maximum length: 262145 > 262144"],
    );
    assert_eq!(id(&[0; 34]), Ok(Id::ZERO));
    assert_eq!(Id::from_versioned_bytes(&[0; 34], MAX_GENESIS_SIZE), Ok(Id::ZERO));
}

#[test]
fn interface_faults() {
    check::<()>(
        Err(CodecError::UnknownTypeId(21)),
        expect!["couldn't unmarshal interface: unknown type ID 21"],
    );
    let (go_type, interface) = ("*secp256k1fx.TransferInput", "txs.UnsignedTx");
    check::<()>(
        Err(CodecError::WrongInterface { go_type, interface }),
        expect![
            "couldn't unmarshal interface: *secp256k1fx.TransferInput does not implement interface txs.UnsignedTx"
        ],
    );
}

#[test]
fn positions() {
    let mut r = Reader::new(&[1, 2, 3, 4, 5]);
    assert_eq!(r.u16(), Ok(0x0102));
    let start = r.position();
    assert_eq!((start, r.remaining()), (2, 3));
    assert_eq!(r.u16(), Ok(0x0304));
    assert_eq!(r.since(start), [3, 4]);
    assert_eq!(r.finish(), Err(CodecError::TrailingBytes { read: 4, provided: 5 }));
    assert_eq!((r.u8(), r.finish()), (Ok(5), Ok(())));
}
