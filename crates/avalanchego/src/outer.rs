//! Blocks of the proposer VM, which surround the blocks of X, C and P (docs/protocol/avalanchego.md, "Containers").

use bytes::Bytes;
use esker_primitives::codec::{self, CodecError, Reader, Writer};
use esker_primitives::{BlockId, Id};
use thiserror::Error;

use crate::block::Chain;

/// Most bytes of a container: twice the longest message of the reference, in which blocks travel.
pub const MAX_CONTAINER_LEN: usize = 4 << 20;

/// Type ID of a block with a proposer's time.
const BLOCK: u32 = 0;
/// Type ID of an option of a proposal.
const OPTION: u32 = 1;
/// Type ID of a block from Granite on.
const GRANITE_BLOCK: u32 = 2;
/// Type ID of a block of the asset VM, which a container without an outer block begins with.
const X_BLOCK: u32 = 0x14;
/// Type IDs of blocks of the P-Chain; 0 to 2 are read as outer blocks first, as the reference does.
const P_BLOCKS: [u32; 6] = [3, 4, 29, 30, 31, 32];
/// Bytes of the P-Chain's block of type 2, a commit before Banff: version, type, parent, height. An outer block of that
/// type is longer.
const P_COMMIT_LEN: usize = 2 + 4 + Id::LEN + 8;
/// The first bytes of long RLP lists, which blocks of an EVM chain begin with.
const RLP_LISTS: std::ops::RangeInclusive<u8> = 0xf8..=0xfb;

/// An outer block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outer {
    /// ID of the container: a hash of its bytes; of a block's without its signature.
    pub id: BlockId,
    /// ID of the outer block before. The first block of a chain has the ID of the genesis block here.
    pub parent: BlockId,
    /// The part that only one of the two types has.
    pub kind: OuterKind,
    /// The chain's own block.
    pub inner: Bytes,
}

/// The types of an outer block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OuterKind {
    /// Type 0.
    Block {
        /// Unix seconds.
        time_s: i64,
        /// Height of the P-Chain at which the proposer was chosen.
        p_height: u64,
        /// The proposer's certificate (DER); empty if the block is not signed.
        certificate: Bytes,
        /// The proposer's signature, which is not checked; empty if the block is not signed.
        signature: Bytes,
    },
    /// Type 1: one of the two options of a proposal of the P-Chain.
    Option,
}

/// The reason why bytes are no container.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OuterError {
    /// The bytes are no outer block.
    #[error("not a block of the proposer VM: {0}")]
    Codec(#[from] CodecError),
    /// Another type of block.
    #[error("not a block of the proposer VM: type {0} is neither a block (0) nor an option (1)")]
    Type(u32),
    /// A block from Granite on.
    #[error(
        "a block of the proposer VM from Granite on (type 2): this version follows networks up to Fortuna"
    )]
    Granite,
    /// A block without outer block.
    #[error(
        "a block of the {0} that is not wrapped by the proposer VM: only networks whose forks begin at Apricot \
         Phase 5 or later can be followed"
    )]
    PreFork(Chain),
}

impl Outer {
    /// Parses a container of a chain's index. Any bytes give a block or an error.
    pub fn parse(chain: Chain, container: &[u8]) -> Result<Self, OuterError> {
        if is_bare(chain, container) {
            return Err(OuterError::PreFork(chain));
        }
        let mut r = Reader::versioned(container, MAX_CONTAINER_LEN)?;
        match r.type_id()? {
            BLOCK => Self::parse_block(container, r),
            OPTION => Self::parse_option(container, r),
            GRANITE_BLOCK => Err(OuterError::Granite),
            other => Err(OuterError::Type(other)),
        }
    }

    fn parse_block(container: &[u8], mut r: Reader<'_>) -> Result<Self, OuterError> {
        let parent = r.id()?;
        let time_s = r.u64()?.cast_signed();
        let p_height = r.u64()?;
        let certificate = Bytes::copy_from_slice(r.bytes()?);
        let inner = Bytes::copy_from_slice(r.bytes()?);
        // The ID is that of the bytes which the proposer signs.
        let id = Id::sha256(container.get(..r.position()).unwrap_or_default());
        let signature = Bytes::copy_from_slice(r.bytes()?);
        r.finish()?;
        let kind = OuterKind::Block { time_s, p_height, certificate, signature };
        Ok(Self { id, parent, kind, inner })
    }

    fn parse_option(container: &[u8], mut r: Reader<'_>) -> Result<Self, OuterError> {
        let parent = r.id()?;
        let inner = Bytes::copy_from_slice(r.bytes()?);
        r.finish()?;
        Ok(Self { id: Id::sha256(container), parent, kind: OuterKind::Option, inner })
    }

    /// The container.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut w = Writer::new();
        w.u16(codec::VERSION);
        match &self.kind {
            OuterKind::Block { time_s, p_height, certificate, signature } => {
                w.type_id(BLOCK);
                w.id(&self.parent);
                w.u64(time_s.cast_unsigned());
                w.u64(*p_height);
                w.bytes(certificate);
                w.bytes(&self.inner);
                w.bytes(signature);
            }
            OuterKind::Option => {
                w.type_id(OPTION);
                w.id(&self.parent);
                w.bytes(&self.inner);
            }
        }
        w.into_vec()
    }
}

/// Whether a container begins as a chain's own block does.
fn is_bare(chain: Chain, container: &[u8]) -> bool {
    let type_id = || {
        let mut r = Reader::versioned(container, MAX_CONTAINER_LEN).ok()?;
        r.type_id().ok()
    };
    match chain {
        Chain::C => container.first().is_some_and(|byte| RLP_LISTS.contains(byte)),
        Chain::X => type_id() == Some(X_BLOCK),
        Chain::P => type_id().is_some_and(|found| {
            P_BLOCKS.contains(&found) || (found == GRANITE_BLOCK && container.len() == P_COMMIT_LEN)
        }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    const RUNS: [(&str, &str); 3] = [
        (
            include_str!("../../../tests/vectors/follow/follow-1.jsonl"),
            include_str!("../../../tests/vectors/follow/follow-1.inner.jsonl"),
        ),
        (
            include_str!("../../../tests/vectors/follow/follow-signed.jsonl"),
            include_str!("../../../tests/vectors/follow/follow-signed.inner.jsonl"),
        ),
        (
            include_str!("../../../tests/vectors/follow/fortuna-atomic.jsonl"),
            include_str!("../../../tests/vectors/follow/fortuna-atomic.inner.jsonl"),
        ),
    ];

    fn lines(text: &str) -> impl Iterator<Item = Value> {
        text.lines().map(|line| serde_json::from_str(line).unwrap())
    }

    fn bytes(line: &Value, member: &str) -> Vec<u8> {
        hex::decode(&line[member].as_str().unwrap()[2..]).unwrap()
    }

    fn chain_of(line: &Value) -> Chain {
        let alias = line["chain"].as_str().unwrap();
        Chain::ALL.into_iter().find(|chain| chain.alias() == alias).unwrap()
    }

    #[test]
    fn every_recorded_container() {
        for (containers, _) in RUNS {
            let mut last = std::collections::BTreeMap::<String, BlockId>::new();
            for line in lines(containers) {
                let container = bytes(&line, "bytes");
                let outer = Outer::parse(chain_of(&line), &container).unwrap();
                assert_eq!(outer.id.to_string(), line["id"], "{line}");
                assert_eq!(outer.to_bytes(), container);
                let chain = line["chain"].as_str().unwrap().to_owned();
                if let Some(last) = last.insert(chain, outer.id) {
                    assert_eq!(outer.parent, last);
                }
            }
        }
    }

    #[test]
    fn every_recorded_inner_block() {
        for (containers, inner) in RUNS {
            let containers = lines(containers).filter(|line| line["chain"] != "P");
            for (line, expected) in containers.zip(lines(inner)) {
                let outer = Outer::parse(chain_of(&line), &bytes(&line, "bytes")).unwrap();
                assert_eq!(outer.inner, bytes(&expected, "inner"));
                assert_eq!(outer.parent.to_string(), expected["outerParent"]);
                let OuterKind::Block { time_s, p_height, certificate, signature } = outer.kind
                else {
                    panic!("X and C have no options")
                };
                assert_eq!(time_s, expected["outerTimestamp"]);
                assert_eq!(p_height, expected["outerPChainHeight"]);
                assert_eq!(certificate.len(), expected["outerCertificateBytes"]);
                assert_eq!(signature.len(), expected["outerSignatureBytes"]);
            }
        }
    }

    fn refusal(chain: Chain, container: &[u8]) -> String {
        Outer::parse(chain, container).unwrap_err().to_string()
    }

    #[test]
    fn refused_containers() {
        for (container, text) in [
            ("", "couldn't unpack codec version"),
            ("0001", "unknown codec version"),
            ("000000000007", "type 7 is neither"),
            ("000000000001", "insufficient length"),
        ] {
            for chain in Chain::ALL {
                let found = refusal(chain, &hex::decode(container).unwrap());
                assert!(found.contains(text), "{chain}, {container}: {found}");
            }
        }
        let option = Outer {
            id: Id::ZERO,
            parent: Id::ZERO,
            kind: OuterKind::Option,
            inner: Bytes::from_static(b"inner"),
        };
        let trailing = [option.to_bytes(), vec![0]].concat();
        for chain in Chain::ALL {
            assert!(refusal(chain, &trailing).contains("trailing buffer space"));
            let long = vec![0; MAX_CONTAINER_LEN + 1];
            assert!(refusal(chain, &long).contains("exceeds maximum length"));
        }
    }

    /// A chain's own block is named as such in that chain's index alone, and a block of Granite as what it is in all.
    #[test]
    fn containers_without_an_outer_block_and_later_ones() {
        let commit = format!("000000000002{}", "00".repeat(40));
        let granite = format!("000000000002{}", "00".repeat(120));
        for (container, bare) in [
            ("f9031cf90299a017a7", Some(Chain::C)),
            ("000000000014", Some(Chain::X)),
            ("000000000003", Some(Chain::P)),
            ("000000000020", Some(Chain::P)),
            (&commit, Some(Chain::P)),
            (&granite, None),
        ] {
            for chain in Chain::ALL {
                let found = refusal(chain, &hex::decode(container).unwrap());
                let is_bare = found.starts_with(&format!(
                    "a block of the {chain} that is not wrapped by the proposer VM: only networks"
                ));
                assert_eq!(is_bare, bare == Some(chain), "{chain}, {container}: {found}");
                let of_granite = "a block of the proposer VM from Granite on (type 2)";
                let is_type_2 = container.starts_with("000000000002");
                assert_eq!(found.contains(of_granite), is_type_2 && !is_bare, "{found}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_parse_or_fail(
            head in prop::sample::select(vec![vec![], vec![0, 0, 0, 0, 0, 0], vec![0, 0, 0, 0, 0, 1]]),
            rest in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let container = [head, rest].concat();
            for chain in Chain::ALL {
                if let Ok(outer) = Outer::parse(chain, &container) {
                    prop_assert_eq!(&outer.to_bytes(), &container);
                }
            }
        }

        #[test]
        fn blocks_round_trip(
            parent: [u8; 32],
            time_s: i64,
            p_height: u64,
            parts in prop::array::uniform3(prop::collection::vec(any::<u8>(), 0..40)),
            is_option: bool,
        ) {
            let [certificate, inner, signature] = parts.map(Bytes::from);
            let kind = match is_option {
                true => OuterKind::Option,
                false => OuterKind::Block { time_s, p_height, certificate, signature },
            };
            let outer = Outer { id: Id::ZERO, parent: Id::new(parent), kind, inner };
            for chain in Chain::ALL {
                let parsed = Outer::parse(chain, &outer.to_bytes()).unwrap();
                prop_assert_eq!(&Outer { id: Id::ZERO, ..parsed }, &outer);
            }
        }
    }
}
