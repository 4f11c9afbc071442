// What the journeys of this folder share: clients of viem and ethers, deploying, sending, and the names of errors.
import assert from 'node:assert/strict';
import { Contract, ContractFactory, JsonRpcProvider, Wallet } from 'ethers';
import { ContractFunctionRevertedError, createPublicClient, createWalletClient, http, toHex } from 'viem';
import { mnemonicToAccount } from 'viem/accounts';
import { until } from '../check.mjs';
import { endpoint } from '../control.mjs';
import { PATIENT, PHRASE, viemChain } from '../evm.mjs';
import { contracts } from './contracts.mjs';

const common = { chain: viemChain({ http: [endpoint] }), transport: http(endpoint, PATIENT), cacheTime: 0, pollingInterval: 20 };
/** viem, and ethers. */
export const node = createPublicClient(common);
export const ethers = new JsonRpcProvider(endpoint, undefined, { cacheTimeout: -1, pollingInterval: 20 });
/** The accounts in viem and in ethers: each takes some time to derive. */
const accounts = Array.from({ length: 10 }, (_, addressIndex) => mnemonicToAccount(PHRASE, { addressIndex }));
const signers = accounts.map((account) => new Wallet(toHex(account.getHdKey().privateKey), ethers));
/** The account of this number with its key here, in viem and in ethers. */
export const wallet = (n) => createWalletClient({ ...common, account: accounts[n] });
export const signer = (n) => signers[n];
/** The same account in viem, whose key the node has. */
export const walletOfNode = (n) => createWalletClient({ ...common, account: addressOf(n) });
export const addressOf = (n) => accounts[n].address;

/** The receipt of a transaction that is in a block. */
export async function mined(hash) {
  let receipt;
  await until('the transaction is in a block', async () => {
    receipt = await node.getTransactionReceipt({ hash }).catch(() => null);
    return receipt !== null;
  });
  return receipt;
}
/** The receipt of a transaction that has to succeed. */
export async function done(hash) {
  const receipt = await mined(hash);
  assert.equal(receipt.status, 'success');
  return receipt;
}

/** Deploys a contract with viem: its address and interface. */
export async function deploy(name, ...args) {
  const { contractAddress } = await done(await wallet(0).deployContract({ ...contracts[name], args }));
  return at(name, contractAddress);
}
/** Deploys a contract with ethers: its address and interface. */
export async function deployWithEthers(name, ...args) {
  const { abi, bytecode } = contracts[name];
  const contract = await new ContractFactory(abi, bytecode, signer(0)).deploy(...args);
  await contract.deploymentTransaction().wait(1, PATIENT.timeout);
  return at(name, await contract.getAddress());
}
/** The contract at an address, with the interface of this name. */
export const at = (name, address) => ({ address, abi: contracts[name].abi });
/** The contract with another one's errors, too, which it passes on. */
export const withErrorsOf = ({ abi }, contract) => ({ ...contract, abi: [...contract.abi, ...abi.filter(({ type }) => type === 'error')] });
/** The contract in ethers; whoever signs sends to it. */
export const inEthers = ({ address, abi }, runner = ethers) => new Contract(address, abi, runner);

export const read = (contract, functionName, ...args) => node.readContract({ ...contract, functionName, args });
/** Sends a call of a contract with viem; the receipt of its success. */
export const write = async (from, contract, functionName, ...args) =>
  done(await from.writeContract({ ...contract, functionName, args }));
/** Sends a call of a contract with ethers; the receipt of its success. */
export const sent = async (call) => (await call).wait(1, PATIENT.timeout);

/** The error that a contract gives with viem: its name and its arguments. */
export async function refusal(promise) {
  const error = await promise.then(() => assert.fail('it went through'), (reason) => reason);
  const reverted = error.walk?.((cause) => cause instanceof ContractFunctionRevertedError);
  if (!reverted?.data) throw error;
  return [reverted.data.errorName, ...(reverted.data.args ?? [])];
}
/** The same with ethers, which decodes the errors of calls and leaves those of estimates to the interface. */
export async function refusalInEthers(contract, promise) {
  const error = await promise.then(() => assert.fail('it went through'), (reason) => reason);
  const parsed = error.revert ?? (error.data && contract.interface.parseError(error.data));
  if (!parsed) throw error;
  return [parsed.name, ...parsed.args];
}
/** The refusal of a call that the account of this number would send. */
export const refused = (n, contract, functionName, ...args) =>
  refusal(node.simulateContract({ ...contract, functionName, args, account: addressOf(n) }));

/** What a contract says of its signatures (ERC-5267). OpenZeppelin's have no salt; viem says zero. */
export async function domainOf({ address }) {
  const { domain: { salt, ...domain } } = await node.getEip712Domain({ address });
  assert.equal(BigInt(salt), 0n);
  return domain;
}

/** The logs of one event of a contract since a block. */
export const events = (contract, eventName, fromBlock = 0n) => node.getContractEvents({ ...contract, eventName, fromBlock });
