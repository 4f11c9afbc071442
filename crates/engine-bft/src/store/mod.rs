//! Marshal's stores. Final bundles and their certificates are read from the machine; an archive has only those of the
//! last heights, which the machine may not have yet.

mod blocks;
mod certificates;
mod finals;

use commonware_consensus::simplex::scheme::ed25519::Scheme;
use commonware_consensus::simplex::types::Finalization;
use commonware_runtime::buffer::paged::CacheRef;
use commonware_runtime::{Clock, Metrics, Storage};
use commonware_storage::archive::{self, prunable};
use commonware_storage::translator::EightCap;
use commonware_utils::{NZU16, NZU64, NZUsize};
use esker_chain::ChainError;
use thiserror::Error;

pub(crate) use self::blocks::BundleStore;
pub(crate) use self::certificates::CertificateStore;
pub(crate) use self::finals::FinalBundles;
use crate::block::Digest;

/// Heights of a section of an archive. An archive keeps the last one or two of them.
pub(crate) const SECTION: u64 = 256;

/// Buffers for writing and reading back, bytes.
pub(crate) const BUFFER: std::num::NonZeroUsize = NZUsize!(1 << 20);

/// The reason why a store failed. It ends the engine.
#[derive(Debug, Error)]
pub(crate) enum StoreError {
    #[error("the engine's folder: {0}")]
    Archive(#[from] archive::Error),
    #[error(transparent)]
    Machine(#[from] ChainError),
    #[error("the certificate of bundle {height} can't be read: {error}")]
    Certificate { height: u64, error: commonware_codec::Error },
}

/// The proof of finality of a bundle.
pub(crate) type Certificate = Finalization<Scheme, Digest>;

/// A page cache of 4 MiB, shared by the engine's files.
pub(crate) fn page_cache() -> CacheRef {
    CacheRef::new(NZU16!(4_084), NZUsize!(1_024))
}

/// An archive by height and bundle ID.
type Recent<E, V> = prunable::Archive<EightCap, E, Digest, V>;

async fn open<E, V>(
    context: E,
    name: String,
    cache: CacheRef,
    codec: V::Cfg,
) -> Result<Recent<E, V>, StoreError>
where
    E: Storage + Metrics + Clock,
    V: commonware_codec::CodecShared,
{
    let config = prunable::Config {
        translator: EightCap,
        metadata_partition: format!("{name}-metadata"),
        key_partition: format!("{name}-index"),
        key_page_cache: cache,
        value_partition: format!("{name}-values"),
        compression: None,
        codec_config: codec,
        items_per_section: NZU64!(SECTION),
        key_write_buffer: BUFFER,
        value_write_buffer: BUFFER,
        replay_buffer: BUFFER,
    };
    Ok(prunable::Archive::init(context, config).await?)
}

/// The height below which an archive is not needed, when `height` is written and `last` is final. Changes once in a
/// section.
fn pruned_below(height: u64, last: u64) -> Option<u64> {
    height.is_multiple_of(SECTION).then(|| last.saturating_sub(SECTION))
}
