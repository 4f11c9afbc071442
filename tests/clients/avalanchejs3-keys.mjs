// avalanchejs 3's keystore and key calls against a node: `node avalanchejs3-keys.mjs URL`.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { FUNDED, FUNDED_ACCOUNT, FUNDED_KEY, OTHER, OTHER_ACCOUNT, call, steps, until } from './check.mjs';

const { Avalanche, BN, Buffer } = createRequire(import.meta.url)('avalanchejs3');

const url = new URL(process.argv[2]);
const network = new Avalanche(url.hostname, Number(url.port), 'http', 12345);
const x = network.XChain();
const keystore = network.NodeKeys();
const own = `X-${FUNDED}`;
const other = `X-${OTHER}`;
const user = 'alice';
const password = 'Str0ng-Pass-W0rd!';

/** Waits for the acceptance. */
async function accepted(id) {
  assert.match(id, /^[1-9A-HJ-NP-Za-km-z]{40,60}$/);
  await until(`${id} is accepted`, async () => {
    const status = await x.getTxStatus(id);
    const name = typeof status === 'string' ? status : status.status;
    assert.notEqual(name, 'Rejected');
    return name === 'Accepted';
  });
  return id;
}

const balance = async (address, asset) => Number((await x.getBalance(address, asset)).balance);

/** Methods that the library has no working function for: its createNFTAsset sends a member of another name. */
const plain = (method, params, path = '/ext/bc/X') =>
  call(url.origin, path, method, { username: user, password, ...params });

/** That a call fails, and with which text. */
const refused = (promise, text) => assert.rejects(promise, (error) => {
  assert.match(error.message, text);
  return true;
});

let exported;
let created;
let nft;

await steps([
  ['users', async () => {
    assert.deepEqual(await keystore.listUsers(), []);
    assert.deepEqual(await keystore.createUser(user, password), {});
    await refused(keystore.createUser(user, password), /user already exists: alice/);
    await refused(keystore.createUser('bob', 'weak'), /password is too weak/);
    assert.deepEqual(await keystore.listUsers(), [user]);
  }],

  ['addresses and keys', async () => {
    assert.equal(await x.importKey(user, password, FUNDED_KEY), own);
    created = await x.createAddress(user, password);
    assert.match(created, /^X-local1/);
    assert.deepEqual(await x.listAddresses(user, password), [own, created]);
    assert.equal(await x.exportKey(user, password, own), FUNDED_KEY);
    await refused(x.listAddresses(user, 'wrong'), /incorrect password: user "alice"/);
    await refused(x.listAddresses('nobody', password), /incorrect password: user "nobody"/);
  }],

  ['exported, imported under another name, deleted', async () => {
    exported = await keystore.exportUser(user, password);
    assert.match(exported, /^0x[0-9a-f]+$/);
    assert.deepEqual(await keystore.importUser('copy', exported, password), {});
    assert.deepEqual(await x.listAddresses('copy', password), [own, created]);
    assert.deepEqual(await keystore.deleteUser('copy', password), {});
    await refused(x.listAddresses('copy', password), /incorrect password: user "copy"/);
  }],

  ['send', async () => {
    const sent = await x.send(user, password, 'AVAX', 1234, other, [own], created, 'memo');
    assert.equal(sent.changeAddr, created);
    await accepted(sent.txID);
    assert.equal(await balance(other, 'AVAX'), 1234);
    const json = await x.getTx(sent.txID, 'json');
    assert.equal(Buffer.from(json.unsignedTx.memo.slice(2), 'hex').toString(), 'memo');
  }],

  ['sendMultiple', async () => {
    const outputs = [1, 2, 3].map((amount) => ({ assetID: 'AVAX', amount: new BN(amount), to: other }));
    const sent = await x.sendMultiple(user, password, outputs, [created], own);
    assert.equal(sent.changeAddr, own);
    await accepted(sent.txID);
    assert.equal(await balance(other, 'AVAX'), 1240);
    await refused(x.send(user, password, 'AVAX', 1, other, [created]), /want to spend 1000001 of asset/);
  }],

  ['assets', async () => {
    const fixed = await accepted(
      await x.createFixedCapAsset(user, password, 'Key gold', 'GOLD', 2, [{ address: other, amount: 70 }]),
    );
    assert.equal(await balance(other, fixed), 70);
    const sets = [{ minters: [own, created], threshold: 2 }];
    const variable = await accepted(await x.createVariableCapAsset(user, password, 'Key silver', 'SLV', 0, sets));
    // The library writes amounts in base 16 here, so that a digit is all that it can mint.
    await accepted(await x.mint(user, password, 5, variable, other, [own]));
    assert.equal(await balance(other, variable), 5);
  }],

  ['NFTs', async () => {
    const sets = [{ minters: [own], threshold: 1 }];
    nft = await accepted((await plain('avm.createNFTAsset', { name: 'Key NFT', symbol: 'NFT', minterSets: sets })).assetID);
    const minted = await x.mintNFT(user, password, undefined, undefined, '0x68656c6c6f', nft, own, 'hexnc');
    await accepted(minted);
    const sent = await x.sendNFT(user, password, undefined, undefined, nft, 0, other);
    await accepted(sent);
    const json = await x.getTx(sent, 'json');
    assert.deepEqual(json.unsignedTx.operations[0].operation.output.addresses, [other]);
    await refused(x.sendNFT(user, password, undefined, undefined, nft, 0, other), /insufficient funds/);
  }],

  ['export to P', async () => {
    await accepted(await x.export(user, password, `P-${OTHER}`, 5_000_000, 'AVAX'));
    const there = await network.PChain().getUTXOs(`P-${OTHER}`, 'X');
    assert.equal(there.utxos.getAllUTXOs().length, 1);
  }],

  ['import from P, and from the other chain of the VM', async () => {
    await accepted(await x.import(user, password, other, 'P'));
    assert.equal(await balance(other, 'AVAX'), 1240 + 12_000_000_000 - 1_000_000);
    // An import of nothing is refused.
    await refused(x.import(user, password, other, 'P'), /no import inputs/);
    const y = '/ext/bc/Y';
    await plain('avm.importKey', { privateKey: FUNDED_KEY }, y);
    const { txID } = await plain('avm.export', { amount: 9_000_000, assetID: 'AVAX', to: own }, y);
    await until('the export is accepted', async () =>
      (await call(url.origin, y, 'avm.getTxStatus', { txID })).status === 'Accepted');
    const before = await balance(other, 'AVAX');
    await accepted(await x.import(user, password, other, 'Y'));
    assert.equal(await balance(other, 'AVAX'), before + 8_000_000);
  }],

  ['to the C-Chain and back', async () => {
    const c = network.CChain();
    const acceptedOnC = (id) => until(`${id} is accepted`, async () => {
      const status = await c.getAtomicTxStatus(id);
      assert.ok(['Accepted', 'Processing'].includes(status), status);
      return status === 'Accepted';
    });
    assert.equal(await c.importKey(user, password, FUNDED_KEY), FUNDED_ACCOUNT);
    assert.equal((await c.exportKey(user, password, FUNDED_ACCOUNT)).privateKey, FUNDED_KEY);
    await accepted(await x.export(user, password, `C-${FUNDED}`, 5_000_000_000, 'AVAX'));
    await acceptedOnC(await c.import(user, password, OTHER_ACCOUNT, 'X'));
    const held = BigInt(await call(url.origin, '/ext/bc/C/rpc', 'eth_getBalance', [OTHER_ACCOUNT, 'latest']));
    assert.ok(held > 4_900_000_000n * 1_000_000_000n);
    await refused(c.importAVAX(user, password, OTHER_ACCOUNT, 'X'), /insufficient AVAX funds to pay transaction fee/);
    await acceptedOnC(await c.export(user, password, other, new BN(3_000_000_000), 'AVAX'));
    await acceptedOnC(await c.exportAVAX(user, password, `P-${OTHER}`, new BN(1_000_000_000)));
    const there = await network.PChain().getUTXOs(`P-${OTHER}`, 'C');
    assert.equal(there.utxos.getAllUTXOs().length, 1);
  }],

  ['wallet', async () => {
    const before = await balance(other, 'AVAX');
    const ids = [];
    for (let n = 0; n < 5; n += 1) {
      const params = { amount: 10, assetID: 'AVAX', to: other };
      ids.push((await plain('wallet.send', params, '/ext/bc/X/wallet')).txID);
    }
    for (const id of ids) await accepted(id);
    assert.equal(await balance(other, 'AVAX'), before + 50);
  }],
]);
