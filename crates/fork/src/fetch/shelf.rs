//! The cache that forks share.

use std::sync::Arc;

use super::options::{ForkOptions, Trust};
use crate::cache::{Shared, flush_at_intervals};
use crate::error::ForkError;
use crate::pin::Pin;
use crate::state::Fact;

/// Opens the shared cache, if there is to be one, and adds what the fork has of its own. The hash of a header of an unknown
/// form says nothing about the state, so such blocks are not shared.
pub(super) async fn open_shared(
    options: &ForkOptions,
    pin: &Pin,
    trust: &Trust,
    url: &str,
    own: Vec<Fact>,
) -> Result<Option<Arc<Shared>>, ForkError> {
    let is_proven = *trust == Trust::Proven;
    let is_shared = pin.is_verified() && (is_proven || !url.is_empty());
    let Some(shared) = options.shared.clone().filter(|_| is_shared) else { return Ok(None) };
    let (pin, url) = (pin.clone(), url.to_owned());
    let opening = tokio::task::spawn_blocking(move || {
        let shared = Shared::open(&shared, &pin, is_proven, &url);
        shared.add(&own);
        Arc::new(shared)
    });
    let shared = opening.await.map_err(|_| ForkError::Cancelled)?;
    flush_at_intervals(&shared);
    Ok(Some(shared))
}
