//! The lines against those that `npx hardhat node` (Hardhat 2.29.1 and 3.18.0) printed for the same requests.

use esker_chain::{BlockReport, PrintedTexts, RunFailure, RunReport, RunTarget, TxReport};
use esker_rpc::work::EndedCall;

use super::blocks::{FullBlock, MadeBlock, WaitingBlocks};
use super::lines::{CallEffect, CallLines};
use super::*;

const FROM: &str = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const TO: &str = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";
const COUNTER: &str = "0x0165878a594ca255338adfa4d48449f69242eb8f";
const PLAIN: Terminal = Terminal { can_replace: false, has_colours: false };
const SCREEN: Terminal = Terminal { can_replace: true, has_colours: true };

fn ended(called: &str, error: Option<&str>) -> EndedCall {
    let name = called.split_once('_').map_or("", |(_, name)| name);
    let method = Some(("evm", &*String::leak(name.to_owned())));
    EndedCall { called: called.to_owned(), method, error: error.map(str::to_owned), note: None }
}

fn show(lines: &mut CallLines, called: &str, effect: &CallEffect<'_>) -> String {
    lines.call(&ended(called, None), effect, true)
}

fn repeated(lines: &mut CallLines, called: &str, times: usize) -> String {
    (0..times).map(|_| show(lines, called, &CallEffect::Nothing)).collect()
}

fn message(to: Option<&str>, value: &str, target: RunTarget) -> RunReport {
    let (from, to) = (FROM.to_owned(), to.map(str::to_owned));
    RunReport { from, to, value: value.to_owned(), target, ..RunReport::default() }
}

fn contract(name: Option<&str>, function: Option<&str>) -> RunTarget {
    let own = |text: Option<&str>| text.map(str::to_owned);
    RunTarget::Contract { name: own(name), function: own(function) }
}

fn counter(function: &str) -> RunReport {
    message(Some(COUNTER), "0", contract(Some("Counter"), Some(function)))
}

fn printed(texts: &[&str]) -> PrintedTexts {
    PrintedTexts { texts: texts.iter().map(|text| (*text).to_owned()).collect(), left_out: 0 }
}

fn reverted(text: &str) -> Option<RunFailure> {
    Some(RunFailure { is_revert: true, text: text.to_owned() })
}

fn tx(id: &str, run: RunReport, gas: (u64, u64)) -> TxReport {
    let failure = run.failure.as_ref().map(|failure| failure.text.clone());
    let printed = run.printed.clone();
    let (gas_used, gas_limit) = (Some(gas.0), Some(gas.1));
    let (id, run) = (id.to_owned(), Some(run));
    TxReport { id, gas_used, gas_limit, failure, printed, run, ..TxReport::default() }
}

fn block(number: u64, hash: &str, base_fee: u64, txs: Vec<TxReport>) -> FullBlock {
    let report = Arc::new(BlockReport { hash: hash.to_owned(), txs });
    FullBlock { number, base_fee: Some(base_fee), report }
}

fn sent(block: &FullBlock, index: usize) -> CallEffect<'static> {
    CallEffect::Sent { block: block.clone(), index, is_shown: false }
}

fn empty(first: u64, last: u64, fee: u64) -> MadeBlock {
    MadeBlock::Empty { first, last, base_fee: Some(fee) }
}

#[test]
fn repeats_are_counted() {
    let mut lines = CallLines::new(PLAIN);
    let text = repeated(&mut lines, "eth_blockNumber", 3) + &repeated(&mut lines, "eth_chainId", 1);
    assert_eq!(text, "eth_blockNumber\neth_blockNumber (2)\neth_blockNumber (3)\neth_chainId\n");
    let mut lines = CallLines::new(SCREEN);
    let text = repeated(&mut lines, "eth_blockNumber", 2);
    let expected = "\u{1b}[32meth_blockNumber\u{1b}[0m\n\u{1b}[?25l\u{1b}[F\u{1b}[32meth_blockNumber (2)\u{1b}[0m\u{1b}[K\n\u{1b}[?25h";
    assert_eq!(text, expected);
    // The line above is another one if a text was dropped.
    let call = ended("eth_blockNumber", None);
    let text = lines.call(&call, &CallEffect::Nothing, false);
    assert_eq!(text, "\u{1b}[32meth_blockNumber (3)\u{1b}[0m\n");
}

#[test]
fn sent_transactions() {
    let mut lines = CallLines::new(PLAIN);
    let transfer = message(Some(TO), "1", RunTarget::Account);
    let one = block(1, "0xd0f7", 0, vec![tx("0x3a51", transfer, (21_000, 16_777_216))]);
    assert_eq!(
        show(&mut lines, "eth_sendTransaction", &sent(&one, 0)),
        "eth_sendTransaction
  Transaction: 0x3a51
  From:        0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266
  To:          0x70997970c51812dc3a010c7d01b50e0d17dc79c8
  Value:       1 wei
  Gas used:    21000 of 16777216
  Block #1:    0xd0f7

"
    );
    let target =
        RunTarget::Creation { name: Some("Counter".to_owned()), address: COUNTER.to_owned() };
    let creation = tx("0x1853", message(None, "0", target), (799_092, 16_777_216));
    let two = block(7, "0x94a2", 0, vec![creation]);
    assert_eq!(
        show(&mut lines, "eth_sendTransaction", &sent(&two, 0)),
        "eth_sendTransaction
  Contract deployment: Counter
  Contract address:    0x0165878a594ca255338adfa4d48449f69242eb8f
  Transaction:         0x1853
  From:                0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266
  Value:               0 ETH
  Gas used:            799092 of 16777216
  Block #7:            0x94a2

"
    );
    let run = RunReport {
        failure: reverted("reverted with reason string 'too small'"),
        printed: printed(&["before it"]),
        ..counter("printAndFail")
    };
    let failed = block(13, "0xae0b", 0, vec![tx("0xd9e9", run, (27_079, 100_000))]);
    let expected = "eth_sendTransaction
  Contract call:       Counter#printAndFail
  Transaction:         0xd9e9
  From:                0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266
  To:                  0x0165878a594ca255338adfa4d48449f69242eb8f
  Value:               0 ETH
  Gas used:            27079 of 100000
  Block #13:           0xae0b

  console.log:
    before it

  Error: reverted with reason string 'too small'

";
    assert_eq!(show(&mut lines, "eth_sendTransaction", &sent(&failed, 0)), expected);
    // The client may get an error for it.
    let call = ended("eth_sendTransaction", Some("VM Exception while processing"));
    assert_eq!(lines.call(&call, &sent(&failed, 0), true), expected);
    // It waits for a block.
    let waiting = repeated(&mut lines, "eth_sendTransaction", 2);
    assert_eq!(waiting, "eth_sendTransaction\neth_sendTransaction (2)\n");
}

#[test]
fn calls_and_estimates() {
    let mut lines = CallLines::new(PLAIN);
    // Wide as after the first deployment.
    let deployment = RunTarget::Creation { name: None, address: COUNTER.to_owned() };
    let text = show(&mut lines, "eth_call", &CallEffect::Run(&message(None, "0", deployment)));
    assert_eq!(
        text,
        "eth_call
  Contract deployment: <UnrecognizedContract>
  Contract address:    0x0165878a594ca255338adfa4d48449f69242eb8f
  From:                0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266

"
    );
    let parties = "  From:                0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266
  To:                  0x0165878a594ca255338adfa4d48449f69242eb8f\n";
    let with_value = RunReport {
        value: "5".to_owned(),
        printed: printed(&["count is 3", "second true"]),
        ..counter("inc")
    };
    let unknown = message(Some(COUNTER), "0", contract(None, Some("f")));
    let no_function = RunReport {
        failure: reverted("Transaction reverted without a reason"),
        ..message(Some(COUNTER), "0", contract(Some("Counter"), None))
    };
    for (run, before, after) in [
        (counter("get"), "  Contract call:       Counter#get\n", "\n"),
        (unknown, "  Contract call:       <UnrecognizedContract>\n", "\n"),
        (
            no_function,
            "  Contract call:       Counter#<unrecognized-selector>\n",
            "\n  Error: Transaction reverted without a reason\n\n",
        ),
        (
            with_value,
            "  Contract call:       Counter#inc\n",
            "  Value:               5 wei\n\n  console.log:\n    count is 3\n    second true\n\n",
        ),
        (
            message(Some(COUNTER), "0", RunTarget::Account),
            "  WARNING: Calling an account which is not a contract\n",
            "\n",
        ),
        (
            message(Some(COUNTER), "0", RunTarget::Precompile(4)),
            "  Precompile call:     <PrecompileContract 4>\n",
            "\n",
        ),
    ] {
        let expected = format!("eth_call\n{before}{parties}{after}");
        assert_eq!(show(&mut lines, "eth_call", &CallEffect::Run(&run)), expected);
    }
    let invalid = "VM Exception while processing transaction: invalid opcode";
    let failure = Some(RunFailure { is_revert: false, text: invalid.to_owned() });
    let run = RunReport { failure, ..counter("failInvalid") };
    assert_eq!(
        lines.call(&ended("eth_estimateGas", Some(invalid)), &CallEffect::Run(&run), true),
        format!(
            "eth_estimateGas\n  Contract call:       Counter#failInvalid\n{parties}  Value:               0 ETH\n\n  \
             TransactionExecutionError: {invalid}\n\n"
        )
    );
}

#[test]
fn errors() {
    let mut lines = CallLines::new(PLAIN);
    let mut text = |called: &str, error: &str| {
        lines.call(&ended(called, Some(error)), &CallEffect::Nothing, true)
    };
    let expected = "eth_sendTransaction\n\n  Unknown account 0x0123\n\n";
    assert_eq!(text("eth_sendTransaction", "Unknown account 0x0123"), expected);
    // A contract or a client may say anything.
    let hostile = text("eth_call", "\u{1b}[2Jno\n  eth_accounts");
    assert_eq!(hostile, "eth_call\n\n  \\u{1b}[2Jno\\n  eth_accounts\n\n");
    let mut lines = CallLines::new(SCREEN);
    let unknown = EndedCall { method: None, ..ended("eth_\u{1b}[31mred", Some("no")) };
    let text = lines.call(&unknown, &CallEffect::Nothing, true);
    assert_eq!(text, "\u{1b}[31meth_\\u{1b}[31mred - Method not supported\u{1b}[0m\n");
    let text = lines.call(&ended("eth_call", Some("no")), &CallEffect::Nothing, true);
    assert_eq!(text, "\u{1b}[31meth_call\u{1b}[0m\n\n  no\n\n");
    let refused = show(&mut lines, "eth_call", &CallEffect::Nothing);
    assert_eq!(refused, "\u{1b}[32meth_call\u{1b}[0m\n");
}

#[test]
fn hostile_texts_of_code_stay_on_their_line() {
    let mut lines = CallLines::new(PLAIN);
    let run = RunReport {
        printed: printed(&["a\n  Transaction: 0x\u{202e}", "\u{1b}]0;title\u{7}"]),
        failure: reverted("\r\u{1b}[Aeth_accounts"),
        ..message(Some(COUNTER), "0", contract(Some("A\u{1b}[2J"), Some("f\nb")))
    };
    let text = show(&mut lines, "eth_call", &CallEffect::Run(&run));
    assert_eq!(text.lines().count(), 11, "{text}");
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text}");
    assert!(text.contains("    a\\n  Transaction: 0x\\u{202e}\n"), "{text}");
    let long = RunReport { printed: printed(&["x".repeat(100_000).as_str()]), ..counter("f") };
    assert!(show(&mut lines, "eth_call", &CallEffect::Run(&long)).len() < 5_000);
}

/// Two transactions, of which the second calls a contract.
fn two_txs() -> FullBlock {
    let call = RunReport { printed: printed(&["count is 4", "second true"]), ..counter("inc") };
    let transfer = message(Some(TO), "1", RunTarget::Account);
    let txs = vec![tx("0x15cb", transfer, (21_000, 30_000)), tx("0xe667", call, (31_122, 100_000))];
    block(1034, "0x5e95", 7_207_023, txs)
}

#[test]
fn blocks_of_a_request() {
    let mut lines = CallLines::new(PLAIN);
    let made = |blocks| CallEffect::Made(blocks);
    let text = show(&mut lines, "evm_mine", &made(vec![empty(24, 24, 40_893_192)]));
    assert_eq!(text, "evm_mine\n  Mined empty block #24 with base fee 40893192\n\n");
    let text = show(&mut lines, "hardhat_mine", &made(vec![empty(28, 32, 1)]));
    assert_eq!(text, "hardhat_mine\n  Mined empty block range #28 to #32\n\n");
    let blocks = vec![MadeBlock::Full(two_txs()), empty(1036, 1037, 1)];
    assert_eq!(
        show(&mut lines, "hardhat_mine", &made(blocks)),
        "hardhat_mine
  Mined block #1034
    Block: 0x5e95
      Base fee: 7207023
      Transaction:     0x15cb
        From:          0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266
        To:            0x70997970c51812dc3a010c7d01b50e0d17dc79c8
        Value:         1 wei
        Gas used:      21000 of 30000

      Transaction:     0xe667
        Contract call: Counter#inc
        From:          0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266
        To:            0x0165878a594ca255338adfa4d48449f69242eb8f
        Value:         0 ETH
        Gas used:      31122 of 100000

        console.log:
          count is 4
          second true

  Mined empty block range #1036 to #1037

"
    );
}

#[test]
fn other_transactions_of_the_block() {
    let mut lines = CallLines::new(SCREEN);
    let transfer = |wei: &str| message(Some(TO), wei, RunTarget::Account);
    let txs = vec![
        tx("0x42ad", transfer("2"), (21_000, 16_777_216)),
        tx("0x69b1", transfer("4"), (21_000, 16_777_216)),
    ];
    let shared = block(1038, "0x670a", 4_226_097, txs);
    let text = show(&mut lines, "eth_sendTransaction", &sent(&shared, 1));
    let expected = "\u{1b}[32meth_sendTransaction\u{1b}[0m
  There were other pending transactions mined in the same block:

  Block #1038: 0x670a
    Base fee: 4226097
    Transaction: 0x42ad
      From:      0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266
      To:        0x70997970c51812dc3a010c7d01b50e0d17dc79c8
      Value:     2 wei
      Gas used:  21000 of 16777216

    Transaction: \u{1b}[1m0x69b1\u{1b}[0m
      From:      0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266
      To:        0x70997970c51812dc3a010c7d01b50e0d17dc79c8
      Value:     4 wei
      Gas used:  21000 of 16777216

  Currently sent transaction:

  Transaction:   0x69b1
  From:          0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266
  To:            0x70997970c51812dc3a010c7d01b50e0d17dc79c8
  Value:         4 wei
  Gas used:      21000 of 16777216
  Block #1038:   0x670a

";
    assert_eq!(text, expected);
    // The block is shown once.
    let shown = CallEffect::Sent { block: shared, index: 0, is_shown: true };
    let text = show(&mut lines, "eth_sendTransaction", &shown);
    assert_eq!(text.lines().count(), 8, "{text}");
}

#[test]
fn blocks_at_regular_times() {
    let mut lines = CallLines::new(PLAIN);
    let mut text = String::new();
    for (number, fee) in [(1039, 3_698_945), (1040, 1), (1041, 1)] {
        text += &lines.blocks(&empty(number, number, fee), true);
    }
    text += &repeated(&mut lines, "eth_blockNumber", 1);
    text += &lines.blocks(&empty(1042, 1042, 2_478_005), true);
    text += &lines.blocks(&MadeBlock::Full(two_txs()), true);
    assert_eq!(
        text,
        "Mined empty block #1039 with base fee 3698945
Mined empty block range #1039 to #1040
Mined empty block range #1039 to #1041
eth_blockNumber
Mined empty block #1042 with base fee 2478005
Mined block #1034
  Block: 0x5e95
    Base fee: 7207023
    Transaction:     0x15cb
      From:          0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266
      To:            0x70997970c51812dc3a010c7d01b50e0d17dc79c8
      Value:         1 wei
      Gas used:      21000 of 30000

    Transaction:     0xe667
      Contract call: Counter#inc
      From:          0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266
      To:            0x0165878a594ca255338adfa4d48449f69242eb8f
      Value:         0 ETH
      Gas used:      31122 of 100000

      console.log:
        count is 4
        second true

"
    );
    let mut lines = CallLines::new(SCREEN);
    lines.blocks(&empty(5, 5, 1), true);
    let text = lines.blocks(&empty(6, 6, 1), true);
    let expected = "\u{1b}[?25l\u{1b}[FMined empty block range #5 to #6\u{1b}[K\n\u{1b}[?25h";
    assert_eq!(text, expected);
}

#[test]
fn a_large_block_is_cut() {
    let mut lines = CallLines::new(PLAIN);
    let transfer = || message(Some(TO), "1", RunTarget::Account);
    let txs = (0..150).map(|id| tx(&format!("0x{id}"), transfer(), (1, 2))).collect();
    let text = lines.blocks(&MadeBlock::Full(block(1, "0xb", 1, txs)), true);
    assert!(text.ends_with("\n    (50 further transactions are not shown)\n\n"), "{text}");
}

#[test]
fn waiting_blocks_are_bounded_and_found() {
    let mut blocks = WaitingBlocks::default();
    for number in 1..=10_000 {
        assert!(blocks.push(empty(number, number, number), number, true).is_none());
    }
    assert!(blocks.has_reached(10_000) && !blocks.has_reached(10_001));
    let taken = blocks.take_through(4_000);
    assert!(matches!(taken[..], [MadeBlock::Empty { first: 1, last: 4_000, .. }]), "{taken:?}");
    let rest = blocks.pop();
    assert!(matches!(rest, Some(MadeBlock::Empty { first: 4_001, last: 10_000, .. })), "{rest:?}");
    let of = |number: u64| {
        let run = message(Some(TO), "1", RunTarget::Account);
        block(number, "0xb", 1, vec![tx(&format!("0x{number}"), run, (1, 2))])
    };
    let dropped: Vec<_> =
        (1..=100).filter_map(|n| blocks.push(MadeBlock::Full(of(n)), n, true)).collect();
    assert_eq!(dropped.len(), 68);
    assert!(
        blocks
            .take_with("0x100")
            .is_some_and(|(block, is_shown)| { (block.number, is_shown) == (100, false) })
    );
    assert!(blocks.take_with("0x100").is_some_and(|(_, is_shown)| is_shown));
    // Those that were shown by themselves, as long as they are kept.
    assert_eq!((blocks.height_of("0x68"), blocks.height_of("0x1")), (Some(68), None));
    assert!(blocks.pop_empty_before(1_000).is_none());
    blocks.rewind();
    assert!(!blocks.has_reached(1));
    // Blocks at regular times are shown although further ones come.
    let mut blocks = WaitingBlocks::default();
    for (wait_anew, since) in [(false, 1), (true, 5)] {
        for ms in 1..=5 {
            blocks.push(empty(ms, ms, 1), ms, wait_anew);
        }
        assert_eq!(blocks.oldest_ms(), Some(since));
        assert!(blocks.pop_empty_before(5).is_none() && blocks.pop_empty_before(6).is_some());
    }
}
