//! Sums of multiples of points on the curve BLS12-381 (EIP-2537).

use alloy_primitives::Bytes;
use revm::precompile::EthPrecompileResult;
use revm::precompile::bls12_381::{g1_add::g1_add, g1_msm::g1_msm, g2_add::g2_add, g2_msm::g2_msm};
use revm::precompile::bls12_381_const::{
    DISCOUNT_TABLE_G1_MSM, DISCOUNT_TABLE_G2_MSM, G1_MSM_BASE_GAS_FEE, G1_MSM_INPUT_LENGTH,
    G2_MSM_BASE_GAS_FEE, G2_MSM_INPUT_LENGTH,
};
use revm::precompile::bls12_381_utils::msm_required_gas;

use super::{LongCallError, check_stop};
use crate::executor::StopCheck;

/// Points of a part between two stop checks: some milliseconds. Calls with more points are long.
pub(super) const POINTS: usize = 64;

type Contract = fn(&[u8], u64) -> EthPrecompileResult;

pub(super) struct LongCall<'i> {
    input: &'i [u8],
    /// Bytes of a point and its factor.
    item: usize,
    gas: u64,
    /// Sum of the multiples of a part.
    sum: Contract,
    add: Contract,
}

impl<'i> LongCall<'i> {
    pub(super) fn of_g1(input: &'i [u8]) -> Option<Self> {
        let count = long(input, G1_MSM_INPUT_LENGTH)?;
        let gas = msm_required_gas(count, &DISCOUNT_TABLE_G1_MSM, G1_MSM_BASE_GAS_FEE);
        Some(Self { input, item: G1_MSM_INPUT_LENGTH, gas, sum: g1_msm, add: g1_add })
    }

    pub(super) fn of_g2(input: &'i [u8]) -> Option<Self> {
        let count = long(input, G2_MSM_INPUT_LENGTH)?;
        let gas = msm_required_gas(count, &DISCOUNT_TABLE_G2_MSM, G2_MSM_BASE_GAS_FEE);
        Some(Self { input, item: G2_MSM_INPUT_LENGTH, gas, sum: g2_msm, add: g2_add })
    }

    pub(super) fn gas(&self) -> u64 {
        self.gas
    }

    pub(super) fn run(&self, stop: StopCheck<'_>) -> Result<Bytes, LongCallError> {
        let call = |contract: Contract, input: &[u8]| {
            contract(input, u64::MAX).map(|output| output.bytes).map_err(LongCallError::Halted)
        };
        let mut whole = Bytes::new();
        for part in self.input.chunks(self.item * POINTS) {
            check_stop(stop)?;
            let sum = call(self.sum, part)?;
            whole = match whole.is_empty() {
                true => sum,
                false => call(self.add, &[whole, sum].concat())?,
            };
        }
        Ok(whole)
    }
}

/// The number of items of a long input.
fn long(input: &[u8], item: usize) -> Option<usize> {
    (input.len() > item * POINTS && input.len().is_multiple_of(item)).then(|| input.len() / item)
}
