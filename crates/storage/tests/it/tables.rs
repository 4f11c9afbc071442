//! Typed tables and their bytes.

use std::ops::ControlFlow;

use esker_primitives::ids::{Id, ShortId};
use esker_storage::{
    KeyCodec, KvRead, KvStore, MemoryStore, PendingWrites, Scope, Table, ValueCodec, WriteSet,
};
use proptest::prelude::*;

/// Values by a number and a name.
const PAIRS: Table<(u32, Vec<u8>), u64> = Table::new(0x80, "pairs");
/// Its neighbour.
const NAMES: Table<[u8], String> = Table::new(0x81, "names");

const ONE: Scope = Scope(1);
const TWO: Scope = Scope(0x0102);

fn over_empty(test: impl FnOnce(&mut PendingWrites<'_>)) {
    let snapshot = MemoryStore::new().snapshot().unwrap();
    test(&mut PendingWrites::new(&*snapshot));
}

#[test]
fn stored_keys_are_scope_tag_key() {
    let key = PAIRS.key(TWO, &(7, b"name".to_vec()));
    assert_eq!(key, b"\x01\x02\x80\0\0\0\x07name");
    assert_eq!(PAIRS.prefix(TWO), [1, 2, 0x80]);
    over_empty(|pending| {
        PAIRS.put(pending, TWO, &(7, b"name".to_vec()), &5);
        assert_eq!(pending.get(&key).unwrap().unwrap(), [0, 0, 0, 0, 0, 0, 0, 5]);
    });
}

#[test]
fn scopes_and_tags_are_apart() {
    over_empty(|pending| {
        let key = (7, b"name".to_vec());
        PAIRS.put(pending, ONE, &key, &5);
        assert_eq!(PAIRS.get(pending, ONE, &key).unwrap(), Some(5));
        assert_eq!(PAIRS.get(pending, TWO, &key).unwrap(), None);
        assert!(PAIRS.contains(pending, ONE, &key).unwrap());
        assert!(!PAIRS.contains(pending, ONE, &(8, vec![])).unwrap());
        let len = PAIRS.get_with(pending, ONE, &key, <[u8]>::len).unwrap();
        assert_eq!(len, Some(8));
        PAIRS.delete(pending, ONE, &key);
        assert_eq!(PAIRS.get(pending, ONE, &key).unwrap(), None);
        assert_eq!(PAIRS.get_with(pending, ONE, &key, <[u8]>::len).unwrap(), None);
    });
}

#[test]
fn scans_stay_in_their_table() {
    over_empty(|pending| {
        let keys = [(1, "a"), (1, "b"), (2, ""), (2, "a"), (u32::MAX, "z")];
        for (value, (number, name)) in (0_u64..).zip(keys) {
            for scope in [ONE, TWO] {
                PAIRS.put(pending, scope, &(number, name.into()), &value);
            }
        }
        NAMES.put(pending, ONE, b"a".as_slice(), &"x".to_owned());
        let scanned = |prefix: &[u8], from: Option<&[u8]>| {
            let mut found = Vec::new();
            PAIRS
                .scan(pending, ONE, prefix, from, |key, value| {
                    found.push(PAIRS.entry(key, value).unwrap().1);
                    ControlFlow::Continue(())
                })
                .unwrap();
            found
        };
        assert_eq!(scanned(&[], None), [0, 1, 2, 3, 4]);
        assert_eq!(scanned(&2_u32.to_be_bytes(), None), [2, 3]);
        assert_eq!(scanned(&[], Some(b"\0\0\0\x01b")), [1, 2, 3, 4]);
        assert_eq!(scanned(&1_u32.to_be_bytes(), Some(b"\0\0\0\x01aa")), [1]);
        assert_eq!(scanned(&3_u32.to_be_bytes(), None), [0_u64; 0]);
        let all = PAIRS.collect(pending, ONE, &[]).unwrap();
        assert_eq!(all.len(), 5);
        assert_eq!(PAIRS.last(pending, ONE, &[]).unwrap(), Some(all[4].clone()));
        assert_eq!(PAIRS.last(pending, ONE, &1_u32.to_be_bytes()).unwrap(), Some(all[1].clone()));
        assert_eq!(PAIRS.last(pending, ONE, &3_u32.to_be_bytes()).unwrap(), None);
        assert_eq!(PAIRS.last(pending, Scope(0), &[]).unwrap(), None);
        assert_eq!(PAIRS.first(pending, ONE, &[], None).unwrap(), Some(all[0].clone()));
        let from_two = PAIRS.first(pending, ONE, &[], Some(&2_u32.to_be_bytes())).unwrap();
        assert_eq!(from_two, Some(all[2].clone()));
        assert_eq!(PAIRS.first(pending, ONE, &3_u32.to_be_bytes(), None).unwrap(), None);
    });
}

#[test]
fn the_last_key_of_all_is_found() {
    over_empty(|pending| {
        const BYTES: Table<Vec<u8>, ()> = Table::new(0xff, "bytes");
        let top = Scope(0xffff);
        let longest = vec![0xff; 508];
        BYTES.put(pending, top, &longest, &());
        assert_eq!(BYTES.last(pending, top, &[]).unwrap(), Some((longest.clone(), ())));
        assert_eq!(BYTES.last(pending, top, &longest).unwrap(), Some((longest, ())));
    });
}

#[test]
fn undecodable_rows_are_damage() {
    over_empty(|pending| {
        let key = (7, vec![]);
        PAIRS.put_bytes(pending, ONE, &key, b"short");
        let error = PAIRS.get(pending, ONE, &key).unwrap_err();
        assert_eq!(error.to_string(), "damaged data: value in table pairs does not decode");
        assert!(error.is_corruption());
        pending.delete(&PAIRS.key(ONE, &key));
        pending.put(&[&PAIRS.prefix(ONE)[..], b"abc"].concat(), &[0; 8]);
        let error = PAIRS.last(pending, ONE, &[]).unwrap_err();
        assert_eq!(error.to_string(), "damaged data: key in table pairs does not decode");
        assert!(PAIRS.collect(pending, ONE, &[]).unwrap_err().is_corruption());
        NAMES.put_bytes(pending, ONE, b"n", &[0xff]);
        assert!(NAMES.get(pending, ONE, b"n".as_slice()).unwrap_err().is_corruption());
    });
}

#[test]
fn a_later_change_wins_and_is_counted_once() {
    let mut set = WriteSet::new();
    set.put(b"a", b"12345");
    set.put(b"a", b"1");
    set.put(b"b", b"22");
    set.delete(b"b");
    set.delete(b"c");
    assert_eq!(set.get(b"a"), Some(Some(&b"1"[..])));
    assert_eq!(set.get(b"b"), Some(None));
    assert_eq!(set.get(b"d"), None);
    assert_eq!((set.len(), set.size_bytes()), (3, 4));
    assert_eq!(format!("{set:?}"), "WriteSet(3 keys, 4 bytes)");
    assert!(WriteSet::new().is_empty());
}

fn check_round_trip<T: KeyCodec + ValueCodec + PartialEq + std::fmt::Debug>(value: T) {
    let (mut as_key, mut as_value) = (Vec::new(), Vec::new());
    value.encode_key(&mut as_key);
    value.encode_value(&mut as_value);
    assert_eq!(as_key, as_value);
    let mut rest = as_key.as_slice();
    assert_eq!(T::decode_key(&mut rest).as_ref(), Some(&value));
    assert!(rest.is_empty());
    assert_eq!(T::decode_value(&as_value), Some(value));
    assert_eq!(T::decode_value(&as_value[1..]), None);
}

proptest! {
    #[test]
    fn fixed_codecs_round_trip(a: u8, b: u16, c: u32, d: u64, e: u128, id: [u8; 32], short: [u8; 20]) {
        check_round_trip(a);
        check_round_trip(b);
        check_round_trip(c);
        check_round_trip(d);
        check_round_trip(e);
        check_round_trip(id);
        check_round_trip(Id::new(id));
        check_round_trip(ShortId::new(short));
    }

    #[test]
    fn keys_sort_as_what_they_encode(
        a: (u16, u64, Vec<u8>),
        b: (u16, u64, Vec<u8>),
        same in any::<bool>(),
    ) {
        let b = if same { (a.0, b.1, b.2) } else { b };
        let bytes = |key: &(u16, u64, Vec<u8>)| {
            let mut out = Vec::new();
            key.encode_key(&mut out);
            out
        };
        prop_assert_eq!(bytes(&a).cmp(&bytes(&b)), a.cmp(&b));
        let encoded = bytes(&a);
        let mut rest = encoded.as_slice();
        prop_assert_eq!(KeyCodec::decode_key(&mut rest), Some(a));
    }
}
