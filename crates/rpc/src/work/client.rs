//! One connection and its address, as far as shares of threads and memory go.

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use esker_primitives::ClientAddress;
use esker_primitives::sync::Mutex;
use lru::LruCache;
use tokio::sync::Notify;

use super::counts::{AddressCalls, AddressRequests, ConnectionReplies, MAX_UNREAD};
use super::levels::LEVELS;
use super::usage::{Usage, micros};
use super::{Lane, RateExceeded, Work};

/// A job is put off by this multiple of its expected time.
const EXPECTED_FACTOR: u32 = 20;
/// Expected time of a client's first job.
const FIRST_EXPECTED: Duration = Duration::from_millis(20);
/// Longest time by which a job is put off.
const MAX_RANK_DELAY: Duration = Duration::from_secs(4);
/// Unused addresses are dropped when this many are known.
const FORGET_FROM: usize = 1024;
/// Addresses behind proxies whose use is remembered between their requests.
const MAX_PROXIED: NonZeroUsize = NonZeroUsize::new(4096).expect("not zero");

/// One client of a server, as far as shares of its threads and memory go: a connection, or one of those whose requests
/// a proxy sends over a connection. Cheap to clone; two are equal if they are of the same connection.
#[derive(Clone, Debug)]
pub struct Client(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    account: Arc<Account>,
    share: Arc<Share>,
    address: Arc<Address>,
}

/// The account of a connection.
#[derive(Debug)]
pub(super) struct Account {
    pub(super) work: Work,
    peer: Option<IpAddr>,
    pub(super) held: ConnectionReplies,
    /// Notified when a counted reply has been written.
    pub(super) written: Notify,
}

/// The counted use of a client's jobs: for each connection, or for an address behind proxies.
#[derive(Debug)]
pub(super) struct Share {
    used: [Usage; 2],
    /// Expected time of the client's next job, from the earlier ones; microseconds.
    expected_us: [AtomicU64; 2],
    /// Jobs of the client that run.
    pub(super) running: AtomicUsize,
    level: AtomicUsize,
}

impl Default for Share {
    fn default() -> Self {
        Self {
            used: Default::default(),
            expected_us: [(); 2].map(|()| AtomicU64::new(micros(FIRST_EXPECTED))),
            running: AtomicUsize::new(0),
            level: AtomicUsize::new(0),
        }
    }
}

/// The address from which requests come.
#[derive(Debug, Default)]
pub(super) struct Address {
    address: ClientAddress,
    turns: Turns,
    calls: AddressCalls,
    requests: AddressRequests,
}

/// The places of an address at each level, for jobs that take turns. Changed under the lock of the queues.
#[derive(Debug, Default)]
struct Turns {
    /// Number of its places, by level.
    places: [AtomicUsize; LEVELS],
    /// When it last got one: how many jobs of the server had begun. 0: never.
    last: [AtomicU64; LEVELS],
}

/// An address behind proxies, with its share.
type Proxied = (Arc<Address>, Arc<Share>);

#[derive(Debug)]
pub(super) struct Addresses {
    known: Mutex<HashMap<ClientAddress, Weak<Address>>>,
    proxied: Mutex<LruCache<ClientAddress, Proxied>>,
}

impl Default for Addresses {
    fn default() -> Self {
        // It grows with its entries.
        let mut proxied = LruCache::unbounded();
        proxied.resize(MAX_PROXIED);
        Self { known: Mutex::default(), proxied: Mutex::new_named("rpc.proxied", proxied) }
    }
}

impl Addresses {
    /// An address behind proxies. It is forgotten when many others were used after it.
    fn proxied(&self, address: IpAddr) -> Proxied {
        let key = ClientAddress::from_peer(Some(address));
        let mut proxied = self.proxied.lock();
        let new = || (Arc::new(Address { address: key, ..Address::default() }), Arc::default());
        proxied.get_or_insert(key, new).clone()
    }

    pub(super) fn get(&self, address: Option<IpAddr>) -> Arc<Address> {
        let address = ClientAddress::from_peer(address);
        if address == ClientAddress::IN_PROCESS {
            return Arc::default();
        }
        let mut known = self.known.lock();
        if let Some(shared) = known.get(&address).and_then(Weak::upgrade) {
            return shared;
        }
        if known.len() >= FORGET_FROM {
            known.retain(|_, address| address.strong_count() > 0);
        }
        let shared = Arc::new(Address { address, ..Address::default() });
        known.insert(address, Arc::downgrade(&shared));
        shared
    }
}

impl Client {
    pub(super) fn new(work: &Work, peer: Option<IpAddr>, address: Arc<Address>) -> Self {
        let account = Account {
            work: work.clone(),
            peer,
            held: ConnectionReplies::default(),
            written: Notify::new(),
        };
        Self(Arc::new(Parts { account: Arc::new(account), share: Arc::default(), address }))
    }

    /// The client at this address for which a proxy sends requests over the connection. All limits of addresses count for
    /// it, and so does the work; the replies count for the connection.
    #[must_use]
    pub fn behind_proxy(&self, address: IpAddr) -> Self {
        let (address, share) = self.work().addresses().proxied(address);
        Self(Arc::new(Parts { account: Arc::clone(&self.0.account), share, address }))
    }

    /// The address of the connection's other end, if it has one.
    #[must_use]
    pub fn peer(&self) -> Option<IpAddr> {
        self.0.account.peer
    }

    /// Takes units of the address; see [`super::RateLimitConfig`].
    ///
    /// # Errors
    /// The address has used its units.
    pub fn charge(&self, cost: u32) -> Result<(), RateExceeded> {
        match self.work().rate_limit() {
            None => Ok(()),
            Some(limit) => limit.charge(self.address(), cost),
        }
    }

    /// The server's threads and memory.
    #[must_use]
    pub fn work(&self) -> &Work {
        &self.0.account.work
    }

    /// The address from which the requests come.
    #[must_use]
    pub fn address(&self) -> ClientAddress {
        self.0.address.address
    }

    pub(super) fn account(&self) -> &Account {
        &self.0.account
    }

    /// The use of the calls of its address.
    pub(super) fn calls(&self) -> &AddressCalls {
        &self.0.address.calls
    }

    /// The bytes that the large requests of its address hold.
    pub(super) fn requests(&self) -> &AddressRequests {
        &self.0.address.requests
    }

    pub(super) fn share(&self) -> &Share {
        &self.0.share
    }

    /// Places that the address has at a level.
    pub(super) fn places(&self, level: usize) -> usize {
        self.0.address.turns.places[level].load(Ordering::Relaxed)
    }

    /// When the address last got a place at a level.
    pub(super) fn last_turn(&self, level: usize) -> u64 {
        self.0.address.turns.last[level].load(Ordering::Relaxed)
    }

    /// A job takes a place, as the one of this number.
    pub(super) fn take_turn(&self, level: usize, turn: u64) {
        self.take_place(level);
        self.0.address.turns.last[level].store(turn, Ordering::Relaxed);
    }

    /// A job takes a place out of turn, since it comes from another level.
    pub(super) fn take_place(&self, level: usize) {
        self.0.address.turns.places[level].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn leave_place(&self, level: usize) {
        self.0.address.turns.places[level].fetch_sub(1, Ordering::Relaxed);
    }

    /// The same for all clients of an address, and for no others at the same time.
    pub(super) fn address_key(&self) -> usize {
        Arc::as_ptr(&self.0.address).addr()
    }

    /// The same for what shares one count of jobs: a connection, or an address behind proxies.
    pub(super) fn share_key(&self) -> usize {
        Arc::as_ptr(&self.0.share).addr()
    }

    /// How far a job is put off behind others of its address that arrive at the same time: by the recent use of its client
    /// and by its expected time, up to a limit, so that every job runs at last, however many arrive later.
    pub(super) fn rank_delay(&self, lane: Lane, period: u64) -> Duration {
        let lane = lane as usize;
        let of_client =
            self.0.share.used[lane].recent(period) + EXPECTED_FACTOR * self.0.share.expected(lane);
        of_client.min(MAX_RANK_DELAY)
    }

    /// Counts the time that a job took.
    pub(super) fn add_time(&self, lane: Lane, took: Duration, period: u64) {
        let at = lane as usize;
        self.0.share.used[at].add(took, period);
        self.0.share.update_expected(at, took);
    }

    /// Bytes of replies that are on their way to the client.
    #[must_use]
    pub fn unread_bytes(&self) -> usize {
        self.0.account.held.unread()
    }

    /// Whether the server has closed the connection because it left too much unread.
    #[must_use]
    pub fn is_evicted(&self) -> bool {
        self.0.account.held.is_evicted()
    }

    /// Time since the client last finished reading a part of a reply, in ms; `None` if nothing is being sent.
    #[must_use]
    pub fn unread_for_ms(&self) -> Option<u64> {
        let since = self.0.account.held.unread_since_ms()?;
        Some(self.0.account.work.memory().clock_ms().saturating_sub(since))
    }

    /// Waits until every reply that is on its way to the client has been written.
    pub async fn written(&self) {
        while self.unread_bytes() > 0 {
            let mut written = pin!(self.0.account.written.notified());
            // Registered before the second look, so that nothing is missed in between.
            written.as_mut().enable();
            if self.unread_bytes() > 0 {
                written.await;
            }
        }
    }
}

/// The same connection.
impl PartialEq for Client {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0.account, &other.0.account)
    }
}

impl Eq for Client {}

impl Account {
    /// Whether the client leaves so much unread that no work begins for it.
    pub(super) fn is_blocked(&self) -> bool {
        self.held.unread() > MAX_UNREAD
    }
}

impl Share {
    fn expected(&self, lane: usize) -> Duration {
        Duration::from_micros(self.expected_us[lane].load(Ordering::Relaxed))
    }

    /// The last jobs count more than those before them. Called under the lock of the queues.
    fn update_expected(&self, lane: usize, took: Duration) {
        let expected = (self.expected(lane) + took) / 2;
        self.expected_us[lane].store(micros(expected), Ordering::Relaxed);
    }

    pub(super) fn jobs_running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }

    /// The level at which the client's next job begins, by how long its last one took.
    pub(super) fn level(&self) -> usize {
        self.level.load(Ordering::Relaxed)
    }

    pub(super) fn set_level(&self, level: usize) {
        self.level.store(level, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::WorkConfig;

    #[test]
    fn connections_of_one_network_share_an_address() {
        let addresses = Addresses::default();
        let get = |text: &str| addresses.get(Some(text.parse().unwrap()));
        let same = |a: &str, b: &str| {
            let (a, b) = (get(a), get(b));
            Arc::ptr_eq(&a, &b)
        };
        assert!(same("127.0.0.1", "127.0.0.1"));
        assert!(same("127.0.0.1", "::ffff:127.0.0.1"));
        assert!(same("2001:db8::1", "2001:db8::ffff:2"));
        assert!(!same("127.0.0.1", "127.0.0.2"));
        assert!(!same("2001:db8::1", "2001:db8:0:1::1"));
        assert!(!Arc::ptr_eq(&addresses.get(None), &addresses.get(None)));
    }

    #[test]
    fn clients_behind_a_proxy_have_their_own_addresses_and_shares() {
        let work = Work::new(WorkConfig::default());
        let at = |text: &str| text.parse::<IpAddr>().unwrap();
        let proxies = [(); 2].map(|()| work.client(Some(at("10.0.0.1"))));
        let [a, b] = ["192.0.2.1", "192.0.2.2"].map(|text| proxies[0].behind_proxy(at(text)));
        assert_eq!(a.address(), ClientAddress::from_peer(Some(at("192.0.2.1"))));
        assert_eq!((a.peer(), &a), (Some(at("10.0.0.1")), &proxies[0]), "the same connection");
        a.add_time(Lane::Long, Duration::from_secs(3), 0);
        let rank = |client: &Client| client.rank_delay(Lane::Long, 0);
        assert!(rank(&a) > Duration::from_secs(3));
        assert_eq!(rank(&b), EXPECTED_FACTOR * FIRST_EXPECTED);
        drop(a);
        let again = proxies[1].behind_proxy(at("192.0.2.1"));
        assert!(rank(&again) > Duration::from_secs(3), "over any connection");
        for n in 0..u32::try_from(2 * MAX_PROXIED.get()).unwrap() {
            let _ = proxies[0].behind_proxy(IpAddr::from(n.to_be_bytes()));
        }
        let known = &work.addresses().proxied;
        assert_eq!(known.lock().len(), MAX_PROXIED.get(), "of many addresses some are known");
    }

    #[test]
    fn heavy_clients_are_put_off_up_to_a_limit() {
        let ms = Duration::from_millis;
        let work = Work::new(WorkConfig::default());
        let [light, new, heavy] = [(); 3].map(|()| work.client(Some([127, 0, 0, 1].into())));
        let rank_delay = |client: &Client, period| client.rank_delay(Lane::Long, period);
        assert_eq!(rank_delay(&new, 0), ms(400), "nothing is known of it");
        (0..20).for_each(|_| light.add_time(Lane::Long, ms(1), 0));
        (0..20).for_each(|_| heavy.add_time(Lane::Long, ms(200), 0));
        let in_order = [&light, &new, &heavy].map(|client| rank_delay(client, 0));
        assert!(in_order.is_sorted(), "{in_order:?}");
        assert_eq!(rank_delay(&heavy, 0), MAX_RANK_DELAY);
        assert_eq!(rank_delay(&new, 0), ms(400), "what others of its address used is theirs");
        assert_eq!(heavy.rank_delay(Lane::Short, 0), ms(400), "as is what another lane used");
        // Past use is forgotten; the use of a running job is not.
        assert!(rank_delay(&heavy, 50) >= ms(3900) && rank_delay(&light, 50) < ms(30));
    }

    #[test]
    fn unused_addresses_are_forgotten() {
        let addresses = Addresses::default();
        let kept = addresses.get(Some([127, 1, 0, 0].into()));
        for n in 0..u16::try_from(3 * FORGET_FROM).unwrap() {
            let [a, b] = n.to_be_bytes();
            let _ = addresses.get(Some([10, 0, a, b].into()));
        }
        assert!(addresses.known.lock().len() <= FORGET_FROM);
        assert!(Arc::ptr_eq(&kept, &addresses.get(Some([127, 1, 0, 0].into()))));
    }
}
