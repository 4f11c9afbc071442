//! Limits the number of script processes, and shares them fairly between clients.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use esker_evm_execution::executor::{Stop, StopCheck};
use esker_evm_execution::trace::ScriptClient;
use esker_primitives::ClientAddress;
use esker_primitives::sync::{Condvar, Mutex, MutexGuard};

/// Interval at which a waiting call checks whether to continue.
const PATIENCE: Duration = Duration::from_millis(10);
/// Fewest places, so that no client gets all.
const MIN_PLACES: usize = 2;
/// Shortest time that a script runs before another client gets its place.
const LEAST_RUN: Duration = Duration::from_secs(1);

/// Places for processes. Each process has at most 512 MiB.
///
/// The client (an address) with the fewest places gets a free place. If a client waits while another client has at
/// least two places more, the newest script of the other client is stopped, and restarted when there is a place.
#[derive(Debug)]
pub struct ScriptSlots {
    places: usize,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    next_id: u64,
    /// In the order of their start.
    held: Vec<RunningScript>,
    /// In the order of arrival.
    waiting: Vec<WaitingScript>,
}

#[derive(Debug)]
struct RunningScript {
    id: u64,
    address: ClientAddress,
    is_asked_to_yield: Arc<AtomicBool>,
}

#[derive(Debug)]
struct WaitingScript {
    id: u64,
    address: ClientAddress,
}

/// A place; it is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    slots: Arc<ScriptSlots>,
    id: u64,
    begun: Instant,
    is_asked_to_yield: Arc<AtomicBool>,
}

impl Default for ScriptSlots {
    /// One for each processor, because a script keeps a processor busy. At least two.
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self::new(processors.max(MIN_PLACES))
    }
}

impl State {
    fn places_of(&self, address: ClientAddress) -> usize {
        self.held.iter().filter(|held| held.address == address).count()
    }

    /// The waiting script that gets the next place.
    fn first(&self) -> Option<&WaitingScript> {
        self.waiting.iter().min_by_key(|waiting| self.places_of(waiting.address))
    }

    /// Asks one script to yield if its client has at least two places more than the client that gets the next place.
    fn ask_to_yield(&self) {
        let Some(first) = self.first() else { return };
        let most = self.places_of(first.address) + 2;
        let is_asked_to_yield =
            |held: &RunningScript| held.is_asked_to_yield.load(Ordering::Relaxed);
        if self.held.iter().any(is_asked_to_yield) {
            return;
        }
        let places = |held: &&RunningScript| self.places_of(held.address);
        if let Some(held) = self.held.iter().filter(|held| places(held) >= most).max_by_key(places)
        {
            held.is_asked_to_yield.store(true, Ordering::Relaxed);
        }
    }
}

impl ScriptSlots {
    fn new(places: usize) -> Self {
        let state = Mutex::new_named("script processes", State::default());
        Self { places, state, freed: Condvar::new() }
    }

    /// Waits for a place until `stop` says to stop.
    pub(crate) fn take(
        self: &Arc<Self>,
        client: &ScriptClient,
        stop: Option<StopCheck<'_>>,
    ) -> Result<Slot, Stop> {
        let mut state = self.state.lock();
        let id = state.next_id;
        state.next_id += 1;
        state.waiting.push(WaitingScript { id, address: client.address });
        let stopped = self.wait(&mut state, id, stop);
        state.waiting.retain(|waiting| waiting.id != id);
        if let Some(stop) = stopped {
            return Err(stop);
        }
        let is_asked_to_yield = Arc::<AtomicBool>::default();
        state.held.push(RunningScript {
            id,
            address: client.address,
            is_asked_to_yield: Arc::clone(&is_asked_to_yield),
        });
        // Other waiting scripts may get a place.
        self.freed.notify_all();
        Ok(Slot { slots: Arc::clone(self), id, begun: Instant::now(), is_asked_to_yield })
    }

    fn wait(
        &self,
        state: &mut MutexGuard<'_, State>,
        id: u64,
        stop: Option<StopCheck<'_>>,
    ) -> Option<Stop> {
        while state.held.len() >= self.places || state.first().is_some_and(|first| first.id != id) {
            // `stop` takes other locks, and scripts must be able to give their places back meanwhile.
            let stop = MutexGuard::unlocked(state, || stop.and_then(|stop| stop()));
            if stop.is_some() {
                return stop;
            }
            state.ask_to_yield();
            self.freed.wait_for(state, PATIENCE);
        }
        None
    }
}

impl Slot {
    /// Whether the script has to yield: it has run long enough, and a client with fewer places waits.
    pub(crate) fn must_yield(&self) -> bool {
        self.is_asked_to_yield.load(Ordering::Relaxed) && self.begun.elapsed() >= LEAST_RUN
    }

    /// Lets the script continue, because it can't be restarted.
    pub(crate) fn keep(&self) {
        self.is_asked_to_yield.store(false, Ordering::Relaxed);
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.slots.state.lock().held.retain(|held| held.id != self.id);
        self.slots.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;

    fn address(n: u8) -> ClientAddress {
        ClientAddress::from_peer(Some([127, 0, 0, n].into()))
    }

    fn client(n: u8) -> ScriptClient {
        ScriptClient { address: address(n), restart: Rc::new(|| true) }
    }

    /// Takes a place that must be free.
    fn take(slots: &Arc<ScriptSlots>, n: u8) -> Slot {
        slots.take(&client(n), Some(&|| panic!("no place is free"))).unwrap()
    }

    /// Asks for a place that is not free.
    fn wait_for(slots: &Arc<ScriptSlots>, n: u8) {
        // It asks the others to yield before it waits, and is stopped after that.
        let times = std::cell::Cell::new(0);
        let stop = || {
            times.set(times.get() + 1);
            (times.get() > 1).then_some(Stop::TimedOut)
        };
        assert_eq!(slots.take(&client(n), Some(&stop)).err(), Some(Stop::TimedOut));
    }

    #[test]
    fn a_client_with_more_places_yields_the_one_that_began_last() {
        let slots = Arc::new(ScriptSlots::new(2));
        let [first, second] = [(); 2].map(|()| take(&slots, 1));
        let asked = || [&first, &second].map(|slot| slot.is_asked_to_yield.load(Ordering::Relaxed));
        wait_for(&slots, 1);
        assert_eq!(asked(), [false, false], "not for a client of its own");
        wait_for(&slots, 2);
        assert_eq!(asked(), [false, true]);
        wait_for(&slots, 3);
        assert_eq!(asked(), [false, true], "one at a time");
        assert!(!second.must_yield(), "not before it has run for a while");
        second.keep();
        assert_eq!(asked(), [false, false]);
        drop(second);
        let _of_other = take(&slots, 2);
        wait_for(&slots, 3);
        assert!(!first.is_asked_to_yield.load(Ordering::Relaxed), "each has one");
        assert!(slots.state.lock().waiting.is_empty());
    }

    #[test]
    fn a_free_place_goes_to_the_client_with_the_fewest() {
        let held =
            |n: u8| RunningScript { id: 0, address: address(n), is_asked_to_yield: Arc::default() };
        let waiting = |id: u64, n: u8| WaitingScript { id, address: address(n) };
        let mut state = State {
            next_id: 0,
            held: vec![held(1), held(1), held(2)],
            waiting: vec![waiting(1, 1), waiting(2, 2), waiting(3, 3), waiting(4, 3)],
        };
        let mut order = Vec::new();
        while let Some(first) = state.first() {
            let (id, address) = (first.id, first.address);
            order.push(id);
            state.waiting.retain(|waiting| waiting.id != id);
            state.held.push(RunningScript { id, address, is_asked_to_yield: Arc::default() });
        }
        assert_eq!(order, [3, 2, 4, 1]);
    }

    #[test]
    fn places_come_back() {
        let slots = Arc::new(ScriptSlots::new(2));
        let held = [(); 2].map(|()| take(&slots, 1));
        let waits = Arc::clone(&slots);
        let other = std::thread::spawn(move || {
            // Longer than any wait here.
            let deadline = Instant::now() + Duration::from_secs(60);
            let stop = || (Instant::now() > deadline).then_some(Stop::TimedOut);
            waits.take(&client(2), Some(&stop)).map(drop)
        });
        drop(held);
        assert_eq!(other.join().unwrap(), Ok(()));
        assert!(slots.state.lock().held.is_empty());
    }
}
