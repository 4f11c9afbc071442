//! A cache of analysed contract code.

use std::num::NonZeroUsize;

use alloy_primitives::{B256, Bytes};
use esker_evm_state::state::StateError;
use esker_primitives::sync::Mutex;
use lru::LruCache;
use revm::bytecode::Bytecode;

/// Most cached contracts. Each takes at most 24 KiB for its code and an eighth of that for jump targets.
const MAX_CONTRACTS: NonZeroUsize = NonZeroUsize::new(2048).expect("not zero");

/// The recently used contracts by the hash of their code. All executions on a chain share the cache.
pub struct CodeCache(Mutex<LruCache<B256, Bytecode>>);

impl std::fmt::Debug for CodeCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CodeCache").finish_non_exhaustive()
    }
}

impl Default for CodeCache {
    fn default() -> Self {
        Self(Mutex::new_named("evm code cache", LruCache::new(MAX_CONTRACTS)))
    }
}

impl CodeCache {
    pub(super) fn get_or_load(
        &self,
        hash: B256,
        load: impl FnOnce() -> Result<Bytes, StateError>,
    ) -> Result<Bytecode, StateError> {
        if let Some(code) = self.0.lock().get(&hash) {
            return Ok(code.clone());
        }
        let code = Bytecode::new_legacy(load()?);
        self.0.lock().put(hash, code.clone());
        Ok(code)
    }
}
