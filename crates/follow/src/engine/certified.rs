//! Bundles that wait for a certificate, if the network has certificates.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use esker_chain::{Bundle, BundleId};

use crate::feed::SourceError;
use crate::validators::FollowedValidators;

/// Most bundles that wait for the certificate of a later one. Some become final through a later bundle and have none
/// of their own; a validator that was down for a long time may have many of them in a row.
pub const MAX_UNCERTIFIED: usize = 4096;
/// Most bytes of them.
pub const MAX_UNCERTIFIED_BYTES: usize = 64 << 20;

/// A bundle and the proof that it is final.
type Proven = (Bundle, Option<Bytes>);

/// Lets the bundles of one source pass that have a certificate, or whose descendant has one.
#[derive(Debug)]
pub(super) struct CertifiedGate {
    validators: Arc<dyn FollowedValidators>,
    /// Consecutive bundles without a certified descendant.
    waiting: VecDeque<Proven>,
    /// Number of bundles at the front that are known to have no certificate.
    without: usize,
    bytes: usize,
    /// The last bundle that arrived, or the last final one.
    last: (u64, BundleId),
    /// Time since which bundles wait, Unix ms.
    since_ms: Option<u64>,
    max_wait_ms: u64,
}

impl CertifiedGate {
    /// Continues after a final bundle.
    pub(super) fn new(
        validators: Arc<dyn FollowedValidators>,
        last: (u64, BundleId),
        max_wait_ms: u64,
    ) -> Self {
        let waiting = VecDeque::new();
        Self { validators, waiting, without: 0, bytes: 0, last, since_ms: None, max_wait_ms }
    }

    /// Height of the last bundle that arrived.
    pub(super) fn received(&self) -> u64 {
        self.last.0
    }

    /// Takes consecutive bundles. Returns those that are proven final, including bundles of earlier calls, and the
    /// reason why the source can't be followed beyond them. The next call checks a refused certificate again.
    pub(super) fn pass(
        &mut self,
        arrived: Vec<Proven>,
        now_ms: u64,
    ) -> (Vec<Proven>, Option<SourceError>) {
        let mut error = None;
        for (bundle, proof) in arrived {
            if let Err(fork) = self.push(bundle, proof) {
                error = Some(fork);
                break;
            }
        }
        let with_proof: Vec<_> = self
            .waiting
            .iter()
            .enumerate()
            .skip(self.without)
            .filter_map(|(index, (bundle, proof))| Some((index, (bundle, proof.as_deref()?))))
            .collect();
        let proven: Vec<_> = with_proof.iter().map(|(_, proven)| *proven).collect();
        let valid = match self.validators.verify_all(&proven) {
            Ok(()) => proven.len(),
            Err((failed, reason)) => {
                let height = proven.get(failed).map_or(0, |(bundle, _)| bundle.height);
                let text = format!("bundle {height} has {reason}");
                error = Some(SourceError::Certificate(text));
                failed
            }
        };
        let last = valid.checked_sub(1).and_then(|last| with_proof.get(last));
        let certified = last.map_or(0, |(index, _)| index + 1);
        let is_refused = valid < proven.len();
        let released: Vec<_> = self.waiting.drain(..certified).collect();
        self.without = if is_refused { 0 } else { self.waiting.len() };
        for (bundle, _) in &released {
            self.bytes = self.bytes.saturating_sub(bundle.encoded_len());
        }
        let error = error.or_else(|| self.overdue(certified > 0, now_ms));
        (released, error)
    }

    fn push(&mut self, bundle: Bundle, proof: Option<Bytes>) -> Result<(), SourceError> {
        let (height, id) = self.last;
        if bundle.height != height.saturating_add(1) || bundle.parent != id {
            return Err(SourceError::Contradiction(format!(
                "bundle {} does not follow bundle {height}, {id}",
                bundle.height
            )));
        }
        self.last = (bundle.height, bundle.id());
        self.bytes = self.bytes.saturating_add(bundle.encoded_len());
        self.waiting.push_back((bundle, proof));
        Ok(())
    }

    /// The reason why the follower stops waiting for the source.
    fn overdue(&mut self, has_advanced: bool, now_ms: u64) -> Option<SourceError> {
        if has_advanced || self.waiting.is_empty() {
            self.since_ms = None;
        }
        let (first, bundles) = (self.waiting.front()?.0.height, self.waiting.len());
        let since_ms = *self.since_ms.get_or_insert(now_ms);
        let what = format!("bundle {first} and {} later ones have no certificate", bundles - 1);
        if bundles > MAX_UNCERTIFIED || self.bytes > MAX_UNCERTIFIED_BYTES {
            let text =
                format!("{what}: at most {MAX_UNCERTIFIED} of {MAX_UNCERTIFIED_BYTES} bytes wait");
            return Some(SourceError::Certificate(text));
        }
        if now_ms.saturating_sub(since_ms) >= self.max_wait_ms {
            let text = format!("{what} after {} s", self.max_wait_ms / 1000);
            return Some(SourceError::Certificate(text));
        }
        None
    }
}
