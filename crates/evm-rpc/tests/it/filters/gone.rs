//! A client that goes away while its logs are searched.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use esker_evm_rpc::Apis;
use esker_evm_rpc::evm::{FilterConfig, Filters, filter_methods};
use esker_primitives::clock::{Clock, Sleep};
use esker_primitives::sync::Mutex;
use esker_rpc::Caller;
use esker_rpc::positional::{Limits, Server};
use tokio::sync::oneshot;

use super::world::blocks;
use crate::world::{Chain, Setup, make_block};

/// A clock that is stopped at its first reading, and counts the others. A search reads it at its beginning and
/// between blocks.
struct Gate {
    reached: Mutex<Option<oneshot::Sender<()>>>,
    open: Mutex<mpsc::Receiver<()>>,
    readings: AtomicUsize,
    ended: Option<oneshot::Sender<usize>>,
}

impl Clock for Gate {
    fn now_ms(&self) -> u64 {
        if let Some(reached) = self.reached.lock().take() {
            reached.send(()).unwrap();
            self.open.lock().recv().unwrap();
        } else {
            self.readings.fetch_add(1, Ordering::Relaxed);
        }
        0
    }

    fn sleep_until(&self, _: u64) -> Sleep {
        Box::pin(async {})
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        if let Some(ended) = self.ended.take() {
            ended.send(self.readings.load(Ordering::Relaxed)).unwrap();
        }
    }
}

/// How often the clock was read between blocks by a search whose client stays, or goes after it began.
async fn readings(stays: bool) -> usize {
    let Chain { evm, machine, clock, reads, .. } =
        Chain::open(Setup::ARCHIVE, Arc::new(esker_evm::extension::NoExtension));
    for transactions in blocks() {
        for tx in transactions {
            evm.submit(tx).unwrap();
        }
        make_block(&machine, &clock, 10_000).await;
    }
    let (reached, at_gate) = oneshot::channel();
    let (opener, open) = mpsc::channel();
    let (ended, end) = oneshot::channel();
    let gate = Gate {
        reached: Mutex::new(Some(reached)),
        open: Mutex::new(open),
        readings: AtomicUsize::new(0),
        ended: Some(ended),
    };
    let randomness = Arc::new(|_: &mut [u8]| {});
    let filters = Filters::new(reads, evm, Arc::new(gate), randomness, FilterConfig::default());
    let service = filter_methods(&filters, &Apis::default());
    drop(filters);
    let server = Server::new(service, Limits::default());
    let body = br#"{"jsonrpc":"2.0","id":1,"method":"eth_getLogs","params":[{"fromBlock":"0x0"}]}"#;
    {
        let caller = Caller::default();
        let mut answer = Box::pin(server.answer(body, None, &caller));
        tokio::select! {
            answer = &mut answer => panic!("answered: {answer:?}"),
            at_gate = at_gate => at_gate.unwrap(),
        }
        if stays {
            opener.send(()).unwrap();
            assert!(!answer.await.failed);
        }
    }
    if !stays {
        opener.send(()).unwrap();
    }
    // The clock goes with whoever uses it last.
    drop(server);
    end.await.unwrap()
}

#[tokio::test]
async fn a_search_ends_with_its_client() {
    // Four blocks have logs, and none of them is the first of the range.
    assert_eq!(readings(true).await, 4);
    assert_eq!(readings(false).await, 0);
}
