//! The index of logs, compared with tests of every bloom.

use alloy_primitives::{Address, B256, Bloom, BloomInput};
use esker_evm_state::logs::{LogIndex, LogQuery, Row, SECTION};
use esker_storage::{KvRead, Scope, StorageError, Store, ValueCodec, WriteSet};
use proptest::prelude::*;

const SCOPE: Scope = Scope(2);

/// A chain with only blooms.
struct Chain {
    store: Store,
    index: LogIndex,
    blooms: Vec<Bloom>,
}

fn bloom_of(values: &[B256]) -> Bloom {
    let mut bloom = Bloom::ZERO;
    values.iter().for_each(|value| bloom.accrue(BloomInput::Raw(value.as_slice())));
    bloom
}

fn value(number: u64) -> B256 {
    B256::left_padding_from(&number.to_be_bytes())
}

impl Chain {
    fn new() -> Self {
        let (store, index) = (Store::memory().unwrap(), LogIndex::new(SCOPE));
        let chain = Self { store, index, blooms: vec![Bloom::ZERO] };
        chain.reopened()
    }

    fn accept(&mut self, bloom: Bloom) {
        let (height, mut out) = (self.blooms.len() as u64, WriteSet::new());
        self.index.extend_commit(&[(height, bloom)], &mut out);
        self.store.writer.commit_blocking(out).unwrap();
        self.index.accepted(height, &bloom);
        self.blooms.push(bloom);
    }

    /// The same after a restart.
    fn reopened(self) -> Self {
        self.reopened_from(0)
    }

    /// The same without the blocks below a height.
    fn reopened_from(self, first: u64) -> Self {
        let Self { store, blooms, .. } = self;
        let index = LogIndex::new(SCOPE);
        let read = |_: &dyn KvRead, height: u64| {
            assert!(height >= first, "block {height} is not in the store");
            Ok::<_, StorageError>(blooms[usize::try_from(height).unwrap()])
        };
        while index.backfill(&store, first, blooms.len() as u64 - 1, read).unwrap().is_some() {}
        Self { store, index, blooms }
    }

    fn find(&self, query: &LogQuery, from: u64, to: u64) -> Vec<u64> {
        let (mut found, mut next) = (Vec::new(), Some(from));
        while let Some(from) = next {
            let part = self.index.find(&self.store, query, from, to).unwrap();
            assert!(part.next.is_none_or(|next| next > from && next <= to), "{part:?}");
            found.extend(part.heights);
            next = part.next;
        }
        found
    }

    /// The expected result from the blooms one by one.
    #[track_caller]
    fn check(&self, query: &LogQuery, from: u64, to: u64) {
        let expected: Vec<_> = (from..=to)
            .filter(|height| query.may_match(&self.blooms[usize::try_from(*height).unwrap()]))
            .collect();
        assert_eq!(self.find(query, from, to), expected, "{from} to {to}");
    }
}

fn one(number: u64) -> LogQuery {
    LogQuery::any().one_of([value(number)])
}

/// Two whole sections and a part of a third: every 10th block has the value 1, every 1,000th 2, and three have a
/// value of their own; the second section has nothing else.
fn sparse() -> Chain {
    let mut chain = Chain::new();
    for height in 1..2 * SECTION + 1_500 {
        let mut values = Vec::new();
        if height / SECTION != 1 && height % 10 == 0 {
            values.push(value(1));
        }
        if height % 1_000 == 0 {
            values.push(value(2));
        }
        if [SECTION - 1, SECTION, 2 * SECTION + 7].contains(&height) {
            values.push(value(1_000 + height));
        }
        chain.accept(bloom_of(&values));
    }
    chain
}

#[test]
fn sections_find_what_blooms_find() {
    let chain = sparse();
    let last = chain.blooms.len() as u64 - 1;
    let queries = [
        LogQuery::any(),
        LogQuery::any().one_of::<B256>([]),
        one(1),
        one(2),
        one(999),
        one(1_000 + SECTION),
        LogQuery::any().one_of([value(1), value(2)]),
        one(1).one_of([value(2)]),
        one(1_000 + SECTION - 1).one_of([Address::ZERO]),
    ];
    let borders = [0, 1, SECTION - 1, SECTION, 2 * SECTION - 1, 2 * SECTION, last - 1, last];
    for query in &queries {
        for (at, from) in borders.iter().enumerate() {
            for to in &borders[at..] {
                chain.check(query, *from, *to);
            }
        }
    }
    assert_eq!(chain.find(&one(1_000 + SECTION), 0, last), [SECTION]);
    assert!(chain.find(&one(999), 0, last).is_empty());
}

#[test]
fn a_restart_changes_nothing() {
    let chain = sparse();
    let found = chain.find(&one(2), 0, 9_000);
    let mut chain = chain.reopened();
    assert_eq!(chain.find(&one(2), 0, 9_000), found);
    // The index continues over the end of a section.
    while chain.blooms.len() as u64 <= 3 * SECTION {
        chain.accept(bloom_of(&[value(5)]));
    }
    chain.check(&one(5), 0, 3 * SECTION);
    chain.reopened().check(&one(5), SECTION, 3 * SECTION);
}

#[test]
fn a_store_without_rows_gets_them() {
    let Chain { blooms, .. } = sparse();
    let store = Store::memory().unwrap();
    let chain = Chain { store, index: LogIndex::new(SCOPE), blooms }.reopened();
    let last = chain.blooms.len() as u64 - 1;
    for query in [LogQuery::any(), one(1), one(2), one(1_000 + SECTION)] {
        chain.check(&query, 0, last);
    }
}

#[test]
fn an_index_begins_with_the_first_stored_block() {
    for first in [1, 500, SECTION, SECTION + 700, 2 * SECTION, 2 * SECTION + 1_000] {
        let Chain { blooms, .. } = sparse();
        let store = Store::memory().unwrap();
        let chain = Chain { store, index: LogIndex::new(SCOPE), blooms };
        let mut chain = chain.reopened_from(first).reopened_from(first);
        while chain.blooms.len() as u64 <= 3 * SECTION {
            chain.accept(bloom_of(&[value(5)]));
        }
        let chain = chain.reopened_from(first);
        for query in [LogQuery::any(), one(1), one(2), one(5)] {
            chain.check(&query, first, 3 * SECTION);
        }
    }
}

#[test]
fn quiet_sections_write_one_row() {
    let mut chain = Chain::new();
    while chain.blooms.len() as u64 <= SECTION {
        chain.accept(Bloom::ZERO);
    }
    let (mut rows, reader) = (0, chain.store.snapshot().unwrap());
    reader
        .scan(&[], None, &mut |_, _| {
            rows += 1;
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(rows, 1);
    assert!(chain.find(&LogQuery::any(), 0, SECTION).is_empty());
}

#[test]
fn thousands_of_alternatives_are_one_question() {
    let chain = sparse();
    let last = chain.blooms.len() as u64 - 1;
    let strangers: Vec<_> = (1 << 20..).map(value).take(10_000).collect();
    chain.check(&LogQuery::any().one_of(&strangers), 0, last);
    let with_known = strangers.iter().copied().chain([value(1_000 + SECTION)]);
    let query = LogQuery::any().one_of(with_known);
    chain.check(&query, 0, last);
    assert!(chain.find(&query, 0, last).contains(&SECTION));
}

proptest! {
    #[test]
    fn rows_read_back(places in prop::collection::btree_set(0u16..4096, 0..600)) {
        let listed: Vec<u8> = places.iter().flat_map(|place| place.to_be_bytes()).collect();
        prop_assume!(listed.len() != 512);
        let row = Row::decode_value(&listed).unwrap();
        let mut written = Vec::new();
        row.encode_value(&mut written);
        prop_assert_eq!(written.len(), listed.len().min(512));
        prop_assert_eq!(Row::decode_value(&written), Some(row));
    }

    #[test]
    fn other_bytes_are_no_row(bytes in prop::collection::vec(any::<u8>(), 0..20)) {
        let is_row = bytes.len() % 2 == 0 && bytes.chunks(2).all(|place| place[0] < 16);
        prop_assert_eq!(Row::decode_value(&bytes).is_some(), is_row);
    }
}
