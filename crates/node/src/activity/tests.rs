use std::io;
use std::sync::mpsc;

use esker_chain::{BlockReport, PrintedTexts, Rewound, TxNames, TxReport};
use esker_evm_execution::console::ConsoleCalls;
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
    console.log:
      a\n    Transaction: 0x03
      <b>
      (7 further texts are not shown)

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
    // A contract may return any text.
    let failure = Some("reverted with: \u{1b}[2Jno\nluck \u{202e}é".to_owned());
    let texts = vec!["a\n    Transaction: 0x03".to_owned(), "<b>".to_owned()];
    let printed = PrintedTexts { texts, left_out: 7 };
    let failed = TxReport { failure, contract: Some("0xc1".to_owned()), printed, ..tx("0x02") };
    let import = TxReport { kind: Some("import"), ..tx("2ab") };
    let report = BlockReport { hash: "0xbb".to_owned(), txs: vec![created, failed, import] };
    assert_eq!(text::block("C", &executed(7), &report, 3), BLOCK);
    let cut = text::block("C", &executed(7), &report, 1);
    assert!(cut.contains("\n    Further transactions: 2\n\n    Block Number: 7\n"), "{cut}");
}

#[test]
fn names_of_what_transactions_did() {
    let events = PrintedTexts { texts: vec!["Token.E()".to_owned()], left_out: 2 };
    let (contract, call) = (Some("Token".to_owned()), Some("Token.f(a: 1)".to_owned()));
    let names = TxNames { contract, call, events };
    let (id, gas_used) = ("0x01".to_owned(), Some(5));
    let calls = vec!["  [5] Token::f(1)".to_owned(), "    └─ ← [Stop]".to_owned()];
    let named = TxReport { id, gas_used, names, calls, ..TxReport::default() };
    let report = BlockReport { hash: "0xbb".to_owned(), txs: vec![named] };
    let text = text::block("C", &executed(7), &report, 3);
    let lines = "\nTraces:\n  [5] Token::f(1)\n    └─ ← [Stop]\n\n    Transaction: 0x01\n    Contract: Token\n    Call: Token.f(a: 1)\n    Gas used: 5\n    \
        Event: Token.E()\n    Further events: 2\n\n    Block Number: 7\n";
    assert!(text.starts_with(lines), "{text}");
}

/// The selector of `log(uint256)` and a number.
fn log_of(number: u8) -> Vec<u8> {
    [vec![0xf8, 0x2c, 0x50, 0xf1], vec![0; 31], vec![number]].concat()
}

#[test]
fn calls_that_print() {
    let mut console = ConsoleCalls::default();
    for input in [log_of(7), vec![1, 2]] {
        console.push(input.len(), || input.into());
    }
    let call = PrintedCall { method: "evm_call", console, calls: Vec::new() };
    let text =
        "\nevm_call\n    console.log:\n      7\n      0x0102 (2 bytes, shorter than a selector)\n";
    assert_eq!(printed::call(&call), text);
    let mut console = ConsoleCalls::default();
    console.push(1 << 20, Default::default);
    let call = PrintedCall { method: "evm_call", console, calls: Vec::new() };
    let text = "\nevm_call\n    console.log:\n      (1 further texts are not shown)\n";
    assert_eq!(printed::call(&call), text);
    let calls = vec!["  [5] Token::f(1)".to_owned(), "    └─ ← [Stop]".to_owned()];
    let call = PrintedCall { method: "evm_call", console: ConsoleCalls::default(), calls };
    let text = "\nevm_call\nTraces:\n  [5] Token::f(1)\n    └─ ← [Stop]\n\n";
    assert_eq!(printed::call(&call), text);
    assert_eq!(printed::further_calls(3), "\nfurther calls that print: 3\n");
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

/// A terminal that reads on request.
struct Terminal {
    /// Sends the requests to read.
    asked: mpsc::Sender<()>,
    may_read: mpsc::Receiver<()>,
    read: mpsc::Sender<String>,
}

impl Write for Terminal {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let closed = |_| io::Error::from(io::ErrorKind::BrokenPipe);
        self.asked.send(()).unwrap_or(());
        self.may_read.recv().map_err(|_| io::ErrorKind::BrokenPipe)?;
        self.read.send(String::from_utf8_lossy(bytes).into_owned()).map_err(closed)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The test's side of a [`Terminal`].
struct Reader {
    asked: mpsc::Receiver<()>,
    allow: mpsc::Sender<()>,
    seen: mpsc::Receiver<String>,
}

const SOON: Duration = Duration::from_secs(20);

impl Reader {
    fn new() -> (Terminal, Self) {
        let (asked, is_asked) = mpsc::channel();
        let (allow, may_read) = mpsc::channel();
        let (read, seen) = mpsc::channel();
        (Terminal { asked, may_read, read }, Self { asked: is_asked, allow, seen })
    }

    /// Lets it read one text.
    fn next(&self) -> String {
        self.allow.send(()).unwrap();
        self.seen.recv_timeout(SOON).expect("a text is written")
    }
}

#[tokio::test]
async fn a_terminal_that_does_not_read_loses_texts_and_learns_how_many() {
    const SENT: usize = 1000;
    let (terminal, reader) = Reader::new();
    let mut output = Output::spawn(terminal);
    output.write("0\n".to_owned()).unwrap();
    reader.asked.recv_timeout(SOON).expect("the first is being written");
    for number in 1..SENT {
        output.write(format!("{number}\n")).unwrap();
    }
    // One text is being written, and the others wait.
    for number in 0..=output::MAX_WAITING {
        assert_eq!(reader.next(), format!("{number}\n"));
    }
    output.write("last\n".to_owned()).unwrap();
    let dropped = SENT - 1 - output::MAX_WAITING;
    let text = format!("\n    Not shown: {dropped} texts that the terminal did not take\nlast\n");
    assert_eq!(reader.next(), text);
    // The end does not wait for it.
    output.write("unread\n".to_owned()).unwrap();
    output.finish(Duration::from_millis(10)).await;
}

#[tokio::test]
async fn the_bytes_that_wait_are_bounded() {
    let (terminal, reader) = Reader::new();
    let mut output = Output::spawn(terminal);
    // Alone, a text may be of any length.
    let large = "x".repeat(output::MAX_WAITING_BYTES + 1);
    output.write(large.clone()).unwrap();
    output.write("dropped\n".to_owned()).unwrap();
    assert!(reader.next() == large);
    let begun = std::time::Instant::now();
    // The thread counts the text as written a moment after the terminal has it.
    while output.has_waiting() {
        assert!(begun.elapsed() < SOON, "the text is written");
        std::thread::yield_now();
    }
    output.write("last\n".to_owned()).unwrap();
    assert_eq!(reader.next(), "\n    Not shown: 1 texts that the terminal did not take\nlast\n");
}

#[tokio::test]
async fn a_closed_terminal_ends_the_texts() {
    let (terminal, reader) = Reader::new();
    let mut output = Output::spawn(terminal);
    drop(reader);
    let begun = std::time::Instant::now();
    while output.write("text\n".to_owned()).is_ok() {
        assert!(begun.elapsed() < SOON, "writing did not end");
        std::thread::yield_now();
    }
}
