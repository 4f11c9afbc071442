// Sending on a development network: from accounts of the node, and by users of its keystore that hold public keys.

import { evm, ext, nat, node, xvm } from './node.js';

const WAIT_MS = 15_000;
const EVERY_MS = 100;

/** Polls until `ask()` returns something; null after the wait. */
export async function waitFor(ask, waitMs = WAIT_MS) {
  const end = performance.now() + waitMs;
  for (;;) {
    const found = await ask();
    if (found || performance.now() > end) return found ?? null;
    await new Promise((resolve) => { setTimeout(resolve, EVERY_MS); });
  }
}

/** Sends a transaction from an account of the node: `{ hash, receipt }`, without a receipt if no block comes. */
export async function sendEvm(transaction) {
  const hash = await evm('evm_sendTransaction', transaction);
  const isAuto = await evm('anvil_getAutomine').catch(() => true);
  const receipt = await waitFor(() => evm('evm_getTransactionReceipt', hash), isAuto ? WAIT_MS : 500);
  return { hash, receipt };
}

const users = new Map();

/** `{ username, password }` of a user that has the key of a known account on both chains. */
export function userOf(account) {
  if (!users.has(account.address)) {
    const made = create(account);
    users.set(account.address, made);
    made.catch(() => users.delete(account.address));
  }
  return users.get(account.address);
}

async function create({ key }) {
  const random = [...crypto.getRandomValues(new Uint8Array(12))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  const user = { username: `page-${random.slice(0, 12)}`, password: `Dash-${random}-9!` };
  const privateKey = `0x${key}`;
  await ext('keystore', 'createUser', user);
  await Promise.all([xvm('xvm.importKey', { ...user, privateKey }), node.evm && nat('nat.importKey', { ...user, privateKey })]);
  return user;
}

/** Sends an asset on X and waits until it is accepted; resolves to the transaction's ID. */
export async function sendX(account, { assetID, amount, to, memo }) {
  const { txID } = await xvm('xvm.send', { ...(await userOf(account)), assetID, amount: String(amount), to, memo });
  await acceptedX(txID);
  return txID;
}

/** Exports from X to an address of C. */
export async function exportX(account, { amount, to }) {
  const { txID } = await xvm('xvm.export', { ...(await userOf(account)), assetID: node.assetID, amount: String(amount), to });
  await acceptedX(txID);
  return txID;
}

/** Imports on C what X exported to the account's key. */
export async function importC(account, to) {
  const { txID } = await nat('nat.import', { ...(await userOf(account)), sourceChain: 'X', to });
  await acceptedC(txID);
  return txID;
}

/** Exports from C to an address of X. */
export async function exportC(account, { amount, to }) {
  const { txID } = await nat('nat.export', { ...(await userOf(account)), assetID: node.assetID, amount: String(amount), to });
  await acceptedC(txID);
  return txID;
}

/** Imports on X what C exported to the account's key. */
export async function importX(account, to) {
  const { txID } = await xvm('xvm.import', { ...(await userOf(account)), sourceChain: node.evm.alias, to });
  await acceptedX(txID);
  return txID;
}

async function acceptedX(txID) {
  await waitFor(async () => ended(await xvm('xvm.getTxStatus', { txID, includeReason: true })), 30_000)
    ?? late(txID);
}

async function acceptedC(txID) {
  await waitFor(async () => ended(await nat('nat.getAtomicTxStatus', { txID, includeReason: true })), 30_000)
    ?? late(txID);
}

function ended({ status, reason }) {
  if (status === 'Rejected' || status === 'Dropped') throw new Error(`the transaction was ${status.toLowerCase()}${reason ? `: ${reason}` : ''}`);
  return status === 'Accepted';
}

function late(txID) {
  throw new Error(`transaction ${txID} waits for a block. If blocks are made on request only, mine one`);
}
