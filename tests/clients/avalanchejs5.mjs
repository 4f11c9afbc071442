// avalanchejs 5 against a node: `node avalanchejs5.mjs URL`.
import assert from 'node:assert/strict';
import { Context, TransferableOutput, addTxSignatures, avm, evm, pvm, utils } from '@avalabs/avalanchejs';
import { FUNDED, FUNDED_ACCOUNT, FUNDED_KEY, OTHER, OTHER_ACCOUNT, call, steps, until } from './check.mjs';

const url = process.argv[2];
const x = new avm.AVMApi(url);
const p = new pvm.PVMApi(url);
const c = new evm.EVMApi(url);
const key = utils.base58check.decode(FUNDED_KEY.replace('PrivateKey-', ''));
const from = utils.bech32ToBytes(`X-${FUNDED}`);
const to = utils.bech32ToBytes(`X-${OTHER}`);
let context;

const own = async (sourceChain) =>
  (await x.getUTXOs({ addresses: [`X-${FUNDED}`], ...(sourceChain && { sourceChain }) })).utxos;

/** Signs, issues and waits for the acceptance. */
async function accept(unsignedTx) {
  await addTxSignatures({ unsignedTx, privateKeys: [key] });
  const { txID } = await x.issueSignedTx(unsignedTx.getSignedTx());
  await until(`${txID} is accepted`, async () => {
    const { status } = await x.getTxStatus({ txID, includeReason: true });
    assert.notEqual(status, 'Rejected');
    return status === 'Accepted';
  });
  return txID;
}

/** The same for the C-Chain's atomic transactions; gives the height too. */
async function acceptOnC(unsignedTx) {
  await addTxSignatures({ unsignedTx, privateKeys: [key] });
  const { txID } = await c.issueSignedTx(unsignedTx.getSignedTx());
  let height;
  await until(`${txID} is accepted`, async () => {
    const { status, blockHeight } = await c.getAtomicTxStatus(txID);
    assert.ok(['Accepted', 'Processing'].includes(status), status);
    height = blockHeight;
    return status === 'Accepted';
  });
  return { txID, height };
}

const onC = (method, ...params) => call(url, '/ext/bc/C/rpc', method, params);

const output = (amount, owner) => TransferableOutput.fromNative(context.avaxAssetID, amount, [owner]);

await steps([
  ['context from URI', async () => {
    context = await Context.getContextFromURI(url);
    assert.equal(context.networkID, 12345);
    assert.equal(context.hrp, 'local');
    assert.equal(context.xBlockchainID, '2eNy1mUFdmaxXNj1eQHUe7Np4gju9sJsEtWQ4MX3ToiNKuADed');
    assert.equal(context.pBlockchainID, '11111111111111111111111111111111LpoYY');
    assert.equal(context.avaxAssetID, '2fombhL7aGPwj3KH4bfrmJwW6PVnMobf9Y2fn9GwxiAAJyFDbe');
    assert.equal(context.baseTxFee, 1_000_000n);
    assert.equal(context.createAssetTxFee, 1_000_000n);
    assert.equal(context.platformFeeConfig.maxCapacity, 1_000_000n);
  }],

  ['base transfer and status', async () => {
    const tx = avm.newBaseTx(context, [from], await own(), [output(1_000_000_000n, to)]);
    const id = await accept(tx);
    const { balances } = await x.getAllBalances({ address: `X-${OTHER}` });
    assert.equal(BigInt(balances[0].balance), 1_000_000_000n);
    const shown = await call(url, '/ext/bc/X', 'avm.getTx', { txID: id, encoding: 'json' });
    assert.equal(shown.tx.id, id);
    assert.equal(shown.tx.unsignedTx.outputs.length, 2);
    const unknown = '2MVbntxreU3kpAVPoAMfev3kpiVmSgVN7VMPtrVhNgRMqciAz2';
    assert.equal((await x.getTxStatus({ txID: unknown })).status, 'Unknown');
  }],

  ['a transfer of one after the other', async () => {
    for (let n = 1n; n <= 5n; n += 1n) {
      await accept(avm.newBaseTx(context, [from], await own(), [output(n, to)]));
    }
  }],

  ['pages', async () => {
    const all = await x.getUTXOs({ addresses: [`X-${OTHER}`] });
    assert.equal(all.utxos.length, 6);
    const listed = new Set();
    let startIndex;
    for (;;) {
      const page = await x.getUTXOs({ addresses: [`X-${OTHER}`], limit: 4, startIndex });
      for (const utxo of page.utxos) {
        const id = `${utxo.utxoId.txID.toString()}:${utxo.utxoId.outputIdx.value()}`;
        assert.ok(!listed.has(id));
        listed.add(id);
      }
      if (page.utxos.length < 4) break;
      startIndex = page.endIndex;
    }
    assert.equal(listed.size, 6);
  }],

  ['export to P', async () => {
    const before = await p.getUTXOs({ addresses: [`P-${OTHER}`], sourceChain: 'X' });
    assert.equal(before.utxos.length, 0);
    await accept(avm.newExportTx(context, context.pBlockchainID, [from], await own(), [output(77_000_000n, to)]));
    const { utxos } = await p.getUTXOs({ addresses: [`P-${OTHER}`], sourceChain: 'X' });
    assert.equal(utxos.length, 1);
    assert.equal(utxos[0].output.amount(), 77_000_000n);
  }],

  ['import from P', async () => {
    const exported = await own('P');
    assert.equal(exported.length, 2);
    const before = BigInt((await x.getAllBalances({ address: `X-${OTHER}` })).balances[0].balance);
    await accept(avm.newImportTx(context, context.pBlockchainID, exported, [to], [from]));
    const after = BigInt((await x.getAllBalances({ address: `X-${OTHER}` })).balances[0].balance);
    assert.equal(after - before, 12_000_000_000n - context.baseTxFee);
    assert.equal((await own('P')).length, 0);
  }],

  ['from X to C', async () => {
    await accept(avm.newExportTx(context, context.cBlockchainID, [from], await own(), [output(5_000_000_000n, from)]));
    const { utxos } = await c.getUTXOs({ addresses: [`C-${FUNDED}`], sourceChain: 'X' });
    assert.equal(utxos.length, 1);
    const gwei = (2n * (await c.getBaseFee())) / 1_000_000_000n;
    const account = utils.hexToBuffer(OTHER_ACCOUNT);
    const tx = evm.newImportTxFromBaseFee(context, account, [from], utxos, context.xBlockchainID, gwei);
    const { txID, height } = await acceptOnC(tx);
    const found = await c.getAtomicTx({ txID });
    assert.equal(String(found.blockHeight), height);
    assert.equal(found.tx.unsignedTx.networkId.value(), 12345);
    const balance = BigInt(await onC('eth_getBalance', OTHER_ACCOUNT, 'latest'));
    assert.ok(balance > 4_900_000_000n * 1_000_000_000n && balance < 5_000_000_000n * 1_000_000_000n);
    const left = await c.getUTXOs({ addresses: [`C-${FUNDED}`], sourceChain: 'X' });
    assert.equal(left.utxos.length, 0);
  }],

  ['from C to X', async () => {
    const gwei = (2n * (await c.getBaseFee())) / 1_000_000_000n;
    const nonce = BigInt(await onC('eth_getTransactionCount', FUNDED_ACCOUNT, 'latest'));
    const account = utils.hexToBuffer(FUNDED_ACCOUNT);
    const tx = evm.newExportTxFromBaseFee(context, gwei, 3_000_000_000n, context.xBlockchainID, account, [from], nonce);
    await acceptOnC(tx);
    assert.equal(BigInt(await onC('eth_getTransactionCount', FUNDED_ACCOUNT, 'latest')), nonce + 1n);
    const exported = await own('C');
    assert.equal(exported.length, 1);
    await accept(avm.newImportTx(context, context.cBlockchainID, exported, [from], [from]));
    assert.equal((await own('C')).length, 0);
  }],
]);
