use esker_chain::BundleId;
use esker_primitives::clock::ManualClock;
use esker_primitives::{BlockId, Id};
use tokio::sync::{broadcast, mpsc};

use super::summary::MAX_LINES;
use super::*;
use crate::throttle::WINDOW_MS;

const START_MS: u64 = 1_000_000;
const CHAIN: ChainId = ChainId::new([7; 32]);

/// A bundle with one block; blocks of height 0 are empty.
fn event(chain: ChainId, height: u64, accepted_ms: u64) -> MachineEvent {
    let block = ExecutedBlock {
        id: BlockId::ZERO,
        parent_id: BlockId::ZERO,
        height,
        timestamp_ms: accepted_ms,
        bytes: Vec::new().into(),
        writes: Arc::default(),
        payload: Arc::new(()),
    };
    MachineEvent::Accepted(AcceptedEvent {
        bundle_id: BundleId::from(Id::ZERO),
        height,
        accepted_ms,
        commit_ms: 3,
        execute_ms: 2,
        blocks: vec![(chain, Arc::new(block))],
    })
}

fn figures(chain: &ChainId, block: &ExecutedBlock) -> Option<(String, BlockFigures)> {
    let figures = BlockFigures {
        hash: format!("hash of {}", block.height),
        is_empty: block.height == 0,
        txs: 5,
        gas: Some(100),
        base_fee: Some(25),
    };
    (*chain == CHAIN).then(|| ("C".to_owned(), figures))
}

struct Log {
    clock: ManualClock,
    events: broadcast::Sender<MachineEvent>,
    lines: mpsc::UnboundedReceiver<Line>,
    stop: ShutdownTrigger,
    task: JoinHandle<()>,
}

impl Log {
    fn start(backlog: usize) -> Self {
        let clock = ManualClock::new(START_MS);
        let (events, receiver) = broadcast::channel(backlog);
        let (sender, lines) = mpsc::unbounded_channel();
        let (stop, stopped) = Shutdown::new();
        let write = move |line| sender.send(line).unwrap();
        let log = BlockLog::new(figures, Arc::new(clock.clone()), write);
        let task = tokio::spawn(log.run(receiver, stopped));
        Self { clock, events, lines, stop, task }
    }

    fn accept(&self, height: u64) {
        assert!(self.events.send(event(CHAIN, height, self.clock.now_ms())).is_ok());
    }

    async fn line(&mut self) -> Line {
        self.lines.recv().await.unwrap()
    }

    /// Lines that are written at the stop.
    async fn rest(mut self) -> Vec<Line> {
        self.stop.trigger();
        self.task.await.unwrap();
        let mut lines = Vec::new();
        while let Some(line) = self.lines.recv().await {
            lines.push(line);
        }
        lines
    }
}

fn height(line: &Line) -> Option<u64> {
    match line {
        Line::Block(_, block) => Some(block.height),
        Line::Summary(..) | Line::Missed(_) => None,
    }
}

#[tokio::test]
async fn a_line_for_each_block_with_transactions() {
    let mut log = Log::start(100);
    log.accept(1);
    let block = |line| match line {
        Line::Block(chain, block) => (chain, block),
        line => panic!("{line:?}"),
    };
    let (chain, first) = block(log.line().await);
    assert_eq!((chain.as_str(), first.height, first.since_last_ms), ("C", 1, None));
    assert_eq!((first.execute_ms, first.commit_ms), (2, 3));
    assert_eq!(first.figures.hash, "hash of 1");
    log.clock.advance(40);
    // Neither an empty block nor a block of another chain has a line.
    log.accept(0);
    assert!(log.events.send(event(ChainId::ZERO, 9, START_MS)).is_ok());
    log.clock.advance(10);
    log.accept(2);
    let (_, second) = block(log.line().await);
    assert_eq!((second.height, second.since_last_ms), (2, Some(10)));
    assert_eq!(log.rest().await, []);
}

#[tokio::test]
async fn a_summary_a_second_under_load() {
    let mut log = Log::start(100);
    for height in 1..=20 {
        log.accept(height);
    }
    for want in 1..=u64::from(MAX_LINES) {
        assert_eq!(height(&log.line().await), Some(want));
    }
    // The load ends: the clock alone brings the summary.
    while log.clock.sleepers() == 0 {
        tokio::task::yield_now().await;
    }
    log.clock.advance(WINDOW_MS);
    let want = Summary {
        blocks: 20 - u64::from(MAX_LINES),
        first: u64::from(MAX_LINES) + 1,
        last: 20,
        txs: 5 * (20 - u64::from(MAX_LINES)),
        gas: Some(100 * (20 - u64::from(MAX_LINES))),
        max_execute_ms: 2,
        max_commit_ms: 3,
    };
    assert_eq!(log.line().await, Line::Summary("C".to_owned(), want));
    log.accept(21);
    assert_eq!(height(&log.line().await), Some(21));
    assert_eq!(log.rest().await, []);
}

#[tokio::test]
async fn the_stop_waits_for_no_summary() {
    let log = Log::start(100);
    for height in 1..=6 {
        log.accept(height);
    }
    let lines = log.rest().await;
    assert_eq!(lines.len(), 5);
    match &lines[4] {
        Line::Summary(_, summary) => assert_eq!((summary.blocks, summary.last), (2, 6)),
        line => panic!("{line:?}"),
    }
}

#[tokio::test]
async fn blocks_that_were_missed_are_counted() {
    let log = Log::start(2);
    for height in 1..=6 {
        log.accept(height);
    }
    let lines = log.rest().await;
    assert_eq!(lines[0], Line::Missed(4));
    assert_eq!(lines.iter().filter_map(height).collect::<Vec<_>>(), [5, 6]);
}
