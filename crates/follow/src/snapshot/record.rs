//! The records of a snapshot (docs/protocol/snapshot.md, "Records").

use bytes::{Buf as _, BufMut as _, Bytes};
use esker_chain::commitment::StateSummary;
use esker_chain::snapshot::SnapshotItem;
use esker_chain::{Bundle, BundleId};
use esker_primitives::Id;
use esker_primitives::codec::{Decode as _, Encode as _, Reader, Writer};

use crate::record::{
    FrameReader, MAX_REASON_LEN, RecordError, bundle_record, framed, take_bundle, take_id,
};

/// The version of the snapshot that this software writes and reads.
pub const SNAPSHOT_VERSION: u16 = 0;

const HELLO: u8 = 0;
/// The same number as in the stream of bundles.
const BUNDLE: u8 = 1;
const SUMMARY: u8 = 2;
const TOTAL: u8 = 3;
const ALIVE: u8 = 4;
const BLOCK: u8 = 5;
const ROWS: u8 = 6;
const END: u8 = 7;
const FAILED: u8 = 8;

/// Bytes before the block in a record of a block.
const BLOCK_HEAD: usize = Id::LEN + 8 + 4;

/// The first record: the network and the bundle of the snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotHello {
    /// Version of the snapshot.
    pub version: u16,
    /// ID of the network.
    pub network_id: u32,
    /// ID of the bundle of height 0.
    pub genesis: BundleId,
    /// Height of the snapshot's bundle.
    pub height: u64,
    /// Its ID.
    pub bundle: BundleId,
}

/// The totals that the last record has of those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SnapshotTotals {
    /// Number of rows.
    pub rows: u64,
    /// Bytes of all records before it, with their lengths.
    pub bytes: u64,
}

/// One record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SnapshotRecord {
    /// The first record.
    Hello(SnapshotHello),
    /// The bundle whose state the snapshot has, with its proof if the network has proofs.
    Bundle {
        /// The bundle.
        bundle: Bundle,
        /// The proof that the bundle is final.
        proof: Option<Bytes>,
    },
    /// The summary to which the bundle commits.
    Summary(StateSummary),
    /// Number of rows that will come.
    Total(u64),
    /// No content: the source is at work.
    Alive,
    /// A block, or rows.
    Item(SnapshotItem),
    /// The last record.
    End(SnapshotTotals),
    /// The source ends the snapshot early, with the reason.
    Failed(String),
}

impl SnapshotRecord {
    /// The record with its length before it.
    pub fn to_bytes(&self) -> Bytes {
        match self {
            Self::Hello(hello) => framed(HELLO, 2 + 4 + 2 * Id::LEN + 8, |out| {
                out.put_u16(hello.version);
                out.put_u32(hello.network_id);
                out.put_slice(hello.genesis.as_bytes());
                out.put_u64(hello.height);
                out.put_slice(hello.bundle.as_bytes());
            }),
            Self::Bundle { bundle, proof } => bundle_record(bundle, proof.as_deref()),
            Self::Summary(summary) => {
                let mut encoded = Writer::new();
                summary.encode(&mut encoded);
                framed(SUMMARY, encoded.as_slice().len(), |out| out.put_slice(encoded.as_slice()))
            }
            Self::Total(rows) => framed(TOTAL, 8, |out| out.put_u64(*rows)),
            Self::Alive => framed(ALIVE, 0, |_| ()),
            Self::Item(SnapshotItem::Block { chain, height, bytes, extra }) => {
                framed(BLOCK, BLOCK_HEAD + bytes.len() + extra.len(), |out| {
                    out.put_slice(chain.as_bytes());
                    out.put_u64(*height);
                    out.put_u32(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
                    out.put_slice(bytes);
                    out.put_slice(extra);
                })
            }
            Self::Item(SnapshotItem::Rows { part, tag, page }) => {
                framed(ROWS, Id::LEN + 1 + page.len(), |out| {
                    out.put_slice(part.as_bytes());
                    out.put_u8(*tag);
                    out.put_slice(page);
                })
            }
            Self::End(totals) => framed(END, 16, |out| {
                out.put_u64(totals.rows);
                out.put_u64(totals.bytes);
            }),
            Self::Failed(reason) => {
                framed(FAILED, reason.len(), |out| out.put_slice(reason.as_bytes()))
            }
        }
    }

    /// Parses the bytes after the length.
    fn parse(mut bytes: Bytes) -> Result<Self, RecordError> {
        let kind = bytes.try_get_u8().map_err(|_| RecordError::Length(0))?;
        let form = || RecordError::Form(kind);
        match (kind, bytes.len()) {
            (HELLO, len) if len == 2 + 4 + 2 * Id::LEN + 8 => {
                let (version, network_id) = (bytes.get_u16(), bytes.get_u32());
                let genesis = take_id(&mut bytes);
                let height = bytes.get_u64();
                let bundle = take_id(&mut bytes);
                Ok(Self::Hello(SnapshotHello { version, network_id, genesis, height, bundle }))
            }
            (BUNDLE, _) => {
                let (bundle, proof) = take_bundle(bytes).map_err(|e| e.unwrap_or_else(form))?;
                Ok(Self::Bundle { bundle, proof })
            }
            (SUMMARY, _) => {
                let mut reader = Reader::new(&bytes);
                let summary = StateSummary::decode(&mut reader).map_err(|_| form())?;
                // Chains in another order, or twice, are refused.
                let mut encoded = Writer::new();
                summary.encode(&mut encoded);
                match encoded.as_slice() == bytes {
                    true => Ok(Self::Summary(summary)),
                    false => Err(form()),
                }
            }
            (TOTAL, 8) => Ok(Self::Total(bytes.get_u64())),
            (ALIVE, 0) => Ok(Self::Alive),
            (BLOCK, len) if len >= BLOCK_HEAD => {
                let chain = take_id(&mut bytes);
                let (height, block) = (bytes.get_u64(), bytes.get_u32() as usize);
                if block > bytes.len() {
                    return Err(form());
                }
                let block = bytes.split_to(block);
                Ok(Self::Item(SnapshotItem::Block { chain, height, bytes: block, extra: bytes }))
            }
            // Every page has a row.
            (ROWS, len) if len > Id::LEN + 1 => {
                let part = take_id(&mut bytes);
                let tag = bytes.get_u8();
                Ok(Self::Item(SnapshotItem::Rows { part, tag, page: bytes }))
            }
            (END, 16) => {
                let (rows, bytes) = (bytes.get_u64(), bytes.get_u64());
                Ok(Self::End(SnapshotTotals { rows, bytes }))
            }
            (FAILED, len) if len <= MAX_REASON_LEN => {
                Ok(Self::Failed(String::from_utf8_lossy(&bytes).into_owned()))
            }
            (HELLO..=FAILED, _) => Err(form()),
            (other, _) => Err(RecordError::Kind(other)),
        }
    }
}

/// Cuts a snapshot into records. It holds at most one record and one chunk of input.
#[derive(Debug, Default)]
pub struct SnapshotRecordReader {
    frames: FrameReader,
    bytes: u64,
}

impl SnapshotRecordReader {
    /// Adds bytes of the snapshot. Take all records with [`Self::next`] before adding more.
    pub fn push(&mut self, bytes: &[u8]) {
        self.frames.push(bytes);
    }

    /// The next record; `None` if more bytes are needed.
    ///
    /// # Errors
    /// The snapshot can't be read from here on.
    #[expect(clippy::should_implement_trait, reason = "no iterator: more input may follow None")]
    pub fn next(&mut self) -> Result<Option<SnapshotRecord>, RecordError> {
        let Some(frame) = self.frames.next()? else { return Ok(None) };
        let bytes = 4 + frame.len() as u64;
        let record = SnapshotRecord::parse(frame)?;
        if !matches!(record, SnapshotRecord::End(_)) {
            self.bytes += bytes;
        }
        Ok(Some(record))
    }

    /// Bytes of the records so far, without the last one.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether a record has begun and is not complete.
    pub fn is_in_record(&self) -> bool {
        self.frames.is_in_frame()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use esker_chain::commitment::ChainState;
    use proptest::prelude::*;

    use super::*;

    fn bundle(height: u64, block: Vec<u8>) -> Bundle {
        Bundle {
            version: Bundle::VERSION,
            parent: Id::sha256(b"parent"),
            height,
            timestamp_ms: 7,
            commitment: Id::sha256(b"state"),
            blocks: vec![(Id::sha256(b"chain"), block.into())],
        }
    }

    fn records() -> impl Strategy<Value = SnapshotRecord> {
        let id = || any::<[u8; 32]>().prop_map(Id::from);
        let bytes = || prop::collection::vec(any::<u8>(), 0..40).prop_map(Bytes::from);
        let chain = (id(), any::<u64>(), id(), id());
        prop_oneof![
            (any::<u16>(), any::<u32>(), id(), any::<u64>(), id()).prop_map(
                |(version, network_id, genesis, height, bundle)| {
                    let hello = SnapshotHello { version, network_id, genesis, height, bundle };
                    SnapshotRecord::Hello(hello)
                }
            ),
            (any::<u64>(), bytes(), 0usize..3).prop_map(|(height, block, proof)| {
                let proof = (proof > 0).then(|| Bytes::from(vec![1; proof]));
                SnapshotRecord::Bundle { bundle: bundle(height, block.to_vec()), proof }
            }),
            (id(), prop::collection::vec(chain, 0..3)).prop_map(|(shared, chains)| {
                let chains = chains.into_iter().map(|(chain, height, block_id, checksum)| {
                    (chain, ChainState { height, block_id, checksum })
                });
                let chains: BTreeMap<_, _> = chains.collect();
                SnapshotRecord::Summary(StateSummary { shared, chains })
            }),
            any::<u64>().prop_map(SnapshotRecord::Total),
            Just(SnapshotRecord::Alive),
            (id(), any::<u64>(), bytes(), bytes()).prop_map(|(chain, height, bytes, extra)| {
                SnapshotRecord::Item(SnapshotItem::Block { chain, height, bytes, extra })
            }),
            (id(), any::<u8>(), prop::collection::vec(any::<u8>(), 1..40)).prop_map(
                |(part, tag, page)| {
                    let page = page.into();
                    SnapshotRecord::Item(SnapshotItem::Rows { part, tag, page })
                }
            ),
            (any::<u64>(), any::<u64>())
                .prop_map(|(rows, bytes)| SnapshotRecord::End(SnapshotTotals { rows, bytes })),
            "[a-z ]{0,40}".prop_map(SnapshotRecord::Failed),
        ]
    }

    fn read(bytes: &[u8], cut: usize) -> Result<Vec<SnapshotRecord>, RecordError> {
        let mut reader = SnapshotRecordReader::default();
        let mut found = Vec::new();
        for part in bytes.chunks(cut.max(1)) {
            reader.push(part);
            while let Some(record) = reader.next()? {
                found.push(record);
            }
        }
        Ok(found)
    }

    #[test]
    fn a_record_of_another_form_is_refused() {
        for (bytes, error) in [
            (&[0, 0, 0, 1, 9][..], "unknown kind of record: 9"),
            (&[0, 0, 0, 1, 0], "wrong length of a record of kind 0"),
            (&[0, 0, 0, 2, 2, 1], "wrong length of a record of kind 2"),
            (&[0, 0, 0, 2, 3, 1], "wrong length of a record of kind 3"),
            (&[0, 0, 0, 2, 4, 1], "wrong length of a record of kind 4"),
            (&[0, 0, 0, 1, 5], "wrong length of a record of kind 5"),
            (&[0, 0, 0, 1, 6], "wrong length of a record of kind 6"),
            (&[&[0, 0, 0, 34, 6][..], &[0; 33]].concat()[..], "wrong length of a record of kind 6"),
            (&[0, 0, 0, 1, 7], "wrong length of a record of kind 7"),
        ] {
            let refused = read(bytes, 3).unwrap_err().to_string();
            assert!(refused.starts_with(error), "{bytes:?}: {refused}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(records in prop::collection::vec(records(), 0..5), cut in 1usize..200) {
            let bytes: Vec<u8> = records.iter().flat_map(|record| record.to_bytes()).collect();
            prop_assert_eq!(read(&bytes, cut).unwrap(), records);
        }

        #[test]
        fn any_bytes_give_records_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300), cut in 1usize..50) {
            let _any = read(&bytes, cut);
        }
    }
}
