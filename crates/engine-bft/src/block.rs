//! A bundle as the library's block.

use bytes::{BufMut, Bytes};
use commonware_codec::{Buf, EncodeSize, Error, RangeCfg, Read, Write};
use commonware_consensus::types::Height;
use commonware_consensus::{Block, BoundedBlock, Heightable};
use commonware_cryptography::{Digestible, sha256};
use esker_chain::{Bundle, BundleId};
use esker_primitives::Id;
use esker_primitives::codec::Encode as _;

/// Most bytes of a bundle that travels. Blocks are far smaller, and nothing larger is proposed.
pub(crate) const MAX_NETWORK_BUNDLE: usize = 16 << 20;

/// The library's name of a bundle: the bytes of its ID.
pub(crate) type Digest = sha256::Digest;

/// A bundle and its encoding, which is what travels: a length and the bundle's bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BundleBlock {
    bundle: Bundle,
    bytes: Bytes,
}

impl BundleBlock {
    pub(crate) fn new(bundle: Bundle) -> Self {
        let bytes = Bytes::from(bundle.to_versioned_bytes());
        Self { bundle, bytes }
    }

    pub(crate) fn bundle(&self) -> &Bundle {
        &self.bundle
    }
}

pub(crate) fn digest_of(id: &BundleId) -> Digest {
    sha256::Digest(*id.as_bytes())
}

pub(crate) fn id_of(digest: &Digest) -> BundleId {
    Id::new(digest.0)
}

impl Write for BundleBlock {
    fn write(&self, buf: &mut impl BufMut) {
        self.bytes.write(buf);
    }
}

impl EncodeSize for BundleBlock {
    fn encode_size(&self) -> usize {
        self.bytes.encode_size()
    }
}

impl Read for BundleBlock {
    /// Most bytes of a bundle.
    type Cfg = usize;

    fn read_cfg(buf: &mut impl Buf, max: &usize) -> Result<Self, Error> {
        let bytes = Bytes::read_cfg(buf, &RangeCfg::from(..=*max))?;
        let bundle =
            Bundle::parse(&bytes).map_err(|error| Error::Wrapped("bundle", Box::new(error)))?;
        Ok(Self { bundle, bytes })
    }
}

impl Digestible for BundleBlock {
    type Digest = Digest;

    fn digest(&self) -> Digest {
        digest_of(&Id::sha256(&self.bytes))
    }
}

impl Heightable for BundleBlock {
    fn height(&self) -> Height {
        Height::new(self.bundle.height)
    }
}

impl Block for BundleBlock {
    fn parent(&self) -> Digest {
        digest_of(&self.bundle.parent)
    }
}

impl BoundedBlock for BundleBlock {
    fn max_encode_size(max: &usize) -> usize {
        // The length is a varint of at most five bytes.
        max + 5
    }
}

#[cfg(test)]
mod tests {
    use commonware_codec::{Decode, Encode};

    use super::*;

    #[test]
    fn bundles_travel_whole_and_keep_their_id() {
        let bundle = Bundle {
            version: 1,
            parent: Id::sha256(b"parent"),
            height: 7,
            timestamp_ms: 1_000,
            commitment: Id::sha256(b"state"),
            blocks: vec![(Id::sha256(b"chain"), Bytes::from_static(b"block"))],
        };
        let block = BundleBlock::new(bundle.clone());
        assert_eq!(id_of(&block.digest()), bundle.id());
        assert_eq!(id_of(&block.parent()), bundle.parent);
        let bytes = block.encode();
        assert!(bytes.len() <= BundleBlock::max_encode_size(&MAX_NETWORK_BUNDLE));
        let read = BundleBlock::decode_cfg(bytes.clone(), &MAX_NETWORK_BUNDLE).unwrap();
        assert_eq!(read, block);
        assert!(
            BundleBlock::decode_cfg(bytes.slice(..bytes.len() - 1), &MAX_NETWORK_BUNDLE).is_err()
        );
        let too_small = bundle.encoded_len() - 1;
        assert!(BundleBlock::decode_cfg(bytes, &too_small).is_err());
    }
}
