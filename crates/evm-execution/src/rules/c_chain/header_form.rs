//! Whether a header of another node can be one of a chain with these rules.

use esker_evm_state::types::Header;
use thiserror::Error;

use super::extra::{extra_prefix_length, no_predicate_results};
use super::fee_error::FeeRuleError;
use super::phase::{Phase, PhaseRules};
use super::rules::CChainRules;

/// The reason why a header can't be one of a chain with these rules.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HeaderFormError {
    /// The rules of its time are not known.
    #[error(transparent)]
    Phase(#[from] FeeRuleError),
    /// A field is there that its phase has not, or is not there.
    #[error(
        "at the block's time the rules are those of {phase:?}, and its header has {has} {field}"
    )]
    Field {
        /// The phase of the header's time.
        phase: Phase,
        /// `the field` or `no field`.
        has: &'static str,
        /// Name of the field in JSON.
        field: &'static str,
    },
    /// The fees of the next block can't be read from the extra data.
    #[error(
        "at the block's time the rules are those of {phase:?}, whose fees are in another form than the header's extraData of {length} bytes"
    )]
    Extra {
        /// The phase of the header's time.
        phase: Phase,
        /// Length of the extra data.
        length: usize,
    },
}

/// The optional fields of a header, in their order.
const OPTIONAL: [&str; 6] = [
    "baseFeePerGas",
    "extDataGasUsed",
    "blockGasCost",
    "blobGasUsed",
    "excessBlobGas",
    "parentBeaconBlockRoot",
];

/// Number of them that a block before Etna has, unless it is block 0.
const OF_CHILDREN: usize = 3;

/// Number of the optional fields that are written: up to the last present one. An absent one before it can't be told from
/// zero.
fn written(header: &Header) -> usize {
    let present = [
        header.base_fee.is_some(),
        header.ext_data_gas_used.is_some(),
        header.block_gas_cost.is_some(),
        header.blob_gas_used.is_some(),
        header.excess_blob_gas.is_some(),
        header.parent_beacon_root.is_some(),
    ];
    present.iter().rposition(|is_there| *is_there).map_or(0, |last| last + 1)
}

impl CChainRules {
    /// Checks that a header can be one of this chain: it has the fields of the phase of its time, and the fees of the next
    /// block can be read from its extra data. Block 0 has the extra data of its genesis file.
    ///
    /// # Errors
    /// It is a header of another chain, or one before Apricot 5.
    pub fn check_form(&self, header: &Header) -> Result<(), HeaderFormError> {
        let rules = self.phase_at(header.time)?;
        let (phase, is_child) = (rules.phase, header.number > 0);
        let wanted = match (rules.at_least(Phase::Etna), is_child) {
            (true, _) => OPTIONAL.len(),
            (false, true) => OF_CHILDREN,
            (false, false) => 1,
        };
        let field = |at: usize| OPTIONAL.get(at).copied().unwrap_or_default();
        let error = |has, at| Err(HeaderFormError::Field { phase, has, field: field(at) });
        match written(header) {
            more if more > wanted => return error("the field", wanted),
            fewer if fewer < wanted => return error("no field", fewer),
            _ if header.base_fee.is_none() => return error("no field", 0),
            _ => {}
        }
        match !is_child || has_extra(&rules, &header.extra) {
            true => Ok(()),
            false => Err(HeaderFormError::Extra { phase, length: header.extra.len() }),
        }
    }
}

/// Whether extra data have the form of a phase: the part that fees depend on, and the predicate results, if there are any.
fn has_extra(rules: &PhaseRules, extra: &[u8]) -> bool {
    let Some((_, results)) = extra.split_at_checked(extra_prefix_length(rules)) else {
        return false;
    };
    match no_predicate_results(rules) {
        None => results.is_empty(),
        // A version, then the number of the results.
        Some(none) => results == none || results.starts_with(&none[..2]) && has_entries(results),
    }
}

/// Whether predicate results have entries, whose number follows the version.
fn has_entries(results: &[u8]) -> bool {
    results.len() > 6 && results[2..6] != [0; 4]
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{B256, U256};

    use super::*;
    use crate::rules::{FeeOverrides, ForkSchedule};

    fn rules(schedule: ForkSchedule) -> CChainRules {
        CChainRules::new(43_114, schedule, FeeOverrides::default())
    }

    /// A header of a phase of the main network.
    fn header(phase: Phase, extra: usize) -> Header {
        let is_etna = phase >= Phase::Etna;
        Header {
            number: 5,
            time: ForkSchedule::MAIN.begins(phase),
            extra: vec![0; extra].into(),
            base_fee: Some(U256::from(7)),
            ext_data_gas_used: Some(U256::ZERO),
            block_gas_cost: Some(U256::ZERO),
            blob_gas_used: is_etna.then_some(0),
            excess_blob_gas: is_etna.then_some(0),
            parent_beacon_root: is_etna.then_some(B256::ZERO),
            ..Header::default()
        }
    }

    #[test]
    fn headers_have_the_form_of_their_phase() {
        let main = rules(ForkSchedule::MAIN);
        for (phase, extra) in [
            (Phase::Apricot5, 80),
            (Phase::Cortina, 80),
            (Phase::Durango, 86),
            (Phase::Etna, 86),
            (Phase::Fortuna, 30),
        ] {
            assert_eq!(main.check_form(&header(phase, extra)), Ok(()), "{phase:?}");
            for other in [0, 24, 29, 79, 85, 87, 30, 80, 86] {
                let checked = main.check_form(&header(phase, other));
                let refused = HeaderFormError::Extra { phase, length: other };
                assert_eq!(checked, if other == extra { Ok(()) } else { Err(refused) });
            }
        }
        // A predicate result.
        let mut with_result = header(Phase::Etna, 100);
        let mut extra = with_result.extra.to_vec();
        extra[85] = 1;
        with_result.extra = extra.into();
        assert_eq!(main.check_form(&with_result), Ok(()));
    }

    #[test]
    fn headers_of_other_chains_are_refused() {
        let refused =
            |schedule, header: &Header| rules(schedule).check_form(header).unwrap_err().to_string();
        let fortuna = header(Phase::Fortuna, 30);
        assert_eq!(
            refused(ForkSchedule::LOCAL, &fortuna),
            "at the block's time the rules are those of Etna, whose fees are in another form than the header's extraData of 30 bytes"
        );
        let etna = header(Phase::Etna, 86);
        let durango = Header {
            blob_gas_used: None,
            excess_blob_gas: None,
            parent_beacon_root: None,
            ..etna.clone()
        };
        assert!(
            refused(ForkSchedule::MAIN, &durango).ends_with("its header has no field blobGasUsed")
        );
        let no_fee = Header { base_fee: None, ..etna.clone() };
        assert!(refused(ForkSchedule::MAIN, &no_fee).ends_with("no field baseFeePerGas"));
        // It can't be told from zero.
        let no_gas = Header { ext_data_gas_used: None, ..etna.clone() };
        assert_eq!(rules(ForkSchedule::MAIN).check_form(&no_gas), Ok(()));
        let early = Header { time: etna.time - 1, ..etna.clone() };
        assert!(
            refused(ForkSchedule::MAIN, &early).ends_with("its header has the field blobGasUsed")
        );
        let old = Header { time: 1_638_467_999, ..etna.clone() };
        assert!(refused(ForkSchedule::MAIN, &old).contains("before Apricot 5"));
        let cortina = header(Phase::Cortina, 80);
        let no_cost = Header { block_gas_cost: None, ..cortina.clone() };
        assert!(refused(ForkSchedule::MAIN, &no_cost).ends_with("no field blockGasCost"));
        // Block 0 has neither of the fields, and any extra data.
        let genesis = Header { number: 0, extra: vec![0].into(), ..cortina };
        assert!(refused(ForkSchedule::MAIN, &genesis).ends_with("the field extDataGasUsed"));
        let genesis = Header { ext_data_gas_used: None, block_gas_cost: None, ..genesis };
        assert_eq!(rules(ForkSchedule::MAIN).check_form(&genesis), Ok(()));
        let etna_genesis = Header { number: 0, extra: vec![0].into(), ..etna };
        assert_eq!(rules(ForkSchedule::MAIN).check_form(&etna_genesis), Ok(()));
    }
}
