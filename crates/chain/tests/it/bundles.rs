//! The encoding of bundles.

use bytes::Bytes;
use esker_chain::Bundle;
use esker_primitives::Id;
use esker_primitives::codec::Encode;
use proptest::prelude::*;

fn bundles() -> impl Strategy<Value = Bundle> {
    let block = (any::<[u8; 32]>(), proptest::collection::vec(any::<u8>(), 0..64));
    let blocks = proptest::collection::vec(block, 0..4);
    let version = 0..=Bundle::VERSION;
    (version, any::<[u8; 32]>(), any::<[u8; 32]>(), any::<u64>(), any::<u64>(), blocks).prop_map(
        |(version, parent, commitment, height, timestamp_ms, blocks)| Bundle {
            version,
            parent: Id::new(parent),
            height,
            timestamp_ms,
            commitment: if version > 0 { Id::new(commitment) } else { Id::ZERO },
            blocks: blocks.into_iter().map(|(id, b)| (Id::new(id), Bytes::from(b))).collect(),
        },
    )
}

proptest! {
    #[test]
    fn a_bundle_survives_its_encoding(bundle in bundles()) {
        let bytes = bundle.to_versioned_bytes();
        let parsed = Bundle::parse(&bytes).unwrap();
        prop_assert_eq!(parsed.id(), Id::sha256(&bytes));
        prop_assert_eq!(parsed, bundle);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..256)) {
        if let Ok(bundle) = Bundle::parse(&bytes) {
            prop_assert_eq!(bundle.to_versioned_bytes(), bytes);
        }
    }
}
