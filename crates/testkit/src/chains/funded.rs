//! Worlds in which several keys have funds on both chains and in shared memory, and transactions of these keys.

use std::sync::{Arc, OnceLock};

use esker_primitives::clock::ManualClock;
use esker_primitives::keys::PrivateKey;
use esker_primitives::network::LOCAL_ID;
use esker_storage::{KvStore, MemoryStore, WriteSet};
use esker_transactions::xvm::{BaseTx, ExportTx, ImportTx, Tx, UnsignedTx};
use esker_utxo::{FxKind, OutputOwners, TransferableOutput, Utxo};

use super::world::{NOW_MS, ONE, World, X_FEE, account, input, key, output, well_known};

/// The numbers of the keys that have funds.
pub const OWNERS: std::ops::RangeInclusive<u8> = 1..=3;
/// For each key: UTXOs on X, from X for C, and from C for X.
const ON_X: usize = 8;
const FOR_C: usize = 8;
const FOR_X: u64 = 4;

/// Beginning of these worlds, Unix ms.
pub const START_MS: u64 = NOW_MS + 60_000;

/// A store that holds such a world.
pub fn store() -> Arc<MemoryStore> {
    static ROWS: OnceLock<WriteSet> = OnceLock::new();
    let rows = ROWS.get_or_init(|| {
        // A separate thread, since the caller's may run a runtime.
        let made = std::thread::spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(make())
        });
        made.join().unwrap()
    });
    let store = Arc::new(MemoryStore::new());
    store.write(rows).unwrap();
    store
}

/// A world over such a store.
pub fn world(kv: Arc<dyn KvStore>, clock: &Arc<ManualClock>) -> World {
    World::easy_at(kv, clock)
}

async fn make() -> WriteSet {
    let world = World::easy();
    let owned = |number: u8| OutputOwners::single(key(number).address());
    let each = OWNERS.flat_map(|number| vec![number; ON_X]);
    let mut outputs: Vec<_> =
        each.map(|number| output(world.native(), 10 * ONE, owned(number))).collect();
    TransferableOutput::sort(&mut outputs);
    let UnsignedTx::Export(export) = world.x_export(outputs).unsigned().clone() else {
        panic!("an export")
    };
    let ExportTx { mut base, exported_outputs, .. } = export;
    base.outputs.extend(exported_outputs);
    TransferableOutput::sort(&mut base.outputs);
    let split = Tx::sign(UnsignedTx::Base(base), &[(FxKind::Secp256k1, vec![&well_known()])]);
    world.x.issue(split.bytes()).unwrap();
    world.settle().await;
    for number in OWNERS {
        let owner = key(number);
        let exported = world.fund(&owner, &[5 * ONE; FOR_C + 4]).await;
        let import = world.import(&exported[..4], &owner, account(&owner), ONE / 100);
        world.nat.submit(import).unwrap();
        world.wait_s(2);
        world.settle().await;
        for nonce in 0..FOR_X {
            let tx = world.export(&owner, nonce, ONE, ONE / 50, owner.address());
            world.nat.submit(tx).unwrap();
            world.wait_s(2);
            world.settle().await;
        }
        assert_eq!(world.exported_to_c(&owner).len(), FOR_C);
        assert_eq!(exported_to_x(&world, &owner).len(), usize::try_from(FOR_X).unwrap());
        assert!(world.x_utxos(&owner.address()).len() >= ON_X);
    }
    let mut rows = WriteSet::new();
    for (key, value) in world.rows() {
        rows.put(&key, &value);
    }
    rows
}

/// The UTXOs that C exported to an owner on X.
pub fn exported_to_x(world: &World, owner: &PrivateKey) -> Vec<Utxo> {
    world.shared(world.x_id(), world.c_id(), owner)
}

fn base(world: &World, inputs: &[&Utxo], outputs: Vec<TransferableOutput>) -> BaseTx {
    BaseTx {
        network_id: LOCAL_ID,
        blockchain_id: world.x_id(),
        outputs,
        inputs: inputs.iter().map(|utxo| input(utxo, vec![0])).collect(),
        memo: Vec::new(),
    }
}

fn sign(unsigned: UnsignedTx, owner: &PrivateKey) -> Tx {
    Tx::sign(unsigned, &[(FxKind::Secp256k1, vec![owner])])
}

/// The amount of a UTXO without the fee, to the owner of another key.
fn rest(world: &World, utxo: &Utxo, to: &PrivateKey) -> TransferableOutput {
    let amount = utxo.output.as_transfer().unwrap().amount - X_FEE;
    output(world.native(), amount, OutputOwners::single(to.address()))
}

/// A transfer of a UTXO of X to another key on X.
pub fn x_transfer(world: &World, utxo: &Utxo, owner: &PrivateKey, to: &PrivateKey) -> Tx {
    let outputs = vec![rest(world, utxo, to)];
    sign(UnsignedTx::Base(base(world, &[utxo], outputs)), owner)
}

/// An export of a UTXO of X to a key on C.
pub fn x_export(world: &World, utxo: &Utxo, owner: &PrivateKey, to: &PrivateKey) -> Tx {
    let exported_outputs = vec![rest(world, utxo, to)];
    let base = base(world, &[utxo], Vec::new());
    let export = ExportTx { base, destination_chain: world.c_id(), exported_outputs };
    sign(UnsignedTx::Export(export), owner)
}

/// An import of a UTXO that C exported to X.
pub fn x_import(world: &World, utxo: &Utxo, owner: &PrivateKey) -> Tx {
    let base = base(world, &[], vec![rest(world, utxo, owner)]);
    let imported_inputs = vec![input(utxo, vec![0])];
    let import = ImportTx { base, source_chain: world.c_id(), imported_inputs };
    sign(UnsignedTx::Import(import), owner)
}
