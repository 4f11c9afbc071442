// Creates an asset and an NFT, mints and sends them with avalanchejs 5: `node assets.mjs [URL]`, with `esker dev` running.
// The library has the parts of these transactions and no builders, so this puts them together.
import * as lib from '@avalabs/avalanchejs';

const { BigIntPr, Byte, Bytes, Input, Int, OutputOwners, OutputOwnersList, Stringpr, TypeSymbols } = lib;
const { avm, avmSerial, utils } = lib;

const url = process.argv[2] ?? 'http://127.0.0.1:9650';
// The key of local networks, which is funded. It is public.
const KEY = 'PrivateKey-ewoqjP7PxY4yr3iLTpLisriqt94hdyDFNgchSxGGztUrTXtNN';
const OWNER = 'X-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u';
const RECEIVER = 'X-local1q7nedwpmvgjks36jxfm7kel0xledhg7m5kum8z';
const PATIENCE_MS = 30_000;
/** Positions of the chain's feature extensions. */
const [SECP256K1, NFT] = [0, 1];

const x = new avm.AVMApi(url);
const context = await lib.Context.getContextFromURI(url);
const codec = avmSerial.getAVMManager().getDefaultCodec();
const key = utils.base58check.decode(KEY.replace('PrivateKey-', ''));
const owner = utils.bech32ToBytes(OWNER);
const receiver = utils.bech32ToBytes(RECEIVER);
const owners = (...addresses) => OutputOwners.fromNative(addresses);

/** An object that the codec writes as its type of that name: the library does not export its NFT classes. */
const nft = (name, ...fields) => ({
  _type: TypeSymbols[name],
  toBytes: (codec) => utils.concatBytes(...fields.map((field) => field.toBytes(codec))),
});

const utxosOf = async (address, assetId) =>
  (await x.getUTXOs({ addresses: [address] })).utxos.filter((utxo) => utxo.assetId.toString() === assetId);

/** The UTXO of an asset whose output is of that type. */
async function find(assetId, type) {
  const found = (await utxosOf(OWNER, assetId)).find(({ output }) => output._type === TypeSymbols[type]);
  if (!found) throw new Error(`${assetId} has no ${type}`);
  return found;
}

/** Inputs that pay a fee, and the change. */
async function paying(fee) {
  const coins = await utxosOf(OWNER, context.avaxAssetID);
  return avm.newBaseTx({ ...context, baseTxFee: fee }, [owner], coins, []).getTx().baseTx;
}

/** Issues bytes with their credentials; gives the ID once the transaction is accepted. */
async function accept(bytes) {
  const { txID } = await x.issueTx({ tx: utils.bufferToHex(utils.addChecksum(bytes)) });
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const { status } = await x.getTxStatus({ txID });
    if (status === 'Accepted') return txID;
    if (status !== 'Processing') throw new Error(`${txID} is ${status}`);
    if (Date.now() > deadline) throw new Error(`${txID} is not accepted after ${PATIENCE_MS} ms`);
    await new Promise((resume) => setTimeout(resume, 10));
  }
}

/** Signs and issues. Each input of the base transaction has a credential, then each operation one of its type. */
async function issue(tx, base, ...operations) {
  const unsigned = utils.concatBytes(new lib.Short(0).toBytes(), codec.PackPrefix(tx));
  const signature = new lib.Signature(await lib.secp256k1.sign(unsigned, key));
  const credential = (name) => nft(name, new Int(1), signature);
  const types = [...base.inputs.map(() => 'Credential'), ...operations];
  return accept(utils.concatBytes(unsigned, codec.PackPrefixList(types.map(credential))));
}

async function createAsset(name, symbol, denomination, extension, outputs) {
  const base = await paying(context.createAssetTxFee);
  const states = [new avmSerial.InitialState(new Int(extension), outputs)];
  const parts = [new Stringpr(name), new Stringpr(symbol), new Byte(Uint8Array.of(denomination)), states];
  return issue(new avmSerial.CreateAssetTx(base, ...parts), base);
}

/** One operation on a UTXO. */
async function operate(utxo, operation, credential) {
  const base = await paying(context.baseTxFee);
  const parts = [utxo.assetId, new Int(1), utxo.utxoId];
  const of = { toBytes: () => utils.concatBytes(...parts.map((part) => part.toBytes(codec)), codec.PackPrefix(operation)) };
  return issue(new avmSerial.OperationTx(base, [of]), base, credential);
}

// An asset with two decimal places: 1000.00 at first, and the right to mint more. Outputs are in the order of their bytes.
const asset = await createAsset('Example', 'EXM', 2, SECP256K1, [
  new lib.MintOutput(owners(owner)),
  new lib.TransferOutput(new BigIntPr(100_000n), owners(owner)),
]);
console.log(`asset ${asset}`);

const right = await find(asset, 'SecpMintOutput');
const more = new lib.TransferOutput(new BigIntPr(50_000n), owners(owner));
await operate(right, new lib.MintOperation(Input.fromNative([0]), right.output, more), 'Credential');
console.log(`minted: ${(await x.getBalance({ address: OWNER, assetID: asset })).balance}`);

// A transfer of it, which the library builds.
const { utxos } = await x.getUTXOs({ addresses: [OWNER] });
const sent = lib.TransferableOutput.fromNative(asset, 120_000n, [receiver]);
const unsignedTx = avm.newBaseTx(context, [owner], utxos.filter(({ output }) => 'amount' in output), [sent]);
await lib.addTxSignatures({ unsignedTx, privateKeys: [key] });
await accept(unsignedTx.getSignedTx().toBytes());
console.log(`sent: ${(await x.getBalance({ address: RECEIVER, assetID: asset })).balance}`);

// NFTs of one family, whose group 0 the owner may mint.
const family = await createAsset('Example pictures', 'PIC', 0, NFT, [nft('NftFxMintOutput', new Int(0), owners(owner))]);
console.log(`NFT family ${family}`);

const payload = new Bytes(new TextEncoder().encode('https://example.com/1.png'));
const mint = nft('NftFxMintOperation', Input.fromNative([0]), new Int(0), payload, new OutputOwnersList([owners(owner)]));
await operate(await find(family, 'NftFxMintOutput'), mint, 'NftFxCredential');
const picture = await find(family, 'NftFxTransferOutput');
console.log(`NFT minted: group ${picture.output.groupId.value()}`);

const moved = nft('NftFxTransferOperation', Input.fromNative([0]), new Int(0), payload, owners(receiver));
await operate(picture, moved, 'NftFxCredential');
console.log(`NFT sent: ${(await utxosOf(RECEIVER, family)).length} at ${RECEIVER}`);
