//! Limited places for requests, shared between clients.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::sync::oneshot;
use tower::Service;

/// Share of the places of a queue that one client cannot take: a quarter, rounded down.
const RESERVE_DIVISOR: usize = 4;

tokio::task_local! {
    /// The client of the request that this task answers.
    static CLIENT: ClientName;
}

/// Name of a client: that of its token or certificate, or its address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ClientName(Arc<str>);

impl ClientName {
    pub(crate) fn new(name: &str) -> Self {
        Self(name.into())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the client of the current request; a request without a socket has an empty client name.
    fn current() -> Self {
        CLIENT.try_with(Self::clone).unwrap_or_default()
    }

    /// Runs `work` as a part of a request of this client.
    pub(crate) fn scope<F: Future>(self, work: F) -> impl Future<Output = F::Output> {
        CLIENT.scope(self, work)
    }
}

/// Service that runs the requests to another one for the client of the request that created it, in whatever task they run.
#[derive(Clone)]
pub(crate) struct ForClient<S> {
    client: ClientName,
    inner: S,
}

impl<S> ForClient<S> {
    /// Wraps a service for the client of the current request.
    pub(crate) fn current(inner: S) -> Self {
        Self { client: ClientName::current(), inner }
    }
}

impl<S: Service<R>, R> Service<R> for ForClient<S>
where
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: R) -> Self::Future {
        Box::pin(self.client.clone().scope(self.inner.call(request)))
    }
}

/// Spawns a task that belongs to the current request.
pub(crate) fn spawn(work: impl Future<Output = ()> + Send + 'static) {
    tokio::spawn(ClientName::current().scope(work));
}

/// A limited number of places, of which one client cannot take all.
#[derive(Debug)]
pub(crate) struct PlacePool {
    n_places: usize,
    /// Number of places that one client can take.
    own_limit: usize,
    taken: Mutex<Taken>,
}

/// The places that are taken.
#[derive(Debug, Default)]
struct Taken {
    n: usize,
    n_of_client: HashMap<ClientName, usize>,
}

/// No place is free for a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoPlace {
    /// Number of places that one client can take, if this client has them; `None` if all places are taken.
    pub(crate) own_limit: Option<usize>,
}

/// One of the places; dropping it frees the place.
#[derive(Debug)]
pub(crate) struct Place {
    places: Arc<PlacePool>,
    client: ClientName,
}

impl PlacePool {
    /// Creates places, some of which are for requests that are served at once, and the others a queue.
    pub(crate) fn new(n_served: usize, n_queued: usize) -> Arc<Self> {
        let n_places = n_served.saturating_add(n_queued);
        let own_limit = n_places - n_queued / RESERVE_DIVISOR;
        Arc::new(Self { n_places, own_limit, taken: Mutex::default() })
    }

    /// Takes a place for the client of the current request.
    pub(crate) fn take(self: &Arc<Self>) -> Result<Place, NoPlace> {
        self.take_for(ClientName::current())
    }

    fn take_for(self: &Arc<Self>, client: ClientName) -> Result<Place, NoPlace> {
        let mut taken = self.taken();
        if taken.n >= self.n_places {
            return Err(NoPlace { own_limit: None });
        }
        let own = taken.n_of_client.get(&client).copied().unwrap_or(0);
        if own >= self.own_limit {
            return Err(NoPlace { own_limit: Some(self.own_limit) });
        }
        taken.n += 1;
        taken.n_of_client.insert(client.clone(), own + 1);
        drop(taken);
        Ok(Place { places: Arc::clone(self), client })
    }

    /// Returns the number of places that are taken.
    pub(crate) fn n_taken(&self) -> usize {
        self.taken().n
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken();
        taken.n -= 1;
        if let Some(own) = taken.n_of_client.get_mut(&self.client) {
            *own -= 1;
            if *own == 0 {
                taken.n_of_client.remove(&self.client);
            }
        }
    }
}

/// Workers that serve the waiting clients in turn, each with its oldest request, so that many requests of one client do not delay the first of another.
#[derive(Debug)]
pub(crate) struct Workers(Mutex<Turns>);

#[derive(Debug)]
struct Turns {
    n_idle: usize,
    /// The waiting requests of each client, in the order of their turns.
    waiting: VecDeque<(ClientName, VecDeque<oneshot::Sender<Worker>>)>,
}

/// A worker; dropping it gives it to the next waiting request.
#[derive(Debug)]
pub(crate) struct Worker(Option<Arc<Workers>>);

impl Workers {
    pub(crate) fn new(n_workers: usize) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Turns { n_idle: n_workers, waiting: VecDeque::new() })))
    }

    /// Waits for a worker for the current request.
    pub(crate) async fn acquire(self: &Arc<Self>) -> Worker {
        self.acquire_for(ClientName::current()).await
    }

    async fn acquire_for(self: &Arc<Self>, client: ClientName) -> Worker {
        let turn = {
            let mut turns = self.turns();
            if turns.n_idle > 0 {
                turns.n_idle -= 1;
                return Worker(Some(Arc::clone(self)));
            }
            let (sender, receiver) = oneshot::channel();
            match turns.waiting.iter_mut().find(|(waiting, _)| *waiting == client) {
                Some((_, requests)) => {
                    // Requests that were given up have no place any more, so that the places bound the others.
                    requests.retain(|request| !request.is_closed());
                    requests.push_back(sender);
                }
                None => turns.waiting.push_back((client, VecDeque::from([sender]))),
            }
            receiver
        };
        // The sender is dropped only with all workers, and a request keeps them.
        turn.await.unwrap_or(Worker(None))
    }

    pub(crate) fn n_idle(&self) -> usize {
        self.turns().n_idle
    }

    fn turns(&self) -> MutexGuard<'_, Turns> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turns {
    /// Returns the next request that still waits; its client waits for its next turn behind the others.
    fn next(&mut self) -> Option<oneshot::Sender<Worker>> {
        loop {
            let (client, mut requests) = self.waiting.pop_front()?;
            let mut oldest_first = std::iter::from_fn(|| requests.pop_front());
            let next = oldest_first.find(|request| !request.is_closed());
            if !requests.is_empty() {
                self.waiting.push_back((client, requests));
            }
            if next.is_some() {
                return next;
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let Some(workers) = self.0.take() else { return };
        let mut worker = Self(Some(Arc::clone(&workers)));
        loop {
            let mut turns = workers.turns();
            let Some(next) = turns.next() else {
                turns.n_idle += 1;
                worker.0 = None;
                return;
            };
            drop(turns);
            match next.send(worker) {
                Ok(()) => return,
                // The request was given up at this moment.
                Err(unused) => worker = unused,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    fn polled<F: Future>(work: Pin<&mut F>) -> Poll<F::Output> {
        work.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn one_client_leaves_places_to_others() {
        let places = PlacePool::new(0, 8);
        let take = |client: &str| places.take_for(ClientName::new(client));
        let own: Vec<Place> = std::iter::from_fn(|| take("a").ok()).collect();
        assert_eq!(own.len(), 6);
        assert_eq!(take("a").unwrap_err(), NoPlace { own_limit: Some(6) });
        let others = [take("b"), take("c")];
        assert!(others.iter().all(Result::is_ok));
        assert_eq!(take("d").unwrap_err(), NoPlace { own_limit: None });
        drop(own);
        assert_eq!(places.n_taken(), 2);
        drop(others);
        assert_eq!(places.n_taken(), 0);
        assert!(places.taken().n_of_client.is_empty(), "no client is remembered");
        for n_places in 0..4 {
            let places = PlacePool::new(0, n_places);
            let own: Vec<Place> = std::iter::from_fn(|| places.take().ok()).collect();
            assert_eq!(own.len(), n_places, "too few to share");
        }
        let served = PlacePool::new(8, 0);
        let own: Vec<Place> = std::iter::from_fn(|| served.take().ok()).collect();
        assert_eq!(own.len(), 8, "one client can use all workers");
    }

    #[test]
    fn clients_are_served_in_turn() {
        let workers = Workers::new(1);
        let Poll::Ready(busy) =
            polled(Box::pin(workers.acquire_for(ClientName::new("a"))).as_mut())
        else {
            panic!("it is idle")
        };
        let names = ["a", "a", "a", "b", "a", "c", "b"];
        let mut waiting: Vec<_> =
            names.map(|name| Box::pin(workers.acquire_for(ClientName::new(name)))).into();
        for request in &mut waiting {
            assert!(polled(request.as_mut()).is_pending());
        }
        // A request that is given up is passed over.
        drop(waiting.remove(1));
        let mut left: Vec<usize> = (0..waiting.len()).collect();
        let (mut served, mut worker) = (Vec::new(), busy);
        while !left.is_empty() {
            drop(worker);
            let mut ready = None;
            for (at, request) in left.iter().enumerate() {
                if let Poll::Ready(got) = polled(waiting[*request].as_mut()) {
                    assert!(ready.replace((at, got)).is_none(), "one worker serves one request");
                }
            }
            let (at, got) = ready.expect("a worker is idle and requests wait");
            served.push(left.remove(at));
            worker = got;
        }
        assert_eq!(served, [0, 2, 4, 1, 5, 3]);
        assert_eq!(workers.n_idle(), 0);
        drop(worker);
        assert_eq!(workers.n_idle(), 1);
    }

    #[test]
    fn requests_that_are_given_up_do_not_pile_up() {
        let workers = Workers::new(0);
        for _ in 0..1000 {
            let mut request = Box::pin(workers.acquire());
            assert!(polled(request.as_mut()).is_pending());
        }
        assert_eq!(workers.turns().waiting[0].1.len(), 1);
    }

    #[tokio::test]
    async fn client_of_a_request_follows_it_into_other_tasks() {
        let named = tower::service_fn(|()| async { Ok::<_, ()>(ClientName::current()) });
        let client = ClientName::new("agent");
        let mut for_client = client.clone().scope(async { ForClient::current(named) }).await;
        let found = tokio::spawn(async move { for_client.call(()).await }).await.unwrap();
        assert_eq!(found, Ok(client.clone()));
        let (sender, receiver) = oneshot::channel();
        let work = async move { drop(sender.send(ClientName::current())) };
        client.clone().scope(async { spawn(work) }).await;
        assert_eq!(receiver.await.unwrap(), client);
        assert_eq!(ClientName::current(), ClientName::default());
    }
}
