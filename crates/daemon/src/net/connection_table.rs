//! The table of open connections: how many may be open, for how long, and which one is closed to make room for another.
//!
//! A connection earns its place with a request that carries a credential.
//! Until then it is the first to be closed, so a client without a credential can take places only from its own kind.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::convert::Infallible;
use std::net::{IpAddr, Ipv6Addr};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// Number of connections beyond the limit that are open only to be answered that there is no room, or until an evicted one is closed.
pub(crate) const SURPLUS_CONNECTIONS: usize = 16;

/// Time for which a surplus connection stays open; its client may retry after it.
pub(crate) const SURPLUS_TIME: Duration = Duration::from_secs(1);

/// Limits of open connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConnectionLimits {
    /// Maximum number of connections.
    pub(crate) total: usize,
    /// Maximum number of connections from one network: an IPv4 address, or an IPv6 network of 64 bits.
    pub(crate) per_network: usize,
    /// Time until the first admitted request.
    pub(crate) first_request: Duration,
    /// Time after the last request; unlimited if `None`.
    pub(crate) idle: Option<Duration>,
}

impl ConnectionLimits {
    /// Returns the maximum number of connections without an authenticated request; the other places are reserved for clients that have authenticated.
    const fn unauthenticated(&self) -> usize {
        self.total.div_ceil(2)
    }
}

/// Activity of one connection, shared by its transport and its requests.
#[derive(Debug)]
pub(crate) struct ConnectionActivity {
    id: u64,
    /// Network of the client; `None` over the Unix socket, whose clients the file system authenticates.
    network: Option<IpAddr>,
    opened: Instant,
    /// True if there is no room for the connection: its requests are refused.
    is_surplus: bool,
    is_admitted: AtomicBool,
    is_authenticated: AtomicBool,
    n_requests: AtomicUsize,
    /// End of the last request, in milliseconds since `opened`.
    last_request_ms: AtomicU64,
    table: Weak<ConnectionTable>,
}

impl ConnectionActivity {
    /// Returns whether requests on the connection are refused because there is no room for it.
    pub(crate) const fn is_surplus(&self) -> bool {
        self.is_surplus
    }

    /// Records the start of an admitted request; the request ends when the guard is dropped.
    ///
    /// Health checks without a credential are admitted, but not authenticated.
    pub(crate) fn start_request(self: &Arc<Self>, is_authenticated: bool) -> ActiveRequest {
        self.n_requests.fetch_add(1, Ordering::AcqRel);
        self.is_admitted.store(true, Ordering::Release);
        if is_authenticated
            && !self.is_authenticated.swap(true, Ordering::AcqRel)
            && let Some(table) = self.table.upgrade()
        {
            table.entries().authenticate(self.id);
        }
        ActiveRequest(Arc::clone(self))
    }

    fn is_idle(&self) -> bool {
        self.n_requests.load(Ordering::Acquire) == 0
    }

    fn last_request(&self) -> Instant {
        self.opened + Duration::from_millis(self.last_request_ms.load(Ordering::Acquire))
    }

    /// Returns when the connection must be closed if nothing happens until then; `None` if never.
    fn deadline(&self, limits: &ConnectionLimits) -> Option<Instant> {
        if self.is_surplus {
            return Some(self.opened + SURPLUS_TIME);
        }
        self.network?;
        if self.is_admitted.load(Ordering::Acquire) {
            let last = if self.is_idle() { self.last_request() } else { Instant::now() };
            return limits.idle.map(|idle| last + idle);
        }
        Some(self.opened + limits.first_request)
    }
}

/// A request in flight. Dropping it ends the request.
#[derive(Debug)]
pub(crate) struct ActiveRequest(Arc<ConnectionActivity>);

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        let elapsed = u64::try_from(self.0.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.0.last_request_ms.fetch_max(elapsed, Ordering::AcqRel);
        self.0.n_requests.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The place of an open connection. Dropping it frees the place.
pub(crate) struct ConnectionPlace {
    activity: Arc<ConnectionActivity>,
    /// Ends when the table evicts the connection.
    evicted: oneshot::Receiver<Infallible>,
    table: Arc<ConnectionTable>,
    _permit: OwnedSemaphorePermit,
    /// Place among the surplus connections, if it is one.
    _surplus: Option<OwnedSemaphorePermit>,
}

impl ConnectionPlace {
    /// Returns the activity, which requests on the connection record.
    pub(crate) const fn activity(&self) -> &Arc<ConnectionActivity> {
        &self.activity
    }

    /// Returns when the connection must be closed if nothing happens until then; `None` if never.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.activity.deadline(&self.table.limits)
    }

    /// Completes when the connection must be closed to make room for another.
    pub(crate) fn poll_evicted(&mut self, context: &mut Context<'_>) -> Poll<()> {
        // A surplus connection is not in the table, and has a deadline instead.
        if self.activity.is_surplus {
            return Poll::Pending;
        }
        if self.evicted.is_terminated() {
            return Poll::Ready(());
        }
        Pin::new(&mut self.evicted).poll(context).map(drop)
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        self.table.entries().remove(self.activity.id);
    }
}

/// An entry of the table; dropping it evicts the connection.
type TableEntry = (Arc<ConnectionActivity>, oneshot::Sender<Infallible>);

/// The open connections of one listener.
pub(crate) struct ConnectionTable {
    limits: ConnectionLimits,
    permits: Arc<Semaphore>,
    /// Places of surplus connections.
    surplus: Arc<Semaphore>,
    entries: Mutex<Entries>,
    next_id: AtomicU64,
    n_evicted: AtomicU64,
    n_refused: AtomicU64,
}

impl ConnectionTable {
    /// Creates an empty table.
    pub(crate) fn new(limits: ConnectionLimits) -> Arc<Self> {
        Arc::new(Self {
            limits,
            permits: Arc::new(Semaphore::new(limits.total + SURPLUS_CONNECTIONS)),
            surplus: Arc::new(Semaphore::new(SURPLUS_CONNECTIONS)),
            entries: Mutex::default(),
            next_id: AtomicU64::new(0),
            n_evicted: AtomicU64::new(0),
            n_refused: AtomicU64::new(0),
        })
    }

    /// Returns the limits.
    pub(crate) const fn limits(&self) -> &ConnectionLimits {
        &self.limits
    }

    /// Returns the number of open connections.
    pub(crate) fn n_open(&self) -> usize {
        self.entries().open.len()
    }

    /// Returns the number of connections closed to make room for others.
    pub(crate) fn n_evicted(&self) -> u64 {
        self.n_evicted.load(Ordering::Relaxed)
    }

    /// Returns the number of connections refused because all others were busy.
    pub(crate) fn n_refused(&self) -> u64 {
        self.n_refused.load(Ordering::Relaxed)
    }

    /// Waits until the system's limit of open files leaves room for one more connection.
    ///
    /// Surplus connections end after [`SURPLUS_TIME`] and evicted ones at once, so this is short.
    pub(crate) async fn permit(&self) -> Option<OwnedSemaphorePermit> {
        // The semaphore is never closed.
        Arc::clone(&self.permits).acquire_owned().await.ok()
    }

    /// Enters a connection from `address`, `None` for the Unix socket. Returns `None` if it must be closed at once.
    ///
    /// If a limit is reached, the least deserving connection is evicted; if all of them are busy with authenticated requests, the new one is surplus.
    /// Further ones are closed, so that the surplus of one network never takes the permits of another.
    pub(crate) fn enter(
        self: &Arc<Self>,
        permit: OwnedSemaphorePermit,
        address: Option<IpAddr>,
    ) -> Option<ConnectionPlace> {
        let network = address.map(network);
        let mut entries = self.entries();
        let n_before = entries.open.len();
        let has_room = self.make_room(&mut entries, network);
        let n_evicted = n_before - entries.open.len();
        self.n_evicted.fetch_add(n_evicted as u64, Ordering::Relaxed);
        let surplus = if has_room {
            None
        } else {
            self.n_refused.fetch_add(1, Ordering::Relaxed);
            Some(Arc::clone(&self.surplus).try_acquire_owned().ok()?)
        };
        let activity = Arc::new(ConnectionActivity {
            id: self.next_id.fetch_add(1, Ordering::Relaxed),
            network,
            opened: Instant::now(),
            is_surplus: !has_room,
            is_admitted: AtomicBool::new(false),
            is_authenticated: AtomicBool::new(false),
            n_requests: AtomicUsize::new(0),
            last_request_ms: AtomicU64::new(0),
            table: Arc::downgrade(self),
        });
        let (sender, evicted) = oneshot::channel();
        if has_room {
            entries.insert((Arc::clone(&activity), sender));
        }
        drop(entries);
        let table = Arc::clone(self);
        Some(ConnectionPlace { activity, evicted, table, _permit: permit, _surplus: surplus })
    }

    /// Evicts connections until one from `network` fits; returns false if no more can be evicted.
    fn make_room(&self, entries: &mut Entries, network: Option<IpAddr>) -> bool {
        let limits = &self.limits;
        // The bounds of a smaller group come first: its own members make room before others do.
        if network.is_some_and(|network| entries.n_open(network) >= limits.per_network)
            && !entries.evict(network)
        {
            return false;
        }
        if entries.n_unauthenticated >= limits.unauthenticated() && !entries.evict(None) {
            return false;
        }
        entries.open.len() < limits.total || entries.evict(None)
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Open connections, ordered for eviction: while some are unauthenticated, one is evicted in `O(log connections)`.
#[derive(Default)]
struct Entries {
    open: HashMap<u64, TableEntry>,
    networks: HashMap<IpAddr, NetworkConnections>,
    /// Networks with unauthenticated connections; the last network loses its oldest connection first.
    ranking: BTreeSet<(NetworkRank, IpAddr)>,
    n_unauthenticated: usize,
}

/// Number of unauthenticated connections of a network, and the id of the oldest.
type NetworkRank = (usize, Reverse<u64>);

/// Open connections of one network.
#[derive(Default)]
struct NetworkConnections {
    n_open: usize,
    /// Ids, the oldest first.
    unauthenticated: BTreeSet<u64>,
}

impl NetworkConnections {
    fn rank(&self) -> Option<NetworkRank> {
        let oldest = *self.unauthenticated.first()?;
        Some((self.unauthenticated.len(), Reverse(oldest)))
    }
}

impl Entries {
    fn insert(&mut self, entry: TableEntry) {
        let (id, network) = (entry.0.id, entry.0.network);
        self.open.insert(id, entry);
        self.update(network, |connections| {
            connections.n_open += 1;
            connections.unauthenticated.insert(id);
        });
    }

    /// Removes a connection, which evicts it if it is still open.
    fn remove(&mut self, id: u64) {
        let Some((activity, _)) = self.open.remove(&id) else { return };
        self.update(activity.network, |connections| {
            connections.n_open -= 1;
            connections.unauthenticated.remove(&id);
        });
    }

    /// Records the first authenticated request of a connection.
    fn authenticate(&mut self, id: u64) {
        let network = self.open.get(&id).and_then(|(activity, _)| activity.network);
        self.update(network, |connections| {
            connections.unauthenticated.remove(&id);
        });
    }

    /// Changes the connections of a network and its rank. Clients of the Unix socket have no network: the file system authenticates them.
    fn update(&mut self, network: Option<IpAddr>, change: impl FnOnce(&mut NetworkConnections)) {
        let Some(network) = network else { return };
        let connections = self.networks.entry(network).or_default();
        let before = connections.rank();
        change(connections);
        let after = connections.rank();
        if connections.n_open == 0 {
            self.networks.remove(&network);
        }
        if let Some(rank) = before {
            self.n_unauthenticated -= rank.0;
            self.ranking.remove(&(rank, network));
        }
        if let Some(rank) = after {
            self.n_unauthenticated += rank.0;
            self.ranking.insert((rank, network));
        }
    }

    fn n_open(&self, network: IpAddr) -> usize {
        self.networks.get(&network).map_or(0, |connections| connections.n_open)
    }

    /// Evicts the least deserving connection, from `network` if given; returns false if all are authenticated and busy.
    fn evict(&mut self, network: Option<IpAddr>) -> bool {
        let Some(id) = self.least_deserving(network) else { return false };
        self.remove(id);
        true
    }

    fn oldest_unauthenticated(&self, network: Option<IpAddr>) -> Option<u64> {
        let (_, Reverse(oldest)) = match network {
            Some(network) => self.networks.get(&network)?.rank()?,
            None => self.ranking.last()?.0,
        };
        Some(oldest)
    }

    /// Returns the connection to close first: the oldest unauthenticated one of the network with most of them; without any, the authenticated one that has been idle for the longest time, `O(connections)`.
    fn least_deserving(&mut self, network: Option<IpAddr>) -> Option<u64> {
        while let Some(oldest) = self.oldest_unauthenticated(network) {
            if !self.open.get(&oldest)?.0.is_authenticated.load(Ordering::Acquire) {
                return Some(oldest);
            }
            // Its first authenticated request is about to record this.
            self.authenticate(oldest);
        }
        let open = self.open.values().map(|(activity, _)| activity);
        let members = open.filter(|activity| network.is_none() || activity.network == network);
        let idle = members.filter(|activity| activity.is_idle());
        idle.map(|activity| (activity.last_request(), activity.id)).min().map(|(_, id)| id)
    }
}

/// Returns the network that one client controls: an IPv4 address, or an IPv6 network of 64 bits.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::Index;

    use super::*;

    const LIMITS: ConnectionLimits = ConnectionLimits {
        total: 6,
        per_network: 4,
        first_request: Duration::from_secs(10),
        idle: Some(Duration::from_secs(600)),
    };

    struct Clients {
        table: Arc<ConnectionTable>,
        places: Vec<(&'static str, ConnectionPlace)>,
    }

    impl Clients {
        fn new() -> Self {
            Self { table: ConnectionTable::new(LIMITS), places: Vec::new() }
        }

        /// Opens a connection; returns whether it has a place.
        fn open(&mut self, name: &'static str, address: &str) -> bool {
            let permit = Arc::clone(&self.table.permits).try_acquire_owned().unwrap();
            let address = Some(address).filter(|address| *address != "unix");
            let address = address.map(|address| address.parse().unwrap());
            let place = self.table.enter(permit, address).unwrap();
            let is_surplus = place.activity().is_surplus();
            self.places.push((name, place));
            !is_surplus
        }

        fn request(&self, name: &str, is_authenticated: bool) -> ActiveRequest {
            let (_, place) = self.places.iter().find(|(other, _)| *other == name).unwrap();
            place.activity().start_request(is_authenticated)
        }

        /// Closes the evicted connections and returns their names.
        fn evicted(&mut self) -> Vec<&'static str> {
            let mut context = Context::from_waker(std::task::Waker::noop());
            let (evicted, rest) =
                std::mem::take(&mut self.places).into_iter().partition::<Vec<_>, _>(
                    |(_, place)| !self.table.entries().open.contains_key(&place.activity.id),
                );
            self.places = rest;
            let names = evicted.into_iter().map(|(name, mut place)| {
                assert_eq!(place.poll_evicted(&mut context), Poll::Ready(()), "{name}");
                name
            });
            names.collect()
        }
    }

    #[test]
    fn one_network_makes_room_only_in_itself() {
        let mut clients = Clients::new();
        for name in ["a", "b"] {
            assert!(clients.open(name, "192.0.2.1"));
        }
        drop(clients.request("a", true));
        drop(clients.request("b", true));
        assert!(clients.open("c", "192.0.2.1") && clients.open("other", "192.0.2.2"));
        assert!(clients.open("d", "192.0.2.1"));
        assert_eq!(clients.evicted(), [""; 0]);
        assert!(clients.open("e", "::ffff:192.0.2.1"), "the same address, mapped to IPv6");
        assert_eq!(clients.evicted(), ["c"], "the oldest without a credential");
    }

    #[test]
    fn half_of_the_places_are_reserved_for_authenticated_clients() {
        let mut clients = Clients::new();
        for (name, address) in [("a", "192.0.2.1"), ("b", "192.0.2.2"), ("c", "192.0.2.2")] {
            assert!(clients.open(name, address));
        }
        assert!(clients.open("d", "192.0.2.3"));
        assert_eq!(clients.evicted(), ["b"], "of the network with most of them");
        drop(clients.request("d", false));
        assert!(clients.open("e", "192.0.2.4"));
        assert_eq!(clients.evicted(), ["a"], "the oldest of equal networks");
        drop(clients.request("d", true));
        assert!(clients.open("f", "192.0.2.5"), "an authenticated client leaves its place");
        assert_eq!(clients.evicted(), [""; 0]);
    }

    #[test]
    fn surplus_of_one_network_leaves_room_for_others() {
        let mut clients = Clients::new();
        let mut busy: Vec<ActiveRequest> = Vec::new();
        for name in ["a", "b", "c", "d"] {
            assert!(clients.open(name, "192.0.2.1"));
            busy.push(clients.request(name, true));
        }
        let more: Vec<Option<ConnectionPlace>> = (0..2 * SURPLUS_CONNECTIONS)
            .map(|_| {
                let permit = Arc::clone(&clients.table.permits).try_acquire_owned().unwrap();
                clients.table.enter(permit, Some("192.0.2.1".parse().unwrap()))
            })
            .collect();
        assert_eq!(more.iter().flatten().count(), SURPLUS_CONNECTIONS, "the others are closed");
        assert!(clients.open("other", "192.0.2.2"));
        drop(more);
        assert_eq!(clients.table.surplus.available_permits(), SURPLUS_CONNECTIONS);
    }

    #[test]
    fn full_table_evicts_idle_clients_and_never_busy_ones() {
        let mut clients = Clients::new();
        let names = ["a", "b", "c", "d", "e", "f"];
        let addresses = ["192.0.2.1", "192.0.2.2"];
        let mut busy: Vec<ActiveRequest> = Vec::new();
        for (at, name) in names.into_iter().enumerate() {
            assert!(clients.open(name, addresses[at % 2]));
            busy.push(clients.request(name, true));
        }
        assert!(!clients.open("surplus", "192.0.2.3"), "all are busy");
        let (_, surplus) = clients.places.pop().unwrap();
        assert!(surplus.deadline().unwrap() <= Instant::now() + SURPLUS_TIME);
        assert_eq!((clients.table.n_open(), clients.table.n_refused()), (6, 1));
        drop(surplus);
        drop(busy.remove(3));
        assert!(clients.open("g", "192.0.2.3"));
        assert_eq!((clients.evicted(), clients.table.n_evicted()), (vec!["d"], 1));
    }

    /// Open connections, as the reference implementation sees them.
    type Open = Vec<Arc<ConnectionActivity>>;

    fn is_authenticated(open: &ConnectionActivity) -> bool {
        open.is_authenticated.load(Ordering::Acquire)
    }

    /// Returns the id of the connection of `members` to close first, found by scanning all of them.
    fn first_to_close<'a>(
        members: impl Iterator<Item = &'a Arc<ConnectionActivity>>,
    ) -> Option<u64> {
        let mut unauthenticated: HashMap<IpAddr, Vec<u64>> = HashMap::new();
        let mut idle = Vec::new();
        for open in members {
            if !is_authenticated(open) {
                unauthenticated.entry(open.network.unwrap()).or_default().push(open.id);
            } else if open.is_idle() {
                idle.push((open.last_request(), open.id));
            }
        }
        let networks = unauthenticated.into_values();
        let oldest = networks.map(|ids| (ids.len(), Reverse(*ids.iter().min().unwrap()))).max();
        oldest.map(|(_, Reverse(id))| id).or(idle.into_iter().min().map(|(_, id)| id))
    }

    /// Removes from `open` what a new connection from `network` evicts.
    fn evict(open: &mut Open, network: IpAddr) {
        for group in 0..3 {
            let (is_member, most): (&dyn Fn(&ConnectionActivity) -> bool, usize) = match group {
                0 => (&|open| open.network == Some(network), LIMITS.per_network),
                1 => (&|open| !is_authenticated(open), LIMITS.unauthenticated()),
                _ => (&|_| true, LIMITS.total),
            };
            let members = || open.iter().filter(|open| is_member(open));
            if members().count() >= most {
                let Some(closed) = first_to_close(members()) else { return };
                open.retain(|open| open.id != closed);
            }
        }
    }

    proptest! {
        #[test]
        fn eviction_order_follows_all_changes(
            steps in vec((0..4_u8, 0..4_u8, any::<Index>()), 1..80)
        ) {
            let table = ConnectionTable::new(LIMITS);
            let mut places: Vec<ConnectionPlace> = Vec::new();
            let mut busy: Vec<ActiveRequest> = Vec::new();
            let ids = |open: &mut dyn Iterator<Item = &Arc<ConnectionActivity>>| {
                open.map(|open| open.id).collect::<BTreeSet<u64>>()
            };
            for (step, n, index) in steps {
                let mut open: Open = {
                    let entries = table.entries();
                    entries.open.values().map(|(open, _)| Arc::clone(open)).collect()
                };
                match step {
                    0 | 1 => {
                        let address = IpAddr::from([192, 0, 2, n]);
                        if let Ok(permit) = Arc::clone(&table.permits).try_acquire_owned() {
                            evict(&mut open, address);
                            let place = table.enter(permit, Some(address));
                            let entered = place.iter().filter(|it| !it.activity.is_surplus);
                            open.extend(entered.map(|it| Arc::clone(&it.activity)));
                            places.extend(place);
                        }
                    }
                    2 if !places.is_empty() => {
                        busy.push(places[index.index(places.len())].activity().start_request(n != 0));
                    }
                    3 if n < 2 && !places.is_empty() => {
                        let closed = places.remove(index.index(places.len())).activity.id;
                        open.retain(|open| open.id != closed);
                    }
                    _ if !busy.is_empty() => drop(busy.remove(index.index(busy.len()))),
                    _ => {}
                }
                let mut entries = table.entries();
                let left = ids(&mut entries.open.values().map(|(open, _)| open));
                prop_assert_eq!(left, ids(&mut open.iter()));
                for network in (0..4).map(|n| IpAddr::from([192, 0, 2, n])) {
                    let members = || open.iter().filter(|open| open.network == Some(network));
                    prop_assert_eq!(entries.least_deserving(Some(network)), first_to_close(members()));
                    let n_open = members().count();
                    let known = entries.networks.get(&network).map(|own| own.n_open);
                    prop_assert_eq!(known, (n_open > 0).then_some(n_open));
                }
                prop_assert_eq!(entries.least_deserving(None), first_to_close(open.iter()));
                let n_unauthenticated = open.iter().filter(|open| !is_authenticated(open)).count();
                prop_assert_eq!(entries.n_unauthenticated, n_unauthenticated);
            }
        }
    }

    #[test]
    fn deadlines_follow_the_activity() {
        let mut clients = Clients::new();
        clients.open("a", "2001:db8:1:2::1");
        clients.open("unix", "unix");
        let deadline = |clients: &Clients, at: usize| clients.places[at].1.deadline();
        let opened = clients.places[0].1.activity.opened;
        assert_eq!(deadline(&clients, 0), Some(opened + LIMITS.first_request));
        let request = clients.request("a", false);
        let idle = LIMITS.idle.unwrap();
        assert!(deadline(&clients, 0).unwrap() >= opened + idle);
        drop(request);
        let last = clients.places[0].1.activity.last_request();
        assert_eq!(deadline(&clients, 0), Some(last + idle));
        assert_eq!(deadline(&clients, 1), None, "the file system authenticates its clients");
    }

    #[test]
    fn networks_are_compared_by_what_one_client_controls() {
        let of = |address: &str| network(address.parse().unwrap()).to_string();
        assert_eq!(of("192.0.2.7"), "192.0.2.7");
        assert_eq!(of("::ffff:192.0.2.7"), "192.0.2.7");
        assert_eq!(of("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
    }
}
