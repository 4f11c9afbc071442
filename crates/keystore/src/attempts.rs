//! How fast passwords can be guessed (docs/protocol/keystore.md, "Wrong passwords").
//!
//! Wrong passwords count for the pair of the client's address and the user. An attempt counts as wrong when it begins,
//! and no longer once the password proves right. So concurrent attempts, and attempts whose client leaves before the
//! check ends, gain nothing. Unknown names are counted like known ones.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use esker_primitives::ClientAddress;
use esker_primitives::sync::Mutex;
use esker_primitives::{Clock, hash::sha256};
use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;

use crate::error::KeystoreError;
use crate::tables::UserKey;
use crate::waiting::WaitingCalls;

/// Wrong passwords of a pair before it has to wait.
const FREE: u32 = 16;
/// The first wait; each further wrong password doubles it.
const FIRST_WAIT_MS: u64 = 1_000;
/// The longest wait.
const MAX_WAIT_MS: u64 = 60_000;
/// One wrong password is forgotten each time this has passed.
const FORGET_MS: u64 = 60_000;
/// Pairs that are kept; the one whose last wrong password is the oldest makes room.
const MAX_PAIRS: usize = 4096;
/// Pairs of one address, so that it cannot evict its own records by trying unknown names.
const MAX_PAIRS_OF_ADDRESS: usize = 1024;
/// Calls that wait for others of their pair to be checked. An address may have as many of them as it leaves to others.
const MAX_WAITING: usize = 1024;

/// Ordered by the address first. Names may be long, so the pair holds the name's hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Pair {
    client: ClientAddress,
    user: UserKey,
}

type Pairs = BTreeMap<Pair, Record>;

#[derive(Debug)]
struct Record {
    /// Wrong passwords that still count.
    wrong: u32,
    /// The next of them expires [`FORGET_MS`] after this.
    since_ms: u64,
    /// When the last of them came.
    last_ms: u64,
    /// No attempt is allowed before this.
    locked_until_ms: u64,
    /// Attempts that are being checked.
    checking: u32,
    /// Notified when one of them has been checked.
    verdict: Arc<Notify>,
}

/// Counts wrong passwords.
#[derive(Debug)]
pub struct Attempts {
    clock: Arc<dyn Clock>,
    /// Time that a call waits for others of its pair.
    max_wait: Duration,
    waiting: WaitingCalls,
    pairs: Mutex<Pairs>,
}

/// An attempt that is being checked. Dropped without [`Attempt::succeed`] it counts as a wrong password.
#[derive(Debug)]
pub struct Attempt {
    attempts: Arc<Attempts>,
    pair: Pair,
    is_correct: bool,
}

/// Whether an attempt may start.
enum Start {
    Started(Attempt),
    /// The attempts that are being checked use up the free ones: wait for one of them.
    Wait(OwnedNotified),
}

impl Attempts {
    /// Counts by this clock; a call waits for others of its pair for `max_wait`.
    pub fn new(clock: Arc<dyn Clock>, max_wait: Duration) -> Arc<Self> {
        let pairs = Mutex::new_named("keystore.attempts", Pairs::new());
        Arc::new(Self { clock, max_wait, waiting: WaitingCalls::new(MAX_WAITING), pairs })
    }

    /// Begins an attempt, before the password is compared with anything.
    ///
    /// # Errors
    /// The pair has to wait, the address has too many pairs, or too many calls wait.
    pub async fn begin(
        self: &Arc<Self>,
        client: ClientAddress,
        name: &str,
    ) -> Result<Attempt, KeystoreError> {
        let pair = Pair { client, user: sha256(name.as_bytes()) };
        let mut verdict = match self.start(pair, name)? {
            Start::Started(attempt) => return Ok(attempt),
            Start::Wait(verdict) => verdict,
        };
        let _waiting = self.waiting.enter(client).ok_or(KeystoreError::Busy)?;
        let turn = async {
            loop {
                verdict.await;
                match self.start(pair, name)? {
                    Start::Started(attempt) => return Ok(attempt),
                    Start::Wait(next) => verdict = next,
                }
            }
        };
        tokio::time::timeout(self.max_wait, turn).await.unwrap_or(Err(KeystoreError::Busy))
    }

    fn start(self: &Arc<Self>, pair: Pair, name: &str) -> Result<Start, KeystoreError> {
        let begun =
            || Start::Started(Attempt { attempts: Arc::clone(self), pair, is_correct: false });
        let now_ms = self.clock.now_ms();
        let mut pairs = self.pairs.lock();
        let Some(record) = pairs.get_mut(&pair) else {
            if let Some(ms) = address_wait_ms(&mut pairs, pair.client, now_ms) {
                return Err(KeystoreError::TooManyUsers { wait_s: seconds(ms) });
            }
            pairs.insert(pair, Record::new(now_ms));
            return Ok(begun());
        };
        record.expire_old(now_ms);
        if record.locked_until_ms > now_ms {
            let wait_s = seconds(record.locked_until_ms - now_ms);
            return Err(KeystoreError::TooManyWrong { name: name.to_owned(), wait_s });
        }
        if record.checking > 0 && record.wrong + record.checking >= FREE {
            // Made under the lock, so that no notification is missed.
            return Ok(Start::Wait(Arc::clone(&record.verdict).notified_owned()));
        }
        record.checking += 1;
        Ok(begun())
    }

    fn end(&self, pair: &Pair, right: bool) {
        let now_ms = self.clock.now_ms();
        let mut pairs = self.pairs.lock();
        // A record with attempts being checked is never dropped.
        let Some(record) = pairs.get_mut(pair) else { return };
        record.expire_old(now_ms);
        record.checking -= 1;
        if right {
            record.clear();
        } else {
            record.add_wrong(now_ms);
        }
        record.verdict.notify_waiters();
        if record.is_empty() {
            pairs.remove(pair);
        }
        if pairs.len() > MAX_PAIRS {
            make_room(&mut pairs, pair, now_ms);
        }
    }
}

impl Attempt {
    /// The password was right: clears the pair's wrong passwords.
    pub fn succeed(mut self) {
        self.is_correct = true;
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        self.attempts.end(&self.pair, self.is_correct);
    }
}

impl Record {
    /// The record of a pair that begins its first attempt.
    fn new(now_ms: u64) -> Self {
        Self {
            wrong: 0,
            since_ms: now_ms,
            last_ms: now_ms,
            locked_until_ms: 0,
            checking: 1,
            verdict: Arc::default(),
        }
    }

    fn is_empty(&self) -> bool {
        self.wrong == 0 && self.checking == 0
    }

    /// Drops wrong passwords that are old enough. A clock that was set back makes no wait longer.
    fn expire_old(&mut self, now_ms: u64) {
        self.since_ms = self.since_ms.min(now_ms);
        self.last_ms = self.last_ms.min(now_ms);
        self.locked_until_ms = self.locked_until_ms.min(now_ms.saturating_add(MAX_WAIT_MS));
        let forgotten = (now_ms - self.since_ms) / FORGET_MS;
        self.since_ms += forgotten * FORGET_MS;
        self.wrong = self.wrong.saturating_sub(u32::try_from(forgotten).unwrap_or(u32::MAX));
    }

    fn add_wrong(&mut self, now_ms: u64) {
        if self.wrong == 0 {
            self.since_ms = now_ms;
        }
        self.wrong += 1;
        self.last_ms = now_ms;
        if let Some(more) = self.wrong.checked_sub(FREE) {
            let wait_ms = FIRST_WAIT_MS.checked_shl(more.min(32)).unwrap_or(MAX_WAIT_MS);
            self.locked_until_ms = now_ms.saturating_add(wait_ms.min(MAX_WAIT_MS));
        }
    }

    fn clear(&mut self) {
        self.wrong = 0;
        self.locked_until_ms = 0;
    }

    /// Time until no wrong password is left.
    fn expires_in_ms(&self, now_ms: u64) -> u64 {
        let until_ms = self.since_ms.saturating_add(u64::from(self.wrong) * FORGET_MS);
        until_ms.saturating_sub(now_ms)
    }
}

fn drop_expired(pairs: &mut Pairs, now_ms: u64) {
    pairs.retain(|_, record| {
        record.expire_old(now_ms);
        !record.is_empty()
    });
}

/// Time that the address has to wait before it may try another user.
fn address_wait_ms(pairs: &mut Pairs, client: ClientAddress, now_ms: u64) -> Option<u64> {
    if pairs.len() < MAX_PAIRS_OF_ADDRESS {
        return None;
    }
    drop_expired(pairs, now_ms);
    let [first, last] = [0, u8::MAX].map(|byte| Pair { client, user: [byte; 32] });
    let waits = pairs.range(first..=last).map(|(_, record)| record.expires_in_ms(now_ms));
    let (pairs, least_ms) = waits.fold((0, u64::MAX), |(n, least), ms| (n + 1, least.min(ms)));
    (pairs >= MAX_PAIRS_OF_ADDRESS).then_some(least_ms)
}

/// Drops expired records or else the pair, other than `kept`, whose last wrong password is the oldest.
fn make_room(pairs: &mut Pairs, kept: &Pair, now_ms: u64) {
    drop_expired(pairs, now_ms);
    if pairs.len() <= MAX_PAIRS {
        return;
    }
    let idle = pairs.iter().filter(|(pair, record)| record.checking == 0 && *pair != kept);
    let oldest = idle.min_by_key(|(_, record)| record.last_ms).map(|(pair, _)| *pair);
    if let Some(pair) = oldest {
        pairs.remove(&pair);
    }
}

/// Whole seconds after which the wait is over.
fn seconds(ms: u64) -> u64 {
    ms.div_ceil(1000).max(1)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use esker_primitives::clock::ManualClock;
    use futures_util::FutureExt as _;
    use proptest::prelude::*;

    use super::*;

    const LONG: Duration = Duration::from_secs(20);
    const S: u64 = 1_000;

    fn attempts() -> (Arc<Attempts>, ManualClock) {
        let clock = ManualClock::new(1_000_000);
        (Attempts::new(Arc::new(clock.clone()), LONG), clock)
    }

    fn client(number: u8) -> ClientAddress {
        ClientAddress::from_peer(Some(Ipv4Addr::new(127, 0, 0, number).into()))
    }

    /// The immediate result of a call: an attempt, the time that it has to wait, or nothing yet.
    fn begin(attempts: &Arc<Attempts>, number: u8, name: &str) -> Option<Result<Attempt, u64>> {
        let pair = Pair { client: client(number), user: sha256(name.as_bytes()) };
        match attempts.start(pair, name) {
            Ok(Start::Started(attempt)) => Some(Ok(attempt)),
            Ok(Start::Wait(_)) => None,
            Err(
                KeystoreError::TooManyWrong { wait_s, .. } | KeystoreError::TooManyUsers { wait_s },
            ) => Some(Err(wait_s)),
            Err(other) => panic!("{other}"),
        }
    }

    /// A wrong password, or how long to wait.
    fn guess(attempts: &Arc<Attempts>, number: u8, name: &str) -> Result<(), u64> {
        begin(attempts, number, name).unwrap().map(drop)
    }

    #[test]
    fn sixteen_are_free_then_the_wait_doubles_up_to_a_minute() {
        let (attempts, clock) = attempts();
        for _ in 0..FREE {
            guess(&attempts, 1, "bob").unwrap();
        }
        for wait_s in [1, 2, 4, 8, 16, 32] {
            assert_eq!(guess(&attempts, 1, "bob"), Err(wait_s));
            clock.advance(wait_s * S - 1);
            assert_eq!(guess(&attempts, 1, "bob"), Err(1), "a millisecond is left");
            clock.advance(1);
            guess(&attempts, 1, "bob").unwrap();
        }
        // More than a minute has passed by now: as many are forgotten as are added.
        for _ in 0..5 {
            assert!(matches!(guess(&attempts, 1, "bob"), Err(32..=60)));
            clock.advance(60 * S);
            guess(&attempts, 1, "bob").unwrap();
        }
    }

    #[test]
    fn guessing_is_limited_to_one_a_minute() {
        let (attempts, clock) = attempts();
        let (end, mut guesses) = (clock.now_ms() + 86_400 * S, 0);
        while clock.now_ms() < end {
            match guess(&attempts, 1, "bob") {
                Ok(()) => guesses += 1,
                Err(wait_s) => clock.advance(wait_s * S),
            }
        }
        assert!((24 * 60..24 * 60 + 32).contains(&guesses), "{guesses}");
    }

    #[test]
    fn only_the_pair_waits_and_the_right_password_clears_it() {
        let (attempts, clock) = attempts();
        while guess(&attempts, 1, "bob").is_ok() {}
        guess(&attempts, 2, "bob").unwrap();
        guess(&attempts, 1, "eve").unwrap();
        clock.advance(S);
        begin(&attempts, 1, "bob").unwrap().unwrap().succeed();
        for _ in 0..FREE {
            guess(&attempts, 1, "bob").unwrap();
        }
        assert_eq!(guess(&attempts, 1, "bob"), Err(1));
        // One a minute is forgotten, and then the pairs are.
        clock.advance(3 * 60 * S);
        (0..3).for_each(|_| guess(&attempts, 1, "bob").unwrap());
        assert_eq!(guess(&attempts, 1, "bob"), Err(1));
        clock.advance(16 * 60 * S);
        begin(&attempts, 1, "bob").unwrap().unwrap().succeed();
        drop_expired(&mut attempts.pairs.lock(), clock.now_ms());
        assert!(attempts.pairs.lock().is_empty());
    }

    #[tokio::test]
    async fn concurrent_attempts_count_while_they_are_checked() {
        let (attempts, clock) = attempts();
        let under_way = |name: &str| -> Vec<Attempt> {
            (0..FREE).map(|_| begin(&attempts, 1, name).unwrap().unwrap()).collect()
        };
        let mut bobs = under_way("bob");
        let mut late = Box::pin(attempts.begin(client(1), "bob"));
        assert!((&mut late).now_or_never().is_none(), "it waits for the others");
        drop(bobs.pop());
        assert!((&mut late).now_or_never().is_none(), "one was wrong, the others may be");
        drop(bobs);
        let refused = late.now_or_never().unwrap().unwrap_err().to_string();
        let expected =
            "too many wrong passwords for user \"bob\" from this address: try again in 1 s";
        assert_eq!(refused, expected);
        // After the wait there is one try, and others wait for it.
        clock.advance(S);
        let alone = begin(&attempts, 1, "bob").unwrap().unwrap();
        assert!(begin(&attempts, 1, "bob").is_none());
        drop(alone);
        assert_eq!(guess(&attempts, 1, "bob"), Err(2));

        // One of them was right.
        let mut eves = under_way("eve");
        let mut late = Box::pin(attempts.begin(client(1), "eve"));
        assert!((&mut late).now_or_never().is_none());
        eves.pop().unwrap().succeed();
        late.now_or_never().unwrap().unwrap().succeed();
    }

    #[tokio::test]
    async fn waits_for_other_attempts_are_bounded() {
        let attempts = Attempts::new(Arc::new(ManualClock::default()), Duration::ZERO);
        let begin = |number| attempts.begin(client(number), "bob");
        let check = |number| -> Vec<_> {
            (0..FREE).map(|_| begin(number).now_or_never().unwrap()).collect()
        };
        let under_way = [check(1), check(2)];
        assert!(matches!(begin(1).await, Err(KeystoreError::Busy)), "the wait is over at once");
        let all: Vec<_> = std::iter::from_fn(|| attempts.waiting.enter(client(1))).collect();
        assert_eq!(all.len(), MAX_WAITING / 2);
        assert!(matches!(begin(1).now_or_never(), Some(Err(KeystoreError::Busy))));
        assert!(attempts.waiting.enter(client(2)).is_some(), "others may wait");
        drop(under_way);
    }

    #[test]
    fn a_clock_that_is_set_back_makes_no_wait_longer() {
        let (attempts, clock) = attempts();
        while guess(&attempts, 1, "bob").is_ok() {}
        clock.set(0);
        assert_eq!(guess(&attempts, 1, "bob"), Err(60));
        clock.advance(60 * S);
        guess(&attempts, 1, "bob").unwrap();
        clock.set(u64::MAX);
        guess(&attempts, 1, "bob").unwrap();
    }

    #[test]
    fn an_address_cannot_evict_its_own_records() {
        let (attempts, clock) = attempts();
        (0..FREE).for_each(|_| guess(&attempts, 1, "bob").unwrap());
        for n in 1..MAX_PAIRS_OF_ADDRESS {
            guess(&attempts, 1, &n.to_string()).unwrap();
        }
        clock.advance(20 * S);
        assert_eq!(guess(&attempts, 1, "one more"), Err(40));
        let refused = attempts.begin(client(1), "one more").now_or_never().unwrap().unwrap_err();
        assert_eq!(
            refused.to_string(),
            "too many wrong passwords for different users from this address: try again in 40 s"
        );
        // Those that it has tried, and other addresses, go on.
        guess(&attempts, 1, "7").unwrap();
        guess(&attempts, 2, "one more").unwrap();
        guess(&attempts, 1, "bob").unwrap();
        assert_eq!(guess(&attempts, 1, "bob"), Err(2), "not forgotten");
        clock.advance(40 * S);
        guess(&attempts, 1, "one more").unwrap();
    }

    #[test]
    fn the_oldest_of_too_many_pairs_is_dropped() {
        let (attempts, clock) = attempts();
        for number in 1..=5 {
            for n in 0..MAX_PAIRS_OF_ADDRESS {
                guess(&attempts, number, &n.to_string()).unwrap();
                clock.advance(1);
            }
        }
        let pairs = attempts.pairs.lock();
        assert_eq!(pairs.len(), MAX_PAIRS);
        assert!(pairs.keys().all(|pair| pair.client != client(1)));
    }

    #[derive(Clone, Debug)]
    enum Step {
        Advance(u64),
        Guess(usize),
        Begin(usize),
        End(usize, bool),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            2 => (0..90_u64).prop_map(Step::Advance),
            8 => (0..2_usize).prop_map(Step::Guess),
            6 => (0..2_usize).prop_map(Step::Begin),
            3 => (any::<usize>(), prop::bool::weighted(0.1)).prop_map(|(n, right)| Step::End(n, right)),
        ];
        prop::collection::vec(step, 1..200)
    }

    /// The rule of docs/protocol/keystore.md, "Wrong passwords", second by second.
    #[derive(Default)]
    struct Model {
        wrong: u64,
        age_s: u64,
        wait_s: u64,
        checking: u64,
    }

    impl Model {
        fn tick(&mut self) {
            self.wait_s = self.wait_s.saturating_sub(1);
            self.age_s += 1;
            if self.age_s == 60 {
                self.age_s = 0;
                self.wrong = self.wrong.saturating_sub(1);
            }
        }

        /// As what [`begin`] gives.
        fn begin(&mut self) -> Option<Result<(), u64>> {
            if self.wait_s > 0 {
                return Some(Err(self.wait_s));
            }
            if self.checking > 0 && self.wrong + self.checking >= 16 {
                return None;
            }
            self.checking += 1;
            Some(Ok(()))
        }

        fn end(&mut self, right: bool) {
            self.checking -= 1;
            if right {
                (self.wrong, self.wait_s) = (0, 0);
                return;
            }
            if self.wrong == 0 {
                self.age_s = 0;
            }
            self.wrong += 1;
            if self.wrong >= 16 {
                self.wait_s = *[1, 2, 4, 8, 16, 32].get(self.wrong as usize - 16).unwrap_or(&60);
            }
        }
    }

    proptest! {
        #[test]
        fn any_sequence_of_attempts_follows_the_rule(steps in steps()) {
            let (attempts, clock) = attempts();
            let mut models = [Model::default(), Model::default()];
            let mut under_way: Vec<(usize, Attempt)> = Vec::new();
            for step in steps {
                match step {
                    Step::Advance(s) => {
                        clock.advance(s * S);
                        (0..s).for_each(|_| models.iter_mut().for_each(Model::tick));
                    }
                    Step::Guess(user) | Step::Begin(user) => {
                        let begun = begin(&attempts, 1, &user.to_string());
                        let outcome = begun.as_ref().map(|begun| begun.as_ref().map(|_| ()).map_err(|s| *s));
                        prop_assert_eq!(outcome, models[user].begin());
                        let Some(Ok(attempt)) = begun else { continue };
                        if matches!(step, Step::Begin(_)) {
                            under_way.push((user, attempt));
                        } else {
                            models[user].end(false);
                        }
                    }
                    Step::End(n, right) => {
                        let Some(at) = n.checked_rem(under_way.len()) else { continue };
                        let (user, attempt) = under_way.swap_remove(at);
                        models[user].end(right);
                        if right {
                            attempt.succeed();
                        }
                    }
                }
            }
        }
    }
}
