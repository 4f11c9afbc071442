//! The content of a snapshot besides the blocks, and its stored form.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use alloy_primitives::{Address, B256, U256};
use bytes::Bytes;
use esker_chain::{BundleId, ChainVm, ClockSetting};
use esker_evm_execution::rules::HeaderTerms;
use esker_primitives::ChainId;
use esker_primitives::codec::{CodecError, Encode, Reader, Writer};

use super::intervals::Interval;
use super::settings::ControlSettings;
use crate::chain::Evm;

/// Version of the stored form.
const FORM: u8 = 4;

/// The form without impersonated addresses of the chains of UTXOs.
const ACCOUNTS_FORM: u8 = 3;

/// The form without a beacon root of the next block.
const ROOTLESS_FORM: u8 = 2;

/// The form whose intervals were single numbers of seconds.
const SECONDS_FORM: u8 = 1;

/// An EVM chain in a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SavedChain {
    pub(super) settings: ControlSettings,
    /// Height and hash of the last block.
    pub(super) last_block: (u64, B256),
}

/// A snapshot of all chains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Snapshot {
    /// Height and ID of the last final bundle.
    pub(super) last: (u64, BundleId),
    pub(super) clock: ClockSetting,
    /// The waiting transactions of each chain.
    pub(super) waiting: BTreeMap<ChainId, Vec<Bytes>>,
    pub(super) chains: BTreeMap<ChainId, SavedChain>,
}

impl Snapshot {
    /// Takes a snapshot of the chains as they are now, after this bundle.
    pub(super) fn capture(
        last: (u64, BundleId),
        clock: ClockSetting,
        vms: &[Arc<dyn ChainVm>],
        evms: &[Arc<Evm>],
    ) -> Self {
        let waiting = vms.iter().map(|vm| (vm.context().chain_id, vm.waiting_txs()));
        let saved = |evm: &Arc<Evm>| {
            let settings = evm.controls()?.settings();
            let head = evm.head();
            let last_block = (head.header.number, head.hash);
            Some((evm.context().chain_id, SavedChain { settings, last_block }))
        };
        let chains = evms.iter().filter_map(saved).collect();
        Self { last, clock, waiting: waiting.collect(), chains }
    }

    pub(super) fn waiting_bytes(&self) -> usize {
        self.waiting.values().flatten().map(Bytes::len).sum()
    }

    /// The header fields that were set for the next block of a chain.
    pub(super) fn next_header(&self, evm: &Evm) -> HeaderTerms {
        let saved = self.chains.get(&evm.context().chain_id);
        saved.map(|saved| saved.settings.header).unwrap_or_default()
    }

    /// Adds the transactions that wait in the pools now.
    pub(super) fn add_waiting(&mut self, vms: &[Arc<dyn ChainVm>]) {
        for vm in vms {
            let waiting = self.waiting.entry(vm.context().chain_id).or_default();
            let known: HashSet<Bytes> = waiting.iter().cloned().collect();
            waiting.extend(vm.waiting_txs().into_iter().filter(|tx| !known.contains(tx)));
        }
    }

    /// Restores pools and settings of the chains. Their blocks are already those of the snapshot.
    pub(super) fn restore(mut self, vms: &[Arc<dyn ChainVm>], evms: &[Arc<Evm>]) {
        for evm in evms {
            let saved = self.chains.remove(&evm.context().chain_id);
            if let (Some(controls), Some(saved)) = (evm.controls(), saved) {
                controls.restore(saved.settings);
            }
        }
        vms.iter().for_each(|vm| vm.drop_waiting_txs());
        self.restore_pools(vms);
    }

    /// Adds the missing transactions to the pools of the chains.
    pub(super) fn restore_pools(self, vms: &[Arc<dyn ChainVm>]) {
        let Self { mut waiting, .. } = self;
        for vm in vms {
            let mut txs = waiting.remove(&vm.context().chain_id).unwrap_or_default();
            if txs.is_empty() {
                continue;
            }
            let known: HashSet<Bytes> = vm.waiting_txs().into_iter().collect();
            txs.retain(|tx| !known.contains(tx));
            let waited = txs.len();
            let restored = vm.restore_txs(txs);
            if restored < waited {
                tracing::warn!(
                    chain = vm.name(),
                    waited,
                    restored,
                    "transactions of a snapshot wait no longer"
                );
            }
        }
    }

    /// The bytes of a stored snapshot.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut w = Writer::default();
        w.u8(FORM);
        w.u64(self.last.0);
        w.id(&self.last.1);
        w.fixed(&self.clock.offset_ms().to_be_bytes());
        option(&mut w, self.clock.stopped_ms().as_ref(), |w, ms| w.u64(*ms));
        w.len(self.waiting.len());
        for (chain, txs) in &self.waiting {
            w.id(chain);
            w.len(txs.len());
            txs.iter().for_each(|tx| w.bytes(tx));
        }
        w.len(self.chains.len());
        for (chain, saved) in &self.chains {
            w.id(chain);
            saved.encode(&mut w);
        }
        w.into_vec()
    }

    /// Reads [`Self::to_bytes`].
    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Self, CodecError> {
        let mut r = Reader::new(bytes);
        let form = r.u8()?;
        if !(SECONDS_FORM..=FORM).contains(&form) {
            return Err(CodecError::UnknownVersion);
        }
        let last = (r.u64()?, r.id()?);
        let offset_ms = i128::from_be_bytes(r.fixed()?);
        let clock = ClockSetting::new(offset_ms, read_option(&mut r, Reader::u64)?);
        let waiting = r.slice(|r| {
            let chain = r.id()?;
            Ok((chain, r.slice(|r| r.bytes().map(Bytes::copy_from_slice))?))
        })?;
        let chains = r.slice(|r| Ok((r.id()?, SavedChain::decode(r, form)?)))?;
        r.finish()?;
        let (waiting, chains) = (waiting.into_iter().collect(), chains.into_iter().collect());
        Ok(Self { last, clock, waiting, chains })
    }
}

fn option<T>(w: &mut Writer, value: Option<&T>, write: impl FnOnce(&mut Writer, &T)) {
    w.boolean(value.is_some());
    if let Some(value) = value {
        write(w, value);
    }
}

fn read_option<'a, T>(
    r: &mut Reader<'a>,
    read: impl FnOnce(&mut Reader<'a>) -> Result<T, CodecError>,
) -> Result<Option<T>, CodecError> {
    Ok(if r.boolean()? { Some(read(r)?) } else { None })
}

impl Encode for SavedChain {
    fn encode(&self, w: &mut Writer) {
        let Self { settings, last_block } = self;
        w.u64(last_block.0);
        w.fixed(last_block.1.as_slice());
        w.boolean(settings.automine);
        option(w, settings.interval.as_ref(), |w, interval| {
            let (least, most) = interval.bounds_ms();
            w.u64(least);
            w.u64(most);
        });
        option(w, settings.timestamp_interval_s.as_ref(), |w, s| w.u64(*s));
        w.boolean(settings.impersonates_all);
        w.len(settings.impersonated.len());
        settings.impersonated.iter().for_each(|account| w.fixed(account.as_slice()));
        let HeaderTerms { base_fee, gas_limit, coinbase, random, beacon_root } = &settings.header;
        option(w, base_fee.as_ref(), |w, wei| w.fixed(&wei.to_be_bytes::<32>()));
        option(w, gas_limit.as_ref(), |w, gas| w.u64(*gas));
        option(w, coinbase.as_ref(), |w, address| w.fixed(address.as_slice()));
        option(w, random.as_ref(), |w, value| w.fixed(value.as_slice()));
        option(w, beacon_root.as_ref(), |w, root| w.fixed(root.as_slice()));
        w.len(settings.addresses.len());
        settings.addresses.iter().for_each(|address| w.short_id(address));
    }
}

impl SavedChain {
    fn decode(r: &mut Reader<'_>, form: u8) -> Result<Self, CodecError> {
        let last_block = (r.u64()?, B256::new(r.fixed()?));
        let automine = r.boolean()?;
        let interval = match form {
            SECONDS_FORM => read_option(r, Reader::u64)?
                .map(|seconds| Interval::from_ms(seconds.saturating_mul(1000))),
            _ => read_option(r, |r| Ok((r.u64()?, r.u64()?)))?
                .and_then(|(least, most)| Interval::between_ms(least, most)),
        };
        let timestamp_interval_s = read_option(r, Reader::u64)?;
        let impersonates_all = r.boolean()?;
        let impersonated = r.slice(|r| r.fixed().map(Address::new))?.into_iter().collect();
        let header = HeaderTerms {
            base_fee: read_option(r, Reader::fixed)?.map(U256::from_be_bytes::<32>),
            gas_limit: read_option(r, Reader::u64)?,
            coinbase: read_option(r, Reader::fixed)?.map(Address::new),
            random: read_option(r, Reader::fixed)?.map(B256::new),
            beacon_root: match form {
                SECONDS_FORM | ROOTLESS_FORM => None,
                _ => read_option(r, Reader::fixed)?.map(B256::new),
            },
        };
        let addresses = match form {
            SECONDS_FORM | ROOTLESS_FORM | ACCOUNTS_FORM => BTreeSet::new(),
            _ => r.slice(Reader::short_id)?.into_iter().collect(),
        };
        let settings = ControlSettings {
            automine,
            interval,
            timestamp_interval_s,
            impersonated,
            impersonates_all,
            addresses,
            header,
        };
        Ok(Self { settings, last_block })
    }
}

#[cfg(test)]
mod tests {
    use esker_primitives::{Id, ShortId};
    use proptest::prelude::*;

    use super::*;

    fn snapshot() -> impl Strategy<Value = Snapshot> {
        let settings = (
            any::<(bool, Option<(u64, u64)>, Option<u64>, bool)>(),
            prop::collection::hash_set(any::<[u8; 20]>(), 0..3),
            prop::collection::btree_set(any::<[u8; 20]>(), 0..3),
            any::<(Option<[u8; 32]>, Option<u64>, Option<[u8; 20]>, [Option<[u8; 32]>; 2])>(),
        );
        let chain = (settings, any::<(u64, [u8; 32])>()).prop_map(|(settings, last)| {
            let (
                (automine, interval, timestamp_interval_s, impersonates_all),
                accounts,
                addresses,
                header,
            ) = settings;
            let (base_fee, gas_limit, coinbase, [random, beacon_root]) = header;
            SavedChain {
                settings: ControlSettings {
                    automine,
                    interval: interval.and_then(|(a, b)| Interval::between_ms(a.min(b), a.max(b))),
                    timestamp_interval_s,
                    impersonated: accounts.into_iter().map(Address::new).collect(),
                    impersonates_all,
                    addresses: addresses.into_iter().map(ShortId::new).collect(),
                    header: HeaderTerms {
                        base_fee: base_fee.map(U256::from_be_bytes),
                        gas_limit,
                        coinbase: coinbase.map(Address::new),
                        random: random.map(B256::new),
                        beacon_root: beacon_root.map(B256::new),
                    },
                },
                last_block: (last.0, B256::new(last.1)),
            }
        });
        let txs = prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..3);
        let waiting = prop::collection::btree_map(any::<[u8; 32]>(), txs, 0..3);
        let chains = prop::collection::btree_map(any::<[u8; 32]>(), chain, 0..3);
        (any::<(u64, [u8; 32], i128, Option<u64>)>(), waiting, chains).prop_map(
            |((height, id, offset_ms, stopped_ms), waiting, chains)| Snapshot {
                last: (height, Id::new(id)),
                clock: ClockSetting::new(offset_ms, stopped_ms),
                waiting: waiting
                    .into_iter()
                    .map(|(id, txs)| (Id::new(id), txs.into_iter().map(Bytes::from).collect()))
                    .collect(),
                chains: chains.into_iter().map(|(id, saved)| (Id::new(id), saved)).collect(),
            },
        )
    }

    /// Earlier versions stored no impersonated addresses, before that no beacon root, and before that intervals as numbers of seconds.
    #[test]
    fn earlier_forms_are_read() {
        let interval = Some(Interval::from_ms(5000));
        let settings = ControlSettings { interval, ..ControlSettings::default() };
        let chain = SavedChain { settings, last_block: (9, B256::ZERO) };
        let snapshot = Snapshot {
            last: (7, Id::ZERO),
            clock: ClockSetting::new(0, None),
            waiting: BTreeMap::new(),
            chains: BTreeMap::from([(Id::ZERO, chain)]),
        };
        let mut earlier = snapshot.to_bytes();
        let bounds = [5000_u64.to_be_bytes(), 5000_u64.to_be_bytes()].concat();
        let at = earlier.windows(16).position(|bytes| bytes == bounds).unwrap();
        // There are no addresses at the end, and the beacon root before them is not set.
        assert_eq!(earlier.split_off(earlier.len() - 4), [0; 4]);
        earlier[0] = ACCOUNTS_FORM;
        assert_eq!(Snapshot::from_bytes(&earlier).as_ref(), Ok(&snapshot));
        assert_eq!(earlier.pop(), Some(0));
        earlier[0] = ROOTLESS_FORM;
        assert_eq!(Snapshot::from_bytes(&earlier).as_ref(), Ok(&snapshot));
        earlier.splice(at..at + 16, 5_u64.to_be_bytes());
        earlier[0] = SECONDS_FORM;
        assert_eq!(Snapshot::from_bytes(&earlier), Ok(snapshot));
    }

    proptest! {
        #[test]
        fn stored_snapshots_are_read_again(snapshot in snapshot()) {
            let bytes = snapshot.to_bytes();
            prop_assert_eq!(Snapshot::from_bytes(&bytes), Ok(snapshot));
            for end in 0..bytes.len() {
                prop_assert!(Snapshot::from_bytes(&bytes[..end]).is_err());
            }
            let longer = [bytes.as_slice(), &[0]].concat();
            prop_assert!(Snapshot::from_bytes(&longer).is_err());
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _outcome = Snapshot::from_bytes(&bytes);
            let begun = [[FORM].as_slice(), &bytes].concat();
            let _outcome = Snapshot::from_bytes(&begun);
        }
    }
}
