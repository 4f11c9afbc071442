//! The rules one by one.

use std::collections::{BTreeMap, BTreeSet};

use esker_primitives::ids::{ChainId, Id};
use esker_shared_memory::{
    Cursor, Element, MAX_KEY_LEN, MAX_TRAIT_LEN, Requests, SharedMemoryError, apply, get, indexed,
};
use esker_storage::{KvStore, MemoryStore, PendingWrites};

const P: ChainId = Id::ZERO;

fn x() -> ChainId {
    Id::new([1; 32])
}

fn c() -> ChainId {
    Id::new([2; 32])
}

fn element(key: &str, traits: &[&str]) -> Element {
    Element {
        key: key.into(),
        value: format!("value of {key}").into(),
        traits: traits.iter().map(|name| (*name).into()).collect(),
    }
}

fn puts(peer: ChainId, puts: Vec<Element>) -> BTreeMap<ChainId, Requests> {
    BTreeMap::from([(peer, Requests { puts, removes: vec![] })])
}

fn removes(peer: ChainId, keys: &[&str]) -> BTreeMap<ChainId, Requests> {
    let removes = keys.iter().map(|key| (*key).into()).collect();
    BTreeMap::from([(peer, Requests { puts: vec![], removes })])
}

fn names(traits: &[&str]) -> BTreeSet<Vec<u8>> {
    traits.iter().map(|name| (*name).into()).collect()
}

fn keys(list: &[&str]) -> Vec<Vec<u8>> {
    list.iter().map(|key| (*key).into()).collect()
}

/// Runs `test` over pending writes on an empty store.
fn over_empty(test: impl FnOnce(&mut PendingWrites<'_>)) {
    let snapshot = MemoryStore::new().snapshot().unwrap();
    test(&mut PendingWrites::new(&*snapshot));
}

#[test]
fn only_the_peer_sees_elements() {
    over_empty(|pending| {
        apply(pending, &x(), &puts(c(), vec![element("k", &["a"])])).unwrap();
        assert_eq!(get(pending, &c(), &x(), &keys(&["k"])).unwrap(), [b"value of k"]);
        for (this, peer) in [(x(), c()), (P, x()), (x(), x()), (c(), P)] {
            let error = get(pending, &this, &peer, &keys(&["k"])).unwrap_err();
            assert_eq!(error.to_string(), "not found");
            let page = indexed(pending, &this, &peer, &names(&["a"]), None, 10).unwrap();
            assert!(page.keys.is_empty() && page.last.is_none());
        }
    });
}

#[test]
fn get_keeps_the_order_of_keys_and_wants_them_all() {
    over_empty(|pending| {
        apply(pending, &x(), &puts(c(), vec![element("k", &[]), element("l", &[])])).unwrap();
        let values = get(pending, &c(), &x(), &keys(&["l", "k", "l"])).unwrap();
        assert_eq!(values, [b"value of l", b"value of k", b"value of l"]);
        assert_eq!(get(pending, &c(), &x(), &[]).unwrap(), Vec::<Vec<u8>>::new());
        let error = get(pending, &c(), &x(), &keys(&["k", "m"])).unwrap_err();
        assert!(matches!(error, SharedMemoryError::NotFound));
        let error = get(pending, &c(), &x(), &[vec![], vec![0; MAX_KEY_LEN + 1]]).unwrap_err();
        assert!(matches!(error, SharedMemoryError::NotFound));
    });
}

#[test]
fn a_second_put_is_refused_with_the_reference_text() {
    over_empty(|pending| {
        apply(pending, &x(), &puts(c(), vec![element("k", &[])])).unwrap();
        let error = apply(pending, &x(), &puts(c(), vec![element("k", &[])])).unwrap_err();
        assert_eq!(error.to_string(), "duplicate put: Key=0x6b Value=0x76616c7565206f66206b");
        // Another direction and another source are other spaces.
        apply(pending, &c(), &puts(x(), vec![element("k", &[])])).unwrap();
        apply(pending, &P, &puts(c(), vec![element("k", &[])])).unwrap();
    });
}

#[test]
fn an_early_removal_cancels_its_put() {
    over_empty(|pending| {
        apply(pending, &c(), &removes(x(), &["k"])).unwrap();
        assert!(get(pending, &c(), &x(), &keys(&["k"])).is_err());
        let error = apply(pending, &c(), &removes(x(), &["k"])).unwrap_err();
        assert_eq!(error.to_string(), "duplicate remove: Key=0x6b");

        apply(pending, &x(), &puts(c(), vec![element("k", &["a"])])).unwrap();
        assert!(get(pending, &c(), &x(), &keys(&["k"])).is_err());
        assert!(indexed(pending, &c(), &x(), &names(&["a"]), None, 10).unwrap().keys.is_empty());

        // Both are forgotten: from here on the key is new.
        apply(pending, &x(), &puts(c(), vec![element("k", &["a"])])).unwrap();
        get(pending, &c(), &x(), &keys(&["k"])).unwrap();
        apply(pending, &c(), &removes(x(), &["k"])).unwrap();
        assert!(indexed(pending, &c(), &x(), &names(&["a"]), None, 10).unwrap().keys.is_empty());
    });
}

#[test]
fn a_block_with_several_peers_is_atomic() {
    over_empty(|pending| {
        apply(pending, &P, &puts(x(), vec![element("from P", &["a"])])).unwrap();
        apply(pending, &c(), &puts(x(), vec![element("from C", &["a"])])).unwrap();
        let before = pending.writes.clone();

        let mut block = BTreeMap::new();
        for (peer, key) in [(P, "from P"), (c(), "from C")] {
            let to_peer = Requests { puts: vec![element("to peer", &["b"])], removes: vec![] };
            let from_peer = Requests { puts: vec![], removes: keys(&[key]) };
            let requests: &mut Requests = block.entry(peer).or_default();
            requests.merge(to_peer);
            requests.merge(from_peer);
        }
        let mut bad = block.clone();
        bad.get_mut(&c()).unwrap().puts.push(element("to peer", &[]));
        apply(pending, &x(), &bad).unwrap_err();
        assert_eq!(pending.writes, before);

        apply(pending, &x(), &block).unwrap();
        for peer in [P, c()] {
            get(pending, &peer, &x(), &keys(&["to peer"])).unwrap();
            let left = indexed(pending, &x(), &peer, &names(&["a"]), None, 10).unwrap();
            assert!(left.keys.is_empty());
        }
    });
}

#[test]
fn pages_go_by_trait_then_key_and_list_each_element_once() {
    over_empty(|pending| {
        let elements = vec![
            element("k3", &["b", "a"]),
            element("k1", &["b"]),
            element("k2", &["c", "b"]),
            element("k0", &["c"]),
            element("k4", &["d"]),
            // The same trait twice is one.
            element("k5", &["a", "a"]),
        ];
        apply(pending, &x(), &puts(c(), elements)).unwrap();
        let page = |traits: &[&str], start: Option<(&str, &str)>, limit| {
            let start = start.map(|(name, key)| Cursor { name: name.into(), key: key.into() });
            let page = indexed(pending, &c(), &x(), &names(traits), start.as_ref(), limit).unwrap();
            assert_eq!(page.keys.len(), page.values.len());
            assert_eq!(page.last.as_ref().map(|last| &last.key), page.keys.last());
            page.keys
                .iter()
                .map(|key| String::from_utf8_lossy(key).into_owned())
                .collect::<Vec<_>>()
        };
        let all = ["c", "b", "a"];
        assert_eq!(page(&all, None, 10), ["k3", "k5", "k1", "k2", "k0"]);
        assert_eq!(page(&all, None, 5), ["k3", "k5", "k1", "k2", "k0"]);
        assert_eq!(page(&all, None, 3), ["k3", "k5", "k1"]);
        assert_eq!(page(&all, None, 0), [""; 0]);
        assert_eq!(page(&all, Some(("b", "k1")), 10), ["k2", "k0"]);
        // k3 is listed under a, though the walk begins at b.
        assert_eq!(page(&all, Some(("b", "k2")), 10), ["k0"]);
        // A start that is gone, or a trait that is not asked for, is a place in the order all the same.
        assert_eq!(page(&all, Some(("a", "k4")), 10), ["k5", "k1", "k2", "k0"]);
        assert_eq!(page(&["c", "a"], Some(("b", "zz")), 10), ["k0", "k2"]);
        assert_eq!(page(&["c"], None, 10), ["k0", "k2"]);
        assert_eq!(page(&["d", "e"], None, 10), ["k4"]);
        assert_eq!(page(&[], None, 10), [""; 0]);
        assert_eq!(page(&all, Some(("c", "k2")), 10), [""; 0]);
    });
}

#[test]
fn a_trait_prefix_does_not_match() {
    over_empty(|pending| {
        let elements = vec![element("k", &["a"]), element("l", &["ak"])];
        apply(pending, &x(), &puts(c(), elements)).unwrap();
        let page = indexed(pending, &c(), &x(), &names(&["a"]), None, 10).unwrap();
        assert_eq!(page.keys, [b"k"]);
    });
}

#[test]
fn lengths_are_limited() {
    over_empty(|pending| {
        let longest = Element {
            key: vec![0xff; MAX_KEY_LEN],
            value: vec![],
            traits: vec![vec![0xff; MAX_TRAIT_LEN]],
        };
        apply(pending, &x(), &puts(c(), vec![longest.clone()])).unwrap();
        MemoryStore::new().write(&pending.writes).unwrap();
        let found =
            indexed(pending, &c(), &x(), &longest.traits.iter().cloned().collect(), None, 1);
        assert_eq!(found.unwrap().values, [b""]);

        let long_key = Element { key: vec![0; MAX_KEY_LEN + 1], ..Element::default() };
        let long_trait =
            Element { traits: vec![vec![0; MAX_TRAIT_LEN + 1]], ..element("key", &[]) };
        for bad in [long_key, long_trait, element("", &[]), element("key", &[""])] {
            let error = apply(pending, &x(), &puts(c(), vec![bad])).unwrap_err();
            assert!(matches!(error, SharedMemoryError::Length { .. }), "{error}");
        }
    });
}
