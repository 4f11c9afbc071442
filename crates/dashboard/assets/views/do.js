// What a development network can be made to do, each form with the equal commands.

import { knownAccounts } from '../chain/assets.js';
import { evm, node } from '../chain/node.js';
import { h } from '../parts/dom.js';
import { panel, viewTitle } from '../parts/layout.js';
import { controls, snapshots } from './do/controls.js';
import { deployForm } from './do/deploy.js';
import { moveForm, payForms } from './do/pay.js';

/** The view. */
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
