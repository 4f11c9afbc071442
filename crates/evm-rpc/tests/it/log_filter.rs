//! Criteria of logs: what they take, what is said of the rest, and which logs they mean.

use alloy_primitives::{Address, B256, Log, LogData};
use esker_evm_rpc::wire::{BlockNumber, LogBlocks, LogFilter};

use crate::decoders::{decode, mismatch, refused};

const A: Address = Address::repeat_byte(0xa1);
const B: Address = Address::repeat_byte(0xb2);

fn topic(number: u8) -> B256 {
    B256::with_last_byte(number)
}

/// Criteria of this text, in which letters stand for addresses and digits behind `t` for topics.
fn filter(text: &str) -> Result<LogFilter, String> {
    let mut text = text.replace("$a", &format!("\"{A:#x}\"")).replace("$b", &format!("\"{B:#x}\""));
    for number in 0..10 {
        text = text.replace(&format!("$t{number}"), &format!("\"{}\"", topic(number)));
    }
    decode(&text)
}

fn log(address: Address, topics: &[u8]) -> Log {
    let topics = topics.iter().copied().map(topic).collect();
    Log { address, data: LogData::new_unchecked(topics, Vec::new().into()) }
}

#[test]
fn blocks() {
    let range = |from, to| LogBlocks::Range { from, to };
    let hash = B256::repeat_byte(7);
    for (text, blocks) in [
        ("null", range(BlockNumber::Latest, BlockNumber::Latest)),
        ("{}", range(BlockNumber::Latest, BlockNumber::Latest)),
        (
            "{\"fromBlock\":null,\"toBlock\":\"0x5\"}",
            range(BlockNumber::Latest, BlockNumber::Number(5)),
        ),
        (
            "{\"FROMBLOCK\":\"earliest\",\"toBlock\":\"pending\"}",
            range(BlockNumber::Earliest, BlockNumber::Pending),
        ),
        (&format!("{{\"blockHash\":\"{hash}\"}}"), LogBlocks::Hash(hash)),
        ("{\"blockHash\":null}", range(BlockNumber::Latest, BlockNumber::Latest)),
    ] {
        assert_eq!(filter(text).unwrap().blocks, blocks, "{text}");
    }
    let both = format!("{{\"toBlock\":\"0x1\",\"blockHash\":\"{hash}\",\"address\":5}}");
    refused::<LogFilter>(&[
        (&both, "cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other"),
        ("5", &mismatch("number", "filters.input")),
        ("\"x\"", &mismatch("string", "filters.input")),
        ("[]", &mismatch("array", "filters.input")),
        ("{\"fromBlock\":1}", "hex string without 0x prefix"),
        ("{\"fromBlock\":\"0x\"}", "hex string \"0x\""),
        ("{\"toBlock\":\"0x8000000000000000\"}", "block number larger than int64"),
        ("{\"blockHash\":\"0x12\"}", "hex string has length 2, want 64 for common.Hash"),
    ]);
}

#[test]
fn what_is_no_criterion() {
    let length = "hex has invalid length 1 after decoding; expected 32 for topic";
    refused::<LogFilter>(&[
        ("{\"address\":5}", "invalid addresses in query"),
        ("{\"address\":{}}", "invalid addresses in query"),
        ("{\"address\":\"\"}", "invalid address: empty hex string"),
        ("{\"address\":\"12\"}", "invalid address: hex string without 0x prefix"),
        ("{\"address\":\"0x123\"}", "invalid address: hex string of odd length"),
        ("{\"address\":\"0x12z\"}", "invalid address: invalid hex string"),
        (
            "{\"address\":\"0x\"}",
            "invalid address: hex has invalid length 0 after decoding; expected 20 for address",
        ),
        ("{\"address\":[null]}", "non-string address at index 0"),
        ("{\"address\":[\"x\"]}", "invalid address at index 0: hex string without 0x prefix"),
        (
            "{\"address\":[\"0x12\"]}",
            "invalid address at index 0: hex has invalid length 1 after decoding; expected 20 for address",
        ),
        ("{\"topics\":[5]}", "invalid topic(s)"),
        (
            "{\"topics\":[1E400]}",
            "json: cannot unmarshal number 1E400 into Go struct field input.topics of type float64",
        ),
        (
            "{\"topics\":[[5, 1E400]]}",
            "json: cannot unmarshal number 1E400 into Go struct field input.topics of type float64",
        ),
        (
            "{\"address\":-1E400}",
            "json: cannot unmarshal number -1E400 into Go struct field input.address of type float64",
        ),
        ("{\"topics\":[{}]}", "invalid topic(s)"),
        ("{\"topics\":[[5]]}", "invalid topic(s)"),
        ("{\"topics\":[[[]]]}", "invalid topic(s)"),
        ("{\"topics\":[\"0x12\"]}", length),
        ("{\"topics\":[[\"0x12\",null]]}", length),
        ("{\"topics\":[\"\"]}", "empty hex string"),
        (
            "{\"topics\":\"x\"}",
            "json: cannot unmarshal string into Go struct field input.topics of type []interface {}",
        ),
        // A wrong kind is reported before faults in the values of other members, and addresses before topics.
        (
            "{\"address\":5,\"topics\":{}}",
            "json: cannot unmarshal object into Go struct field input.topics of type []interface {}",
        ),
        ("{\"topics\":[5],\"address\":5}", "invalid addresses in query"),
    ]);
}

#[test]
fn which_logs_are_meant() {
    let logs =
        [log(A, &[]), log(A, &[1]), log(B, &[1, 2]), log(A, &[1, 3, 4]), log(B, &[5, 2, 4, 6])];
    for (text, meant) in [
        ("{}", &[0_usize, 1, 2, 3, 4] as &[_]),
        ("{\"address\":null,\"topics\":null}", &[0, 1, 2, 3, 4]),
        ("{\"address\":[],\"topics\":[]}", &[0, 1, 2, 3, 4]),
        ("{\"address\":$a}", &[0, 1, 3]),
        ("{\"address\":[$b]}", &[2, 4]),
        ("{\"address\":[$b,$a,$b]}", &[0, 1, 2, 3, 4]),
        ("{\"topics\":[$t1]}", &[1, 2, 3]),
        ("{\"topics\":[null]}", &[1, 2, 3, 4]),
        ("{\"topics\":[[]]}", &[1, 2, 3, 4]),
        ("{\"topics\":[null,null,null,null]}", &[4]),
        ("{\"topics\":[[$t5,$t1],[$t2]]}", &[2, 4]),
        ("{\"topics\":[null,null,$t4]}", &[3, 4]),
        ("{\"topics\":[[$t9,null]]}", &[1, 2, 3, 4]),
        // Elements after a null are not read.
        ("{\"topics\":[[null,5]]}", &[1, 2, 3, 4]),
        ("{\"address\":$a,\"topics\":[$t1,[$t2,$t3]]}", &[3]),
        ("{\"topics\":[null,null,null,null,null]}", &[]),
        ("{\"topics\":[$t2]}", &[]),
    ] {
        let filter = filter(text).unwrap();
        let found: Vec<_> = (0..logs.len()).filter(|at| filter.matches(&logs[*at])).collect();
        assert_eq!(found, meant, "{text}");
    }
}

#[test]
fn only_four_topics_can_be_asked_for() {
    assert!(filter("{\"topics\":[null,null,null,null]}").unwrap().logs.check_topics().is_ok());
    let many = filter(&format!("{{\"topics\":[{}null]}}", "null,".repeat(100_000))).unwrap();
    assert_eq!(many.logs.check_topics().unwrap_err().message, "exceed max topics");
    assert_eq!(many.logs.topics().len(), 4);
}

#[test]
fn what_can_be_watched() {
    let both = |from: &str, to: &str| {
        filter(&format!("{{\"fromBlock\":\"{from}\",\"toBlock\":\"{to}\"}}")).unwrap()
    };
    let names = ["0x4", "0x5", "latest", "pending", "accepted", "safe", "finalized"];
    let taken = |from: &str, to: &str| {
        matches!(
            (from, to),
            ("0x4", "0x4" | "0x5" | "latest" | "pending")
                | ("0x5", "0x5" | "latest" | "pending")
                | ("latest", "latest" | "pending")
                | ("pending", "pending")
        )
    };
    for from in names {
        for to in names {
            let checked = both(from, to).check_watch();
            assert_eq!(checked.is_ok(), taken(from, to), "{from} to {to}");
            if let Err(error) = checked {
                assert_eq!(error.message, "invalid from and to block combination: from > to");
            }
        }
    }
    let heights = |filter: &LogFilter| (3..8).filter(|at| filter.watches(*at)).collect::<Vec<_>>();
    assert_eq!(heights(&both("0x5", "0x6")), [5, 6]);
    assert_eq!(heights(&both("0x5", "latest")), [5, 6, 7]);
    assert_eq!(heights(&both("pending", "pending")), [3, 4, 5, 6, 7]);
    let hash = filter(&format!("{{\"blockHash\":\"{}\"}}", B256::ZERO)).unwrap();
    assert!(hash.check_watch().is_ok());
    assert_eq!(heights(&hash), [3, 4, 5, 6, 7]);
}
