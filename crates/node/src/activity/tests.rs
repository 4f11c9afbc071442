use std::io;
use std::sync::mpsc;

use esker_chain::{BlockReport, Rewound, TxReport};
use esker_primitives::BlockId;

use super::*;

fn executed(height: u64) -> ExecutedBlock {
    ExecutedBlock {
        id: BlockId::ZERO,
        parent_id: BlockId::ZERO,
        height,
        timestamp_ms: 1_607_144_400_000,
        bytes: Vec::new().into(),
        writes: Arc::default(),
        payload: Arc::new(()),
    }
}

const BLOCK: &str = r#"
    Transaction: 0x01
    Contract created: 0xc0
    Gas used: 53000

    Transaction: 0x02
    Error: reverted with: \u{1b}[2Jno\nluck \u{202e}é

    Transaction: 2ab
    Kind: import on C

    Block Number: 7
    Block Hash: 0xbb
    Block Time: "Sat, 05 Dec 2020 05:00:00 +0000"
    Chain: C
"#;

#[test]
fn blocks_and_their_transactions() {
    let tx = |id: &str| TxReport { id: id.to_owned(), ..TxReport::default() };
    let created =
        TxReport { contract: Some("0xc0".to_owned()), gas_used: Some(53_000), ..tx("0x01") };
    // A contract may say anything.
    let failure = Some("reverted with: \u{1b}[2Jno\nluck \u{202e}é".to_owned());
    let failed = TxReport { failure, contract: Some("0xc1".to_owned()), ..tx("0x02") };
    let import = TxReport { kind: Some("import"), ..tx("2ab") };
    let report = BlockReport { hash: "0xbb".to_owned(), txs: vec![created, failed, import] };
    assert_eq!(text::block("C", &executed(7), &report, 3), BLOCK);
    let cut = text::block("C", &executed(7), &report, 1);
    assert!(cut.contains("\n    Further transactions: 2\n\n    Block Number: 7\n"), "{cut}");
}

#[test]
fn other_texts() {
    let call = FailedCall { method: "evm_call".to_owned(), error: "x".repeat(1000) };
    let error = format!("{}...", "x".repeat(500));
    assert_eq!(text::failed_call(&call), format!("\nevm_call refused: {error}\n"));
    assert_eq!(text::further_calls(3), "\nfurther refused calls: 3\n");
    let gas = BlockSummary { blocks: 2, first: 3, last: 4, txs: 5, gas: Some(6) };
    let text = "\n    Further blocks on C: 2 (3 to 4), 5 transactions, 6 gas\n";
    assert_eq!(text::further_blocks("C", &gas), text);
    let text = "\n    Further blocks on X: 2 (3 to 4), 5 transactions\n";
    assert_eq!(text::further_blocks("X", &BlockSummary { gas: None, ..gas }), text);
    assert_eq!(text::missed(2), "\n    Not shown: the blocks of 2 bundles\n");
    let rewound = Rewound { from: 9, to: 4, bundle_id: esker_primitives::Id::ZERO };
    assert_eq!(text::rewound(&rewound), "\n    Rewound: 5 bundles of blocks\n");
}

/// A terminal that reads when it is told to, with what it has read.
struct Terminal {
    may_read: mpsc::Receiver<()>,
    read: mpsc::Sender<String>,
}

impl Write for Terminal {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.may_read.recv().map_err(|_| io::ErrorKind::BrokenPipe)?;
        let text = String::from_utf8_lossy(bytes).into_owned();
        self.read.send(text).map_err(|_| io::ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A terminal, what lets it read, and what it has read.
fn terminal() -> (Terminal, mpsc::Sender<()>, mpsc::Receiver<String>) {
    let (allow, may_read) = mpsc::channel();
    let (read, seen) = mpsc::channel();
    (Terminal { may_read, read }, allow, seen)
}

const SOON: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_terminal_that_does_not_read_loses_texts_and_learns_how_many() {
    let (out, allow, seen) = terminal();
    let mut output = Output::spawn(out);
    // One is being written, and so many wait; whether the thread has taken the first is chance.
    const SENT: usize = 1000;
    for number in 0..SENT {
        output.write(format!("{number}\n")).unwrap();
    }
    for _ in 0..SENT {
        allow.send(()).unwrap();
    }
    let mut shown = 0;
    while let Ok(text) = seen.recv_timeout(Duration::from_millis(500)) {
        assert_eq!(text, format!("{shown}\n"));
        shown += 1;
    }
    assert!((256..=257).contains(&shown), "{shown}");
    output.write("last\n".to_owned()).unwrap();
    let text =
        format!("\n    Not shown: {} texts that the terminal did not take\nlast\n", SENT - shown);
    assert_eq!(seen.recv_timeout(SOON).unwrap(), text);
    // It is not waited for.
    output.write("unread\n".to_owned()).unwrap();
    output.finish(Duration::from_millis(10)).await;
}

#[tokio::test]
async fn a_closed_terminal_ends_the_texts() {
    let (out, allow, seen) = terminal();
    let mut output = Output::spawn(out);
    drop((allow, seen));
    output.write("first\n".to_owned()).unwrap_or(());
    let begun = std::time::Instant::now();
    while output.write("more\n".to_owned()).is_ok() {
        assert!(begun.elapsed() < SOON, "writing did not end");
        std::thread::yield_now();
    }
}
