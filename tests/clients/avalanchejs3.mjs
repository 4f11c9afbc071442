// avalanchejs 3 against a node: `node avalanchejs3.mjs URL`.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { FUNDED, FUNDED_ACCOUNT, FUNDED_KEY, OTHER, OTHER_ACCOUNT, call, steps, until } from './check.mjs';

const { Avalanche, BN, BinTools, Buffer } = createRequire(import.meta.url)('avalanchejs3');
const { SECPTransferOutput, SECPMintOutput, InitialStates, MinterSet } =
  createRequire(import.meta.url)('avalanchejs3/dist/apis/avm/index.js');
const { OutputOwners } = createRequire(import.meta.url)('avalanchejs3/dist/common/output.js');

const url = new URL(process.argv[2]);
const network = new Avalanche(url.hostname, Number(url.port), 'http', 12345);
const x = network.XChain();
const bintools = BinTools.getInstance();
x.keyChain().importKey(FUNDED_KEY);
const c = network.CChain();
c.keyChain().importKey(FUNDED_KEY);
const own = `X-${FUNDED}`;
const ownOnC = `C-${FUNDED}`;
const other = `X-${OTHER}`;
const ownBytes = x.parseAddress(own);
const memo = Buffer.from('avalanchejs 3');
const NOW = new BN(Math.floor(Date.now() / 1000));

const utxos = async (address = own, source = undefined) => (await x.getUTXOs(address, source)).utxos;

/** Signs, issues and waits for the acceptance. */
async function accept(unsigned) {
  const id = await x.issueTx(unsigned.sign(x.keyChain()));
  await until(`${id} is accepted`, async () => {
    const status = await x.getTxStatus(id);
    const name = typeof status === 'string' ? status : status.status;
    assert.notEqual(name, 'Rejected');
    return name === 'Accepted';
  });
  return id;
}

/** The same for the C-Chain's atomic transactions. */
async function acceptOnC(unsigned) {
  const id = await c.issueTx(unsigned.sign(c.keyChain()));
  await until(`${id} is accepted`, async () => {
    const status = await c.getAtomicTxStatus(id);
    assert.ok(['Accepted', 'Processing'].includes(status), status);
    return status === 'Accepted';
  });
  return id;
}

const onC = (method, ...params) => call(url.origin, '/ext/bc/C/rpc', method, params);

/** What an atomic transaction of one input and one output costs, twice. */
const feeOnC = async () => new BN(2 * Math.ceil((11_230 * Number(await c.getBaseFee())) / 1e9));

/** Amount of an asset that an address holds. */
const balance = async (address, asset) => Number((await x.getBalance(address, asset)).balance);

/** ID of the first UTXO of an asset with an output of that type. */
async function find(asset, outputType) {
  const found = (await utxos())
    .getAllUTXOs()
    .find((u) => bintools.cb58Encode(u.getAssetID()) === asset && u.getOutput().getOutputID() === outputType);
  assert.ok(found, `no output of type ${outputType}`);
  return found;
}

let native;
let coin;
let nft;

await steps([
  ['the native asset', async () => {
    native = bintools.cb58Encode(await x.getAVAXAssetID());
    assert.equal(native, '2fombhL7aGPwj3KH4bfrmJwW6PVnMobf9Y2fn9GwxiAAJyFDbe');
    const described = await x.getAssetDescription('AVAX');
    assert.equal(described.name, 'Avalanche');
    assert.equal(Number(described.denomination), 9);
    const fee = await call(url.origin, '/ext/bc/X', 'avm.getTxFee', {});
    x.setTxFee(new BN(fee.txFee));
    x.setMintTxFee(new BN(fee.txFee));
    x.setCreationTxFee(new BN(fee.createAssetTxFee));
    // This release takes the creation fee from its table of networks and nothing else.
    x.getDefaultCreationTxFee = () => new BN(fee.createAssetTxFee);
  }],

  ['transfer', async () => {
    const tx = await x.buildBaseTx(await utxos(), new BN(123_456), native, [other], [own], [own], memo, NOW);
    const id = await accept(tx);
    assert.equal(await balance(other, 'AVAX'), 123_456);
    const json = await x.getTx(id, 'json');
    assert.equal(json.unsignedTx.memo, `0x${memo.toString('hex')}`);
    assert.match(await x.getTx(id), /^0x[0-9a-f]+$/);
  }],

  ['create an asset', async () => {
    const holding = new SECPTransferOutput(new BN(1000), [ownBytes], new BN(0), 1);
    const minting = new SECPMintOutput([ownBytes], new BN(0), 1);
    const states = new InitialStates();
    states.addOutput(holding);
    const tx = await x.buildCreateAssetTx(
      await utxos(), [own], [own], states, 'Client coin', 'CLI', 2, [minting], memo, NOW,
    );
    coin = await accept(tx);
    assert.equal(await balance(own, coin), 1000);
    const described = await x.getAssetDescription(coin);
    assert.deepEqual([described.name, described.symbol, Number(described.denomination)], ['Client coin', 'CLI', 2]);
  }],

  ['mint', async () => {
    const SECP_MINT_OUTPUT = 6;
    const utxo = await find(coin, SECP_MINT_OUTPUT);
    const owner = utxo.getOutput();
    const minted = new SECPTransferOutput(new BN(55), [x.parseAddress(other)], new BN(0), 1);
    const tx = await x.buildSECPMintTx(await utxos(), owner, minted, [own], [own], utxo.getUTXOID(), memo, NOW);
    await accept(tx);
    assert.equal(await balance(other, coin), 55);
    // The right to mint is there again.
    await find(coin, SECP_MINT_OUTPUT);
  }],

  ['NFT: create, mint, transfer', async () => {
    const NFT_MINT_OUTPUT = 10;
    const NFT_TRANSFER_OUTPUT = 11;
    const set = new MinterSet(1, [ownBytes]);
    const create = await x.buildCreateNFTAssetTx(await utxos(), [own], [own], [set, set], 'Client NFT', 'NFT', memo, NOW);
    nft = await accept(create);
    const mint = await find(nft, NFT_MINT_OUTPUT);
    const owners = new OutputOwners([ownBytes], new BN(0), 1);
    const payload = Buffer.from('a picture');
    const minting = await x.buildCreateNFTMintTx(
      await utxos(), owners, [own], [own], mint.getUTXOID(), mint.getOutput().getGroupID(), payload, memo, NOW,
    );
    await accept(minting);
    const minted = await find(nft, NFT_TRANSFER_OUTPUT);
    assert.equal(minted.getOutput().getPayload().toString(), 'a picture');
    const transfer = await x.buildNFTTransferTx(await utxos(), [other], [own], [own], minted.getUTXOID(), memo, NOW);
    const id = await accept(transfer);
    const json = await x.getTx(id, 'json');
    assert.deepEqual(json.unsignedTx.operations[0].operation.output.addresses, [other]);
  }],

  ['pages', async () => {
    const all = (await utxos()).getAllUTXOs().length;
    assert.ok(all >= 3);
    const listed = [];
    let start;
    for (;;) {
      const page = await x.getUTXOs(own, undefined, 2, start);
      listed.push(...page.utxos.getAllUTXOs().map((u) => u.getUTXOID()));
      if (Number(page.numFetched) < 2) break;
      start = page.endIndex;
    }
    assert.equal(listed.length, all);
    assert.equal(new Set(listed).size, all);
  }],

  ['transactions of an address', async () => {
    const first = await x.getAddressTxs(own, 0, 2, native);
    assert.equal(first.txIDs.length, 2);
    const rest = await x.getAddressTxs(own, Number(first.cursor), 1024, native);
    assert.ok(rest.txIDs.length > 0 && !rest.txIDs.includes(first.txIDs[0]));
  }],

  ['export to P', async () => {
    const tx = await x.buildExportTx(
      await utxos(), new BN(5_000_000), '11111111111111111111111111111111LpoYY', [`P-${OTHER}`], [own], [own], memo, NOW,
    );
    await accept(tx);
    const there = await network.PChain().getUTXOs(`P-${OTHER}`, 'X');
    assert.equal(there.utxos.getAllUTXOs().length, 1);
  }],

  ['import from P', async () => {
    const before = await balance(own, 'AVAX');
    const tx = await x.buildImportTx(
      await utxos(), [own], '11111111111111111111111111111111LpoYY', [own], [own], [own], memo, NOW,
    );
    await accept(tx);
    assert.ok((await balance(own, 'AVAX')) > before);
    assert.equal((await utxos(own, 'P')).getAllUTXOs().length, 0);
  }],

  ['from X to C', async () => {
    // This release's table has the ID of an older local network.
    const cChain = await network.Info().getBlockchainID('C');
    c.refreshBlockchainID(cChain);
    c.setBlockchainAlias('C');
    const tx = await x.buildExportTx(await utxos(), new BN(5_000_000_000), cChain, [ownOnC], [own], [own], memo, NOW);
    await accept(tx);
    const there = (await c.getUTXOs(ownOnC, 'X')).utxos;
    assert.equal(there.getAllUTXOs().length, 1);
    const fee = await feeOnC();
    const imported = await c.buildImportTx(there, OTHER_ACCOUNT, [ownOnC], x.getBlockchainID(), [ownOnC], fee);
    const id = await acceptOnC(imported);
    assert.match(await c.getAtomicTx(id), /^0x[0-9a-f]+$/);
    const balance = BigInt(await onC('eth_getBalance', OTHER_ACCOUNT, 'latest'));
    assert.equal(balance, (5_000_000_000n - BigInt(fee.toString())) * 1_000_000_000n);
  }],

  ['from C to X', async () => {
    const nonce = Number(await onC('eth_getTransactionCount', FUNDED_ACCOUNT, 'latest'));
    const tx = await c.buildExportTx(
      new BN(3_000_000_000), native, x.getBlockchainID(), FUNDED_ACCOUNT, ownOnC, [own], nonce, new BN(0), 1, await feeOnC(),
    );
    await acceptOnC(tx);
    const before = await balance(own, 'AVAX');
    const back = await x.buildImportTx(await utxos(), [own], c.getBlockchainID(), [own], [own], [own], memo, NOW);
    await accept(back);
    assert.ok((await balance(own, 'AVAX')) > before);
    assert.equal((await utxos(own, 'C')).getAllUTXOs().length, 0);
  }],
]);
