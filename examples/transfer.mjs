// Moves five coins from X to C with avalanchejs 5: `node transfer.mjs [URL]`, with `esker dev` running.
import { Context, TransferableOutput, addTxSignatures, avm, evm, utils } from '@avalabs/avalanchejs';

const url = process.argv[2] ?? 'http://127.0.0.1:9650';
// The key of local networks, which is funded on both chains. It is public.
const KEY = 'PrivateKey-ewoqjP7PxY4yr3iLTpLisriqt94hdyDFNgchSxGGztUrTXtNN';
const OWNER = 'local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u';
const RECEIVER = '0x8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC';
/** In billionths of a coin. */
const AMOUNT = 5_000_000_000n;
const PATIENCE_MS = 30_000;

const x = new avm.AVMApi(url);
const c = new evm.EVMApi(url);
const owner = utils.bech32ToBytes(`X-${OWNER}`);
const privateKey = utils.base58check.decode(KEY.replace('PrivateKey-', ''));
const context = await Context.getContextFromURI(url);

/** Signs and issues a transaction; gives its ID once it is accepted. */
async function accept(unsignedTx, api, getStatus) {
  await addTxSignatures({ unsignedTx, privateKeys: [privateKey] });
  const { txID } = await api.issueSignedTx(unsignedTx.getSignedTx());
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const { status } = await getStatus(txID);
    if (status === 'Accepted') return txID;
    if (status !== 'Processing') throw new Error(`${txID} is ${status}`);
    if (Date.now() > deadline) throw new Error(`${txID} is not accepted after ${PATIENCE_MS} ms`);
    await new Promise((resume) => setTimeout(resume, 10));
  }
}

const { utxos: coins } = await x.getUTXOs({ addresses: [`X-${OWNER}`] });
const output = TransferableOutput.fromNative(context.avaxAssetID, AMOUNT, [owner]);
const exportTx = avm.newExportTx(context, context.cBlockchainID, [owner], coins, [output]);
const exported = await accept(exportTx, x, (txID) => x.getTxStatus({ txID }));
console.log(`exported from X by ${exported}`);

const { utxos } = await c.getUTXOs({ addresses: [`C-${OWNER}`], sourceChain: 'X' });
// In gwei, twice the base fee of the last block: fees may rise before the next one.
const baseFee = (2n * (await c.getBaseFee())) / 1_000_000_000n;
const receiver = utils.hexToBuffer(RECEIVER);
const importTx = evm.newImportTxFromBaseFee(context, receiver, [owner], utxos, context.xBlockchainID, baseFee);
const imported = await accept(importTx, c, (txID) => c.getAtomicTxStatus(txID));
console.log(`imported to C by ${imported}`);
