//! The records of a stream of bundles (docs/protocol/bundle-stream.md, "Records").

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use esker_chain::{Bundle, BundleId, MAX_BUNDLE_SIZE};
use esker_primitives::Id;
use esker_primitives::codec::{CodecError, Encode as _};
use thiserror::Error;

/// The version of the stream that this software writes and reads.
pub const PROTOCOL_VERSION: u16 = 0;

/// Most bytes of a proof.
const MAX_PROOF_LEN: usize = 1 << 20;
/// Most bytes of a record after its length: a bundle with its proof, and the bytes around them.
pub const MAX_RECORD_LEN: usize = MAX_BUNDLE_SIZE + MAX_PROOF_LEN + 64;
/// Most bytes of the reason in [`Record::End`].
pub(crate) const MAX_REASON_LEN: usize = 1024;

const HELLO: u8 = 0;
const BUNDLE: u8 = 1;
const TIP: u8 = 2;
const END: u8 = 3;

/// The first record of a stream: its network and its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Version of the stream.
    pub version: u16,
    /// ID of the network.
    pub network_id: u32,
    /// ID of the bundle of height 0, which depends on the network's genesis chains and their parameters.
    pub genesis: BundleId,
    /// ID of the bundle before the first one of the stream.
    pub parent: BundleId,
    /// Height of the last final bundle.
    pub tip: u64,
}

/// One record of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// The first record.
    Hello(Hello),
    /// A final bundle, with its proof where the network has proofs.
    Bundle {
        /// The bundle.
        bundle: Bundle,
        /// The proof that the bundle is final.
        proof: Option<Bytes>,
    },
    /// The height of the last final bundle. It is sent while there is nothing else to send, and while bundles are
    /// sent to a reader that is far behind.
    Tip(u64),
    /// The source ends the stream, with the reason.
    End(String),
}

/// The reason why bytes are not a record.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RecordError {
    /// Its length is zero or above the limit.
    #[error("invalid record length: {0} bytes; expected 1 to {MAX_RECORD_LEN}")]
    Length(usize),
    /// Its kind is unknown.
    #[error("unknown kind of record: {0}")]
    Kind(u8),
    /// Its length does not fit its kind.
    #[error("wrong length of a record of kind {0}")]
    Form(u8),
    /// The bundle can't be read.
    #[error("invalid bundle in a record: {0}")]
    Bundle(#[from] CodecError),
}

impl Record {
    /// The record with its length before it.
    pub fn to_bytes(&self) -> Bytes {
        match self {
            Self::Hello(hello) => framed(HELLO, 2 + 4 + 2 * Id::LEN + 8, |out| {
                out.put_u16(hello.version);
                out.put_u32(hello.network_id);
                out.put_slice(hello.genesis.as_bytes());
                out.put_slice(hello.parent.as_bytes());
                out.put_u64(hello.tip);
            }),
            Self::Bundle { bundle, proof } => bundle_record(bundle, proof.as_deref()),
            Self::Tip(height) => framed(TIP, 8, |out| out.put_u64(*height)),
            Self::End(reason) => framed(END, reason.len(), |out| out.put_slice(reason.as_bytes())),
        }
    }

    /// Parses the bytes after the length.
    fn parse(mut bytes: Bytes) -> Result<Self, RecordError> {
        let kind = bytes.try_get_u8().map_err(|_| RecordError::Length(0))?;
        let form = || RecordError::Form(kind);
        match kind {
            HELLO => {
                if bytes.len() != 2 + 4 + 2 * Id::LEN + 8 {
                    return Err(form());
                }
                let (version, network_id) = (bytes.get_u16(), bytes.get_u32());
                let (genesis, parent) = (take_id(&mut bytes), take_id(&mut bytes));
                let tip = bytes.get_u64();
                Ok(Self::Hello(Hello { version, network_id, genesis, parent, tip }))
            }
            BUNDLE => {
                let (bundle, proof) = take_bundle(bytes).map_err(|e| e.unwrap_or_else(form))?;
                Ok(Self::Bundle { bundle, proof })
            }
            TIP if bytes.len() == 8 => Ok(Self::Tip(bytes.get_u64())),
            END if bytes.len() <= MAX_REASON_LEN => {
                Ok(Self::End(String::from_utf8_lossy(&bytes).into_owned()))
            }
            TIP | END => Err(form()),
            other => Err(RecordError::Kind(other)),
        }
    }
}

/// The record of a bundle, with its length before it.
pub(crate) fn bundle_record(bundle: &Bundle, proof: Option<&[u8]>) -> Bytes {
    let encoded = bundle.to_versioned_bytes();
    let proof = proof.unwrap_or_default();
    framed(BUNDLE, 4 + proof.len() + encoded.len(), |out| {
        out.put_u32(u32::try_from(proof.len()).unwrap_or(u32::MAX));
        out.put_slice(proof);
        out.put_slice(&encoded);
    })
}

/// A bundle with its proof, from the payload of a record. The error is `None` if the payload has another form.
pub(crate) fn take_bundle(
    mut bytes: Bytes,
) -> Result<(Bundle, Option<Bytes>), Option<RecordError>> {
    let len = bytes.try_get_u32().map_err(|_| None)? as usize;
    if len > MAX_PROOF_LEN || len > bytes.len() {
        return Err(None);
    }
    let proof = bytes.split_to(len);
    let bundle = Bundle::parse(&bytes).map_err(|error| Some(error.into()))?;
    Ok((bundle, (!proof.is_empty()).then_some(proof)))
}

pub(crate) fn framed(kind: u8, len: usize, write: impl FnOnce(&mut BytesMut)) -> Bytes {
    let mut out = BytesMut::with_capacity(4 + 1 + len);
    out.put_u32(u32::try_from(1 + len).unwrap_or(u32::MAX));
    out.put_u8(kind);
    write(&mut out);
    out.freeze()
}

/// The caller has checked the length.
pub(crate) fn take_id(bytes: &mut Bytes) -> Id {
    let mut id = [0; Id::LEN];
    bytes.copy_to_slice(&mut id);
    Id::from(id)
}

/// Cuts a stream of bytes into records. It holds at most one record and one chunk of input.
#[derive(Debug, Default)]
pub struct RecordReader {
    frames: FrameReader,
}

impl RecordReader {
    /// Adds bytes of the stream. Take all records with [`Self::next`] before adding more.
    pub fn push(&mut self, bytes: &[u8]) {
        self.frames.push(bytes);
    }

    /// The next record; `None` if more bytes are needed.
    ///
    /// # Errors
    /// The stream can't be read from here on.
    #[expect(clippy::should_implement_trait, reason = "no iterator: more input may follow None")]
    pub fn next(&mut self) -> Result<Option<Record>, RecordError> {
        self.frames.next()?.map(Record::parse).transpose()
    }

    /// Whether a record has begun and is not complete.
    pub fn is_in_record(&self) -> bool {
        self.frames.is_in_frame()
    }
}

/// Cuts a stream of bytes at its lengths.
#[derive(Debug, Default)]
pub(crate) struct FrameReader {
    buffer: BytesMut,
}

impl FrameReader {
    /// Adds bytes of the stream.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The bytes after the next length; `None` if more bytes are needed.
    pub(crate) fn next(&mut self) -> Result<Option<Bytes>, RecordError> {
        let Some(head) = self.buffer.first_chunk::<4>() else { return Ok(None) };
        let len = u32::from_be_bytes(*head) as usize;
        if len == 0 || len > MAX_RECORD_LEN {
            return Err(RecordError::Length(len));
        }
        if self.buffer.len() < 4 + len {
            return Ok(None);
        }
        self.buffer.advance(4);
        Ok(Some(self.buffer.split_to(len).freeze()))
    }

    /// Whether a record has begun and is not complete.
    pub(crate) fn is_in_frame(&self) -> bool {
        !self.buffer.is_empty()
    }
}

#[cfg(test)]
mod tests {
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

    fn records() -> impl Strategy<Value = Record> {
        let id = || any::<[u8; 32]>().prop_map(Id::from);
        prop_oneof![
            (any::<u16>(), any::<u32>(), id(), id(), any::<u64>()).prop_map(
                |(version, network_id, genesis, parent, tip)| {
                    Record::Hello(Hello { version, network_id, genesis, parent, tip })
                }
            ),
            (any::<u64>(), prop::collection::vec(any::<u8>(), 0..40), 0usize..3).prop_map(
                |(height, block, proof)| {
                    let proof = (proof > 0).then(|| Bytes::from(vec![1; proof]));
                    Record::Bundle { bundle: bundle(height, block), proof }
                }
            ),
            any::<u64>().prop_map(Record::Tip),
            "[a-z ]{0,40}".prop_map(Record::End),
        ]
    }

    fn read(bytes: &[u8], cut: usize) -> Result<Vec<Record>, RecordError> {
        let mut reader = RecordReader::default();
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
            (&[0, 0, 0, 0][..], "invalid record length: 0 bytes"),
            (&[255, 255, 255, 255], "invalid record length: 4294967295 bytes"),
            (&[0, 0, 0, 1, 9], "unknown kind of record: 9"),
            (&[0, 0, 0, 1, 0], "wrong length of a record of kind 0"),
            (&[0, 0, 0, 2, 2, 1], "wrong length of a record of kind 2"),
            (&[0, 0, 0, 5, 1, 0, 0, 0, 1], "wrong length of a record of kind 1"),
            (&[0, 0, 0, 5, 1, 0, 0, 0, 0], "invalid bundle in a record"),
        ] {
            let refused = read(bytes, 3).unwrap_err().to_string();
            assert!(refused.starts_with(error), "{bytes:?}: {refused}");
        }
    }

    #[test]
    fn an_endless_reason_is_refused() {
        let record = Record::End("a".repeat(MAX_REASON_LEN + 1));
        assert_eq!(read(&record.to_bytes(), 100), Err(RecordError::Form(END)));
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

        #[test]
        fn a_cut_record_waits_for_its_rest(record in records(), cut in 1usize..20) {
            let bytes = record.to_bytes();
            let mut reader = RecordReader::default();
            reader.push(&bytes[..bytes.len() - cut.min(bytes.len() - 1)]);
            prop_assert_eq!(reader.next().unwrap(), None);
            prop_assert!(reader.is_in_record());
        }
    }
}
