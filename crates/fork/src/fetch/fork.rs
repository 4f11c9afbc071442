//! The fork: opening, reading, and packing.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use alloy_primitives::Address;
use esker_evm_state::not_fetched::LackingCall;
use futures_util::future::{join_all, try_join, try_join_all};

use super::ahead::add_next_slots;
use super::context::{Caches, Context};
use super::flights::{Flights, Wait};
use super::options::{ForkOptions, ProofMode, Trust};
use super::plan::groups;
use super::proven::ProofRequest;
use super::reader::StateReader;
use super::shelf::open_shared;
use super::workers;
use crate::cache::{Cache, CacheOptions, CacheStop, OpenedCache, PackSummary, write_facts};
use crate::error::{FileError, ForkError};
use crate::misses::{Misses, Want};
use crate::pin::{BlockChoice, Pin, resolve};
use crate::proof::ProofFault;
use crate::source::{Answer, Call, Fault, LastFault, ReplyRoom, Source, SourceCounts, SourceError};
use crate::state::{BaseView, Fact, KnownState, StateCounts, is_checked};

/// The state of a pinned block of another node. Clones share everything.
#[derive(Clone, Debug)]
pub struct Fork {
    pub(super) context: Arc<Context>,
    flights: Arc<Flights>,
    joined: Arc<AtomicU64>,
}

/// A fork that is not kept alive.
#[derive(Clone, Debug)]
pub struct WeakFork {
    context: Weak<Context>,
    flights: Weak<Flights>,
    joined: Weak<AtomicU64>,
}

impl WeakFork {
    /// The fork, if it still exists.
    pub fn upgrade(&self) -> Option<Fork> {
        let Self { context, flights, joined } = self;
        let (context, flights) = (context.upgrade()?, flights.upgrade()?);
        Some(Fork { context, flights, joined: joined.upgrade()? })
    }
}

/// What a fork asked, knows and keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForkCounts {
    /// Requests to the sources.
    pub source: SourceCounts,
    /// Known state.
    pub state: StateCounts,
    /// Parts for which a caller waited because another one had asked for them.
    pub joined: u64,
    /// Length of the cache file, bytes.
    pub cache_bytes: u64,
    /// Why the cache takes no more, if so.
    pub cache_stopped: Option<CacheStop>,
}

/// An opened fork.
#[derive(Debug)]
pub struct OpenedFork {
    /// The fork.
    pub fork: Fork,
    /// What was damaged in the cache. It is fetched again when it is needed.
    pub damaged: Vec<FileError>,
}

impl Fork {
    /// Pins a block of a source, finds out whether the source gives proofs, and opens the cache.
    ///
    /// # Errors
    /// The block can't be pinned ([`resolve`]), the source gives wrong proofs, or none where they are required, or the
    /// cache can't be opened.
    pub async fn open(
        source: Source,
        choice: BlockChoice,
        options: ForkOptions,
        cache: Option<&CacheOptions>,
    ) -> Result<OpenedFork, ForkError> {
        let pin = resolve(&source, choice, options.accepts_unknown_header).await?;
        let reader = StateReader::new(source);
        let trust = probe(&reader, &pin, options.proofs).await?;
        let mut opened = None;
        if let Some(cache) = cache {
            let (cache, pin) = (cache.clone(), pin.clone());
            let opening = tokio::task::spawn_blocking(move || Cache::open(&cache, &pin)).await;
            opened = Some(opening.map_err(|_| ForkError::Cancelled)??);
        }
        let (cache, facts, damaged) = match opened {
            Some(OpenedCache { cache, facts, damaged }) => (Some(cache), facts, damaged),
            None => (None, Vec::new(), Vec::new()),
        };
        for fault in &damaged {
            tracing::warn!(%fault, "a record of the fork's cache is damaged; it is fetched again");
        }
        let known = KnownState::new(options.max_state_bytes, &pin);
        let facts = usable(facts, &trust);
        let new = known.insert(facts).ok_or(ForkError::Full(options.max_state_bytes))?;
        let url = reader.source.url();
        let shared = open_shared(&options, &pin, &trust, url, new).await?;
        let cache = cache.map(Arc::new);
        let caches = Caches { file: None, cache, shared };
        let context = Context::new((pin, known), Some(reader), caches, (options, trust));
        Ok(OpenedFork { fork: Self::of(context), damaged })
    }

    pub(super) fn of(context: Context) -> Self {
        Self { context: Arc::new(context), flights: Arc::default(), joined: Arc::default() }
    }

    /// The block.
    pub fn pin(&self) -> &Pin {
        &self.context.pin
    }

    /// What the values rest on.
    pub fn trust(&self) -> &Trust {
        &self.context.trust
    }

    /// The preferred source, without credentials and keys; `None` for a fork without one.
    pub fn url(&self) -> Option<String> {
        let reading = self.context.reading();
        reading.reader.as_ref().map(|reader| reader.source.url().to_owned())
    }

    /// Whether there is a source.
    pub fn has_source(&self) -> bool {
        self.context.readings.borrow().reader.is_some()
    }

    /// The fork, without keeping it alive.
    pub fn downgrade(&self) -> WeakFork {
        let Self { context, flights, joined } = self;
        WeakFork {
            context: Arc::downgrade(context),
            flights: Arc::downgrade(flights),
            joined: Arc::downgrade(joined),
        }
    }

    /// The last fault of the sources, other than an error that answers a call.
    pub fn last_fault(&self) -> Option<LastFault> {
        self.context.counters.last_fault()
    }

    /// What was asked, is known and is kept.
    pub fn counts(&self) -> ForkCounts {
        let context = &self.context;
        let cache = context.cache.as_ref();
        ForkCounts {
            source: context.counters.counts(),
            state: context.known.counts(),
            joined: self.joined.load(Ordering::Relaxed),
            cache_bytes: cache.map_or(0, |cache| cache.length()),
            cache_stopped: cache.and_then(|cache| cache.stopped()),
        }
    }

    /// The known part of the base state. Look-ups never wait; what is lacking is collected in `misses`.
    pub fn view<'a>(&'a self, misses: &'a Misses) -> BaseView<'a> {
        BaseView { known: &self.context.known, misses }
    }

    /// Fetches what a run lacked, and takes it out of `misses`. Parts that another caller is fetching are waited for.
    /// The reads run on the caller's runtime and go on if this call is dropped.
    ///
    /// # Errors
    /// The first error. The other parts may be known nevertheless, so another call asks only for the rest.
    pub async fn fetch(&self, misses: &Misses) -> Result<(), ForkError> {
        self.fetch_for(misses, None).await
    }

    /// As [`Self::fetch`]. Meanwhile the source is asked what else a call reads, and that is fetched, too, as far as
    /// possible.
    ///
    /// # Errors
    /// As those of [`Self::fetch`]: what a call may read besides is only a hint.
    pub async fn fetch_for(
        &self,
        misses: &Misses,
        call: Option<&LackingCall>,
    ) -> Result<(), ForkError> {
        let wants = misses.take();
        self.context.take_shared(&wants).await?;
        let deadline = self.context.options.deadline;
        let waits = try_join_all(self.begin(wants)?.into_iter().map(Wait::outcome));
        let fetched = async {
            let hinted = async {
                self.warm_up(call).await;
                Ok(())
            };
            try_join(waits, hinted).await.map(drop)
        };
        let fetched = tokio::time::timeout(deadline, fetched).await;
        fetched.unwrap_or(Err(ForkError::Deadline(deadline)))
    }

    /// Fetches what the source says that a call reads.
    async fn warm_up(&self, call: Option<&LackingCall>) {
        let Some(call) = call.filter(|call| self.is_of_the_source(call)) else { return };
        let reading = self.context.reading();
        let Some(reader) = &reading.reader else { return };
        let listed = reading.warm_ups.list(reader, &self.context.pin, call).await;
        let Some(mut listed) = listed else { return };
        // Only hints: what is wrong in them is not needed, or an error when it is.
        if let Ok(waits) = self.begin(std::mem::take(&mut listed.wants)) {
            let _outcomes = join_all(waits.into_iter().map(Wait::outcome)).await;
        }
    }

    /// Whether the source may know the code that is called.
    fn is_of_the_source(&self, call: &LackingCall) -> bool {
        let known = call.to.and_then(|to| self.context.known.peek_account(&to));
        known.is_none_or(|account| account.is_some_and(|account| account.has_code()))
    }

    /// Begins the reads of parts that are not known yet.
    fn begin(&self, mut wants: BTreeSet<Want>) -> Result<Vec<Wait>, ForkError> {
        keep_lowest_hash(&mut wants);
        let has_source = self.has_source();
        if has_source {
            add_next_slots(&mut wants);
        }
        let (count, max) = (wants.len(), self.context.options.max_wants);
        if count > max {
            return Err(ForkError::TooMany { count, max });
        }
        let known = &self.context.known;
        wants.retain(|want| !known.is_known_or_implied(want));
        if !has_source && !wants.is_empty() {
            return Err(self.context.lacking(&Vec::from_iter(wants)));
        }
        let max_accounts = self.context.max_accounts();
        let claimed = self.flights.claim(
            wants,
            |want| known.is_known(want),
            |fresh| groups(fresh, max_accounts),
        );
        let joined = claimed.joined.len() - claimed.begun.len();
        self.joined.fetch_add(joined as u64, Ordering::Relaxed);
        workers::add(&self.context, claimed.begun);
        Ok(claimed.joined)
    }

    /// The error of a question about something else than state to a fork without a source.
    pub fn no_history(&self, method: &'static str) -> ForkError {
        self.context.no_history(method)
    }

    /// Asks the source for something else than state of the pinned block. It is not checked.
    ///
    /// # Errors
    /// The source does not answer, or there is none.
    pub async fn ask(&self, call: Call) -> Result<Answer, ForkError> {
        self.answer(call, None).await
    }

    /// As [`Self::ask`]; a long reply takes room.
    ///
    /// # Errors
    /// The source does not answer, there is none, or there is no room.
    pub async fn ask_within(&self, call: Call, room: &dyn ReplyRoom) -> Result<Answer, ForkError> {
        self.answer(call, Some(room)).await
    }

    async fn answer(&self, call: Call, room: Option<&dyn ReplyRoom>) -> Result<Answer, ForkError> {
        let asked = self.context.read_from(|reading| {
            let call = call.clone();
            async move {
                let Some(reader) = &reading.reader else {
                    return Err(self.no_history(call.method));
                };
                Ok(reader.source.call_within(call, room).await?)
            }
        });
        asked.await
    }

    /// What the node has to know of the chain, which was kept under a name.
    pub fn text(&self, name: &str) -> Option<Arc<str>> {
        self.context.known.text(name)
    }

    /// Keeps what the node has to know of the chain, in the cache and in packs.
    ///
    /// # Errors
    /// There is no room for it.
    pub async fn keep_text(&self, name: &str, text: &str) -> Result<(), ForkError> {
        let fact = Fact::Text { name: name.into(), text: text.into() };
        self.context.keep(&self.context.reading(), vec![fact]).await
    }

    /// Writes what is new to the shared cache now. This blocks.
    pub fn write_shared(&self) {
        if let Some(shared) = &self.context.reading().shared {
            shared.flush();
        }
    }

    /// Writes everything that is known into a file, in place of an older one. This blocks.
    ///
    /// # Errors
    /// The file can't be written.
    pub fn write_pack(&self, path: &Path) -> Result<PackSummary, FileError> {
        write_facts(path, &self.context.pin, &self.context.known.facts())
    }
}

/// The facts that a fork may use: one with proofs uses no claims.
pub(super) fn usable(mut facts: Vec<Fact>, trust: &Trust) -> Vec<Fact> {
    facts.retain(|fact| *trust != Trust::Proven || is_checked(fact));
    facts
}

/// Asks for one proof.
pub(super) async fn probe(
    reader: &StateReader,
    pin: &Pin,
    mode: ProofMode,
) -> Result<Trust, ForkError> {
    if mode == ProofMode::Never {
        return Ok(Trust::Claimed("proofs are turned off".to_owned()));
    }
    let request = ProofRequest { address: Address::ZERO, slots: Vec::new() };
    let answer = reader.call(pin, |block| vec![request.call(block)]).await.pop();
    match answer.ok_or(ForkError::Cancelled)? {
        Ok(answer) => {
            let verified = request.verify(pin, &answer);
            verified.map_err(|error| other_root(pin, error))?;
            Ok(Trust::Proven)
        }
        Err(error) if mode == ProofMode::IfAvailable && is_refusal(&error) => {
            tracing::warn!(%error, "the fork's source gives no proofs: its values are trusted");
            Ok(Trust::Claimed(error.to_string()))
        }
        Err(error) => Err(error.into()),
    }
}

/// Names the roots, if the first node of a proof has another hash than the root.
fn other_root(pin: &Pin, error: ForkError) -> ForkError {
    match error {
        ForkError::Proof { url, part, root, fault } => match *fault {
            ProofFault::Hash { index: 0, found, .. } => {
                ForkError::OtherRoot { url, block: pin.header.number, root, found }
            }
            _ => ForkError::Proof { url, part, root, fault },
        },
        other => other,
    }
}

/// Whether the source answers, but not with proofs.
pub(super) fn is_refusal(error: &SourceError) -> bool {
    matches!(error.fault, Fault::NoMethod(_) | Fault::NoState(_) | Fault::Refused { .. })
}

/// The hash of the lowest block comes with those of all blocks above.
fn keep_lowest_hash(wants: &mut BTreeSet<Want>) {
    let number = |want: &Want| match want {
        Want::BlockHash(number) => Some(*number),
        _ => None,
    };
    let lowest = wants.iter().filter_map(number).min();
    wants.retain(|want| number(want) == lowest || number(want).is_none());
}
