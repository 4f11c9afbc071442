// What a development network can be made to do, each form with the equal commands.

import { encode, keepAbi, parseArtifact, sendEvm } from '../chain/evm.js';
import { evm, node, urlOf } from '../chain/node.js';
import { knownAccounts } from '../chain/utxo.js';
import { visible } from '../format/text.js';
import { errorNotice, h, panel, replace, viewTitle } from '../parts/base.js';
import { actionForm, curl, field } from '../parts/form.js';
import { addressId, txId } from '../parts/values.js';
import { controls, snapshots } from './do/controls.js';
import { moveForm, payForms } from './do/pay.js';

export async function render(_, signal) {
  if (!node.isDev) throw new Error('This node is not of a development network: it has no controls');
  const accounts = await accountChoices();
  return { title: 'Do', content: [
    viewTitle('Do', h('span.muted', null, 'on this development network')),
    accounts.list,
    h('div.masonry', null,
      payForms(accounts).map(([name, form]) => panel(name, form)),
      node.x && accounts.keys.length ? panel('Move between the chains', moveForm(accounts)) : null,
      panel('Snapshots', snapshots(signal)),
      controls(signal).map(([name, form]) => panel(name, form)),
      panel('Deploy a contract', deployForm(accounts))),
  ] };
}

/** The accounts that the node signs for, and those whose keys are public and have a place on X. */
async function accountChoices() {
  const signed = await evm('evm_accounts');
  const known = knownAccounts();
  const nameOf = (address) => known.find((account) => account.address === address.toLowerCase())?.name;
  const keys = known.filter((account) => account.isWellKnown || signed.some((address) => address.toLowerCase() === account.address));
  const ordered = [...signed, ...(signed.length ? [keys.find((account) => account.isWellKnown)?.address] : [])].filter(Boolean);
  return {
    signed: [...new Set(ordered)].map((address) => [address, `${nameOf(address) ?? 'impersonated'}, ${address.slice(0, 8)}…${address.slice(-4)}`]),
    keys,
    keyChoices: keys.map((account) => [account.address, `${account.name}, ${account.x.slice(0, 13)}…${account.x.slice(-4)}`]),
    byAddress: (address) => keys.find((account) => account.address === address),
    list: h('datalist', { id: 'accounts' }, known.flatMap((account) => [h('option', { value: account.address }, account.name), node.x ? h('option', { value: account.x }, account.name) : null])),
  };
}

/** The form: first the artifact, then the constructor's arguments. */
export function deployForm(accounts) {
  const file = field('Artifact of Hardhat or Foundry (JSON)', { name: 'artifact', type: 'file', accept: '.json,application/json', wide: true });
  const place = h('div');
  file.input.addEventListener('change', async () => {
    try {
      const text = await file.input.files[0].text();
      const artifact = parseArtifact(text);
      if (!artifact.bytecode) throw new Error('this artifact has no bytecode: it is of an interface or an abstract contract');
      replace(place, constructorForm(artifact, JSON.parse(text), accounts));
    } catch (error) {
      replace(place, errorNotice(error));
    }
  });
  return [file, place];
}

function constructorForm({ name, abi, bytecode }, raw, accounts) {
  const inputs = abi.find((item) => item.type === 'constructor')?.inputs ?? [];
  const from = field('From', { name: 'from', options: accounts.signed });
  const fields = inputs.map((input, i) => field(`${visible(input.name || `argument ${i}`)}, ${input.type}`, { name: `arg${i}`, mono: true, hint: /\]$|^tuple/.test(input.type) ? 'as JSON' : undefined }));
  const data = () => bytecode + encode(inputs, fields.map((one, i) => (/\]$|^tuple/.test(inputs[i].type) ? JSON.parse(one.input.value || '[]') : one.input.value)));
  return h('div.form', null, h('h3', null, visible(name)), actionForm({
    fields: [from, ...fields], action: `Deploy ${visible(name).slice(0, 40)}`,
    run: async () => {
      await teach(name, raw);
      const { hash, receipt } = await sendEvm({ from: from.input.value, data: data() });
      if (!receipt) return ['Sent, and waits for a block: ', txId('c', hash)];
      if (!Number(receipt.status)) throw new Error(`the constructor failed: see transaction ${hash}`);
      keepAbi(receipt.contractAddress, name, abi);
      return ['Deployed at ', addressId(receipt.contractAddress), ' by ', txId('c', hash)];
    },
    commands: () => [
      ['cast', `cast send --rpc-url ${urlOf(node.evm.path)} --from ${from.input.value} --unlocked --create BYTECODE`],
      curl(node.evm.path, 'evm_sendTransaction', [{ from: from.input.value, data: 'BYTECODE' }]),
      ['esker', `esker call evm_sendTransaction '{"from":"${from.input.value}","data":"BYTECODE"}'`],
    ],
  }));
}

/** Gives the artifact to the node, whose traces and errors then have its names. */
async function teach(name, raw) {
  const code = (value) => ({ object: String(value?.object ?? value ?? '').replace(/^0x/, '') });
  const contract = { abi: raw.abi ?? raw, evm: { bytecode: code(raw.bytecode), deployedBytecode: { ...code(raw.deployedBytecode), immutableReferences: raw.immutableReferences ?? raw.deployedBytecode?.immutableReferences ?? {} } } };
  await evm('hardhat_addCompilationResult', '0.8.0', {}, { contracts: { [raw.sourceName ?? 'contract.sol']: { [name]: contract } } }).catch(() => {});
}
