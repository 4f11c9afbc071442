//! Suggested fees and fee history.

use std::convert::Infallible;
use std::sync::Arc;

use alloy_primitives::{Bytes, U256};
use esker_evm::oracle::{
    FeeHistory, FeeOracle, HeaderSource, HistoryError, HistoryLimits, MAX_REWARDS, NewestBlock,
    OracleConfig, PaidFee, PriceOption, PriceOptionsConfig, fee_history, price_options,
};
use esker_evm_execution::rules::{
    CChainRules, FeeOverrides, ForkSchedule, HeaderRules, INITIALLY_ACTIVE,
};
use esker_evm_state::types::{Header, SealedHeader};
use esker_testkit::vectors::of_kind;
use proptest::prelude::*;
use serde_json::Value;

const GWEI: u64 = 1_000_000_000;
const NOW: u64 = INITIALLY_ACTIVE + 1_000_000;

/// A chain of headers; block 2 has three transactions.
struct Headers(Vec<Arc<SealedHeader>>);

impl Headers {
    fn new(headers: Vec<Header>) -> Self {
        let seal = |header: Header| Arc::new(SealedHeader { hash: header.hash(), header });
        Self(headers.into_iter().map(seal).collect())
    }

    /// `count` blocks after genesis, two seconds apart, the last one now.
    fn plain(count: u64) -> Self {
        Self::new((0..=count).map(|number| header(number, NOW - 2 * (count - number))).collect())
    }
}

fn header(number: u64, time: u64) -> Header {
    Header {
        number,
        time,
        gas_limit: 15_000_000,
        gas_used: 21_000 * number.min(3),
        base_fee: Some(U256::from(225 * GWEI - number)),
        block_gas_cost: Some(U256::ZERO),
        ext_data_gas_used: Some(U256::ZERO),
        extra: Bytes::from(vec![0; 80]),
        ..Header::default()
    }
}

impl HeaderSource for Headers {
    type Error = Infallible;

    fn head(&self) -> Arc<SealedHeader> {
        Arc::clone(self.0.last().unwrap())
    }

    fn header(&self, height: u64) -> Result<Option<Arc<SealedHeader>>, Infallible> {
        Ok(self.0.get(height as usize).cloned())
    }

    fn paid_fees(&self, height: u64) -> Result<Vec<PaidFee>, Infallible> {
        let fee = |gas_used, gwei: u64| PaidFee {
            gas_used,
            fee_cap: u128::from(1_000 * GWEI),
            tip_cap: u128::from(gwei * GWEI),
        };
        Ok(match height {
            0 => vec![],
            2 => vec![fee(30_000, 9), fee(10_000, 1), fee(2_000, 5)],
            _ => vec![fee(21_000, 3)],
        })
    }
}

fn rules() -> CChainRules {
    CChainRules::new(43112, ForkSchedule::LOCAL, FeeOverrides::default())
}

type Answer = Result<FeeHistory, HistoryError<Infallible>>;

fn ask(
    headers: &Headers,
    limits: &HistoryLimits,
    range: (u64, NewestBlock),
    percentiles: &[f64],
) -> Answer {
    fee_history(headers, &rules(), limits, range, percentiles, NOW)
}

#[test]
fn the_range_of_a_fee_history_follows_the_vectors() {
    for (name, input, expected) in of_kind("fee_history_range") {
        let number = |key: &str| input[key].as_u64().unwrap();
        let newest = match &input["newestBlock"] {
            Value::String(tag) if tag == "pending" => NewestBlock::Pending,
            Value::String(_) => NewestBlock::Latest,
            height => NewestBlock::Height(height.as_u64().unwrap()),
        };
        let limits = HistoryLimits {
            blocks: number("maxCallBlockHistory"),
            depth: number("maxBlockHistory"),
        };
        let headers = Headers::plain(number("head"));
        match (
            ask(&headers, &limits, (number("blockCount"), newest), &[]),
            &expected["errorPrefix"],
        ) {
            (Ok(history), Value::Null) => {
                assert_eq!(history.oldest, expected["oldestBlock"].as_u64().unwrap(), "{name}");
                let count = expected["count"].as_u64().unwrap() as usize;
                assert_eq!(history.gas_used_ratios.len(), count, "{name}");
                assert_eq!(history.base_fees.len(), if count == 0 { 0 } else { count + 1 });
                assert!(history.rewards.is_empty());
            }
            (Err(error), Value::String(prefix)) => {
                assert!(error.to_string().starts_with(prefix), "{name}: {error}");
            }
            (answer, prefix) => panic!("{name}: {answer:?}, expected {prefix}"),
        }
    }
}

#[test]
fn price_options_follow_the_vectors() {
    for (name, input, expected) in of_kind("price_options") {
        let number = |key: &str| input[key].as_u64().unwrap();
        let config = PriceOptionsConfig {
            slow_percent: number("slowPct"),
            fast_percent: number("fastPct"),
            max_tip: U256::from(number("maxTip")),
        };
        let (base_fee, tip) = (U256::from(number("baseFee")), U256::from(number("tip")));
        let options = price_options(base_fee, tip, &config);
        for (option, row) in
            [(options.slow, "slow"), (options.normal, "normal"), (options.fast, "fast")]
        {
            let figure = |key: &str| U256::from(expected[row][key].as_u64().unwrap());
            let expected = PriceOption {
                tip: figure("maxPriorityFeePerGas"),
                fee_cap: figure("maxFeePerGas"),
            };
            assert_eq!(option, expected, "{name} {row}");
        }
    }
}

#[test]
fn histories_have_base_fees_ratios_and_rewards() {
    let headers = Headers::plain(3);
    let limits = HistoryLimits::default();
    let fee = |number: u64| U256::from(225 * GWEI - number);
    let history = ask(&headers, &limits, (2, NewestBlock::Height(2)), &[0.0, 50.0, 100.0]).unwrap();
    assert_eq!(history.oldest, 1);
    // The next block exists, so its own base fee is returned.
    assert_eq!(history.base_fees, [fee(1), fee(2), fee(3)]);
    assert_eq!(history.gas_used_ratios, [0.0014, 0.0028]);
    let tips = |gwei: [u64; 3]| gwei.map(|gwei| U256::from(gwei * GWEI)).to_vec();
    assert_eq!(history.rewards, [tips([3, 3, 3]), tips([1, 9, 9])]);

    let latest = ask(&headers, &limits, (10, NewestBlock::Latest), &[20.0]).unwrap();
    assert_eq!((latest.oldest, latest.base_fees.len()), (0, 5));
    assert_eq!(latest.rewards[0], [U256::ZERO]);
    let next = rules().child_terms(&headers.head().header, NOW).unwrap().base_fee;
    assert_eq!(latest.base_fees[4], next);
    assert_eq!(
        ask(&headers, &limits, (0, NewestBlock::Height(99)), &[9.0, 1.0]).unwrap(),
        FeeHistory::default()
    );
}

#[test]
fn histories_are_refused_in_the_references_words() {
    let headers = Headers::plain(3);
    let check = |range, percentiles: &[f64], text: &str| {
        let answer = ask(&headers, &HistoryLimits::default(), range, percentiles);
        assert_eq!(answer.unwrap_err().to_string(), text);
    };
    let at = |height| (1, NewestBlock::Height(height));
    check(at(2), &[100.0, 50.0], "invalid reward percentile: #0:100.000000 >= #1:50.000000");
    check(at(2), &[50.0, 50.0], "invalid reward percentile: #0:50.000000 >= #1:50.000000");
    check(at(2), &[-1.0], "invalid reward percentile: -1.000000");
    check(at(2), &[101.0], "invalid reward percentile: 101.000000");
    check(at(4), &[], "request beyond head block: requested 4, head 3");
    check(
        at(0x7fff_ffff_ffff_ffff),
        &[50.0],
        "request beyond head block: requested 9223372036854775807, head 3",
    );
    // Percentiles are checked first.
    check(at(4), &[101.0], "invalid reward percentile: 101.000000");
    let many: Vec<f64> = (0..=MAX_REWARDS).map(|i| i as f64 / MAX_REWARDS as f64 * 100.0).collect();
    let text = "invalid reward percentile: over the query limit 500000";
    check((1, NewestBlock::Latest), &many, text);
}

#[test]
fn a_quiet_chain_suggests_the_least_tip_and_the_lower_base_fee() {
    let oracle = FeeOracle::new(OracleConfig::default(), Arc::new(rules()));
    // A chain with only genesis has the initial values.
    let genesis =
        Headers::new(vec![Header { base_fee: Some(U256::from(225 * GWEI)), ..header(0, 0) }]);
    let fees = oracle.suggest(&genesis, NOW).unwrap();
    assert_eq!(fees.base_fee, Some(U256::from(0x34_630b_8a00_u64)));
    assert_eq!(fees.gas_price(), U256::from(0x34_630b_8a01_u64));

    let headers = Headers::plain(100);
    let fees = oracle.suggest(&headers, NOW).unwrap();
    let next = rules().child_terms(&headers.head().header, NOW).unwrap().base_fee;
    assert_eq!(fees.next_base_fee, Some(next));
    assert_eq!(fees.base_fee, Some(next.min(U256::from(225 * GWEI - 77))));
    assert_eq!(fees.tip, U256::from(1));
}

#[test]
fn before_the_first_block_the_base_fee_is_that_of_the_rules() {
    for base_fee in [0, 7, 300 * GWEI] {
        let fees = FeeOverrides {
            target_gas: Some(u64::MAX),
            min_base_fee: Some(base_fee),
            ..FeeOverrides::default()
        };
        let rules = CChainRules::new(43112, ForkSchedule::LOCAL, fees);
        let oracle = FeeOracle::new(OracleConfig::default(), Arc::new(rules));
        let base_fee = U256::from(base_fee);
        let genesis = Headers::new(vec![Header { base_fee: Some(base_fee), ..header(0, 0) }]);
        assert_eq!(oracle.suggest(&genesis, NOW).unwrap().base_fee, Some(base_fee));
    }
}

#[test]
fn busy_blocks_raise_the_tip_up_to_the_highest() {
    let busy = |number: u64, cost: u64| Header {
        gas_used: 7_000_000,
        block_gas_cost: Some(U256::from(cost)),
        ..header(number, NOW)
    };
    let suggest = |blocks: Vec<Header>| {
        let oracle = FeeOracle::new(OracleConfig::default(), Arc::new(rules()));
        oracle.suggest(&Headers::new(blocks), NOW).unwrap().tip
    };
    let base_fee = |number: u64| U256::from(225 * GWEI - number);
    let tip = base_fee(1) * U256::from(400_000) / U256::from(7_000_000);
    assert_eq!(suggest(vec![header(0, 0), busy(1, 400_000)]), tip);
    // Three of five blocks required no tip: the sixtieth percentile is the third of them, in order.
    let mut blocks: Vec<Header> = (0..4).map(|number| header(number, NOW)).collect();
    blocks.extend([busy(4, 400_000), busy(5, 400_000)]);
    assert_eq!(suggest(blocks), U256::from(1));
    assert_eq!(suggest(vec![header(0, 0), busy(1, 900_000_000)]), U256::from(150 * GWEI));
    // The block is too old.
    let old = Header { time: NOW - 81, ..busy(1, 400_000) };
    assert_eq!(suggest(vec![header(0, 0), old]), U256::from(1));
}

#[test]
fn an_answer_stands_until_there_is_a_new_head() {
    let oracle = FeeOracle::new(OracleConfig::default(), Arc::new(rules()));
    let busy =
        Header { gas_used: 7_000_000, block_gas_cost: Some(U256::from(400_000)), ..header(1, NOW) };
    let mut headers = vec![header(0, 0), busy];
    let first = oracle.suggest(&Headers::new(headers.clone()), NOW).unwrap();
    assert!(first.tip > U256::from(1));
    // The same head much later, though it is too old by then.
    let later = oracle.suggest(&Headers::new(headers.clone()), NOW + 500).unwrap();
    assert_eq!(later.tip, first.tip);
    // A new head without usable blocks keeps the values.
    headers.push(header(2, NOW + 1));
    let kept = oracle.suggest(&Headers::new(headers), NOW + 1000).unwrap();
    assert_eq!(kept.tip, first.tip);
}

proptest! {
    #[test]
    fn histories_are_consistent(
        head in 0u64..80,
        count in any::<u64>(),
        newest in prop_oneof![
            Just(NewestBlock::Latest),
            Just(NewestBlock::Pending),
            (0u64..90).prop_map(NewestBlock::Height),
            any::<u64>().prop_map(NewestBlock::Height),
        ],
        blocks in 1u64..100,
        depth in 1u64..100,
        percentiles in prop::collection::vec(0.0..100.0f64, 0..5),
    ) {
        let limits = HistoryLimits { blocks, depth };
        let mut percentiles = percentiles;
        percentiles.sort_by(f64::total_cmp);
        percentiles.dedup();
        if let Ok(history) = ask(&Headers::plain(head), &limits, (count, newest), &percentiles) {
            let count_returned = history.gas_used_ratios.len();
            prop_assert!(count_returned as u64 <= blocks.min(depth).min(count));
            prop_assert_eq!(history.base_fees.len(), if count_returned == 0 { 0 } else { count_returned + 1 });
            let rewards = if percentiles.is_empty() { 0 } else { count_returned };
            prop_assert_eq!(history.rewards.len(), rewards);
            for row in &history.rewards {
                prop_assert!(row.is_sorted());
            }
        } else {
            let beyond = matches!(newest, NewestBlock::Height(height) if height > head || head - height >= depth);
            prop_assert!(beyond);
        }
    }
}
