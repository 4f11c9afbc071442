// Key files of the node in ethers 6, and those of ethers in the node: `node ethers6-keys.mjs URL FOLDER`.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Wallet, encryptKeystoreJson, verifyMessage } from 'ethers';
import { JsonRpcProvider } from 'ethers';
import { steps } from './check.mjs';
import { rpcOf } from './evm.mjs';

const [url, folder] = process.argv.slice(2);
const provider = new JsonRpcProvider(rpcOf(url));
const ask = (method, ...params) => provider.send(method, params);
const PASSWORD = 'pässword 1';
const TEXT = '0x68656c6c6f';

/** The text of an account's only file. */
function fileOf(address) {
  const names = readdirSync(folder).filter((name) => name.endsWith(`--${address.slice(2).toLowerCase()}`));
  assert.equal(names.length, 1);
  return readFileSync(join(folder, names[0]), 'utf8');
}

await steps([
  ['a new account of the node', async () => {
    const address = await ask('personal_newAccount', PASSWORD);
    const wallet = await Wallet.fromEncryptedJson(fileOf(address), PASSWORD);
    assert.equal(wallet.address, address);
    assert.equal(await wallet.signMessage('hello'), await ask('personal_sign', TEXT, address, PASSWORD));
    await assert.rejects(Wallet.fromEncryptedJson(fileOf(address), 'wrong'), { code: 'INVALID_ARGUMENT' });
  }],

  ['an imported key', async () => {
    const made = Wallet.createRandom();
    const address = await ask('personal_importRawKey', made.privateKey.slice(2), '');
    const wallet = await Wallet.fromEncryptedJson(fileOf(address), '');
    assert.equal(wallet.privateKey, made.privateKey);
  }],

  ['a file of ethers, put in while the node runs', async () => {
    const { address, privateKey } = Wallet.createRandom();
    const file = await encryptKeystoreJson({ address, privateKey }, PASSWORD, { scrypt: { N: 8192, r: 8, p: 1 } });
    writeFileSync(join(folder, 'from-ethers.json'), file);
    const accounts = await ask('personal_listAccounts');
    assert.ok(accounts.includes(address.toLowerCase()));
    assert.equal(await ask('personal_unlockAccount', address, PASSWORD, 60), true);
    assert.equal(verifyMessage('hello', await ask('eth_sign', address, TEXT)), address);
  }],
]);
provider.destroy();
