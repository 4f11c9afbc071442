//! Another source in the place of the present one, checked before.

use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::Address;

use super::claimed;
use super::context::Context;
use super::fork::{Fork, is_refusal, probe};
use super::options::{ProofMode, Trust};
use super::reader::StateReader;
use super::reading::Reading;
use super::shelf::open_shared;
use crate::cache::Shared;
use crate::error::{ForkError, OtherBlock};
use crate::pin::{BlockChoice, BlockInstead, Pin, block_instead, resolve};
use crate::source::{Fault, Source, SourceError, SourceLimits};

/// Longest time of each step of the check.
const CHECK_TIME: Duration = Duration::from_secs(8);
/// Most retries of a request of the check.
const CHECK_RETRIES: u32 = 2;

/// A source that a fork may read from, too: it has the block.
#[derive(Debug)]
pub struct OtherSource {
    fork: Fork,
    reader: StateReader,
    shared: Option<Arc<Shared>>,
    /// Those of the reads, which may take longer than the check.
    limits: SourceLimits,
}

impl Fork {
    /// Checks that a source has the fork's block and its state, with proofs if the fork has them. The fork goes on as it was.
    ///
    /// # Errors
    /// The source does not answer in time, is of another chain, or lacks the block, its state, or proofs.
    pub async fn other_source(&self, mut source: Source) -> Result<OtherSource, ForkError> {
        let limits = source.limits().clone();
        source.set_limits(SourceLimits {
            retries: limits.retries.min(CHECK_RETRIES),
            deadline: limits.deadline.min(CHECK_TIME),
            ..limits.clone()
        });
        check_block(&self.context, &source).await?;
        let reader = StateReader::new(source);
        check_state(&self.context, &reader).await?;
        let shared = shared(&self.context, reader.source.url()).await?;
        Ok(OtherSource { fork: self.clone(), reader, shared, limits })
    }
}

impl OtherSource {
    /// Lets the fork read from this source from now on. Reads that are under way begin again here.
    pub fn take_over(self) {
        let Self { fork, mut reader, shared, limits } = self;
        reader.source.set_limits(limits);
        reader.source.count_on(&fork.context.counters);
        let reading = Arc::new(Reading::new(Some(reader), shared));
        let earlier = fork.context.readings.send_replace(reading);
        // Its end writes to the shared cache, which blocks.
        tokio::task::spawn_blocking(move || drop(earlier));
    }
}

async fn check_block(context: &Context, source: &Source) -> Result<(), ForkError> {
    let pin = &context.pin;
    let is_known = context.options.accepts_unknown_header;
    let found = match resolve(source, BlockChoice::Hash(pin.hash), is_known).await {
        Ok(found) if found.chain_id == pin.chain_id => return Ok(()),
        Ok(found) => format!("is of chain {}", found.chain_id),
        Err(ForkError::NoBlock { .. }) => found_instead(source, pin).await?,
        Err(ForkError::Source(SourceError { fault: Fault::NoState(_), .. })) => {
            found_instead(source, pin).await?
        }
        Err(error) => return Err(error),
    };
    Err(ForkError::OtherBlock(Box::new(OtherBlock {
        url: source.url().to_owned(),
        found,
        number: pin.header.number,
        hash: pin.hash,
        chain_id: pin.chain_id,
    })))
}

/// What a source has that lacks the block.
async fn found_instead(source: &Source, pin: &Pin) -> Result<String, ForkError> {
    let number = pin.header.number;
    let BlockInstead { chain_id, hash } = block_instead(source, number).await;
    Ok(match (chain_id?.filter(|chain| *chain != pin.chain_id), hash) {
        (Some(chain), _) => format!("is of chain {chain}"),
        (None, Some(hash)) => format!("has block {number} with hash {hash}"),
        (None, None) => format!("has no block {number}"),
    })
}

async fn check_state(context: &Context, reader: &StateReader) -> Result<(), ForkError> {
    let pin = &context.pin;
    match context.trust {
        Trust::Proven => match probe(reader, pin, ProofMode::Required).await {
            Err(ForkError::Source(error)) if is_refusal(&error) => {
                Err(ForkError::ProofsNeeded(error))
            }
            probed => probed.map(drop),
        },
        Trust::Claimed(_) => {
            claimed::accounts(reader, pin, &[Address::ZERO]).await?;
            match reader.is_by_number() {
                true => reader.check_number(pin).await,
                false => Ok(()),
            }
        }
    }
}

/// The shared cache for reads from a source: the present one, if values are proved, whoever gives them.
async fn shared(context: &Context, url: &str) -> Result<Option<Arc<Shared>>, ForkError> {
    let present = context.reading().shared.clone();
    match (&context.trust, present) {
        (Trust::Proven, Some(present)) => Ok(Some(present)),
        (trust, _) => open_shared(&context.options, &context.pin, trust, url, Vec::new()).await,
    }
}
