// An asset of the X-Chain: what it is, who may mint it, and its transactions.

import { replay } from '../chain/live.js';
import { node, xvm } from '../chain/node.js';
import { outputsOf } from '../chain/utxo.js';
import { grouped, oneLine, visible } from '../format/text.js';
import { awaited, facts, h, longText, panel, table, viewTitle } from '../parts/base.js';
import { outputCells } from '../parts/utxo.js';
import { ago, assetAmount, blockLink, id, txId } from '../parts/values.js';

const SHOWN = 200;
const READ = 20_000;

export async function render({ assetID: name }, signal) {
  const known = await xvm('xvm.getAssetDescription', { assetID: name }, signal);
  const { assetID } = known;
  const { tx } = await xvm('xvm.getTx', { txID: assetID, encoding: 'json' }, signal);
  const initial = outputsOf({ ...tx, id: assetID, unsignedTx: { outputs: [], initialStates: tx.unsignedTx.initialStates } }, 'X');
  const total = initial.reduce((sum, item) => sum + BigInt(item.output.amount ?? 0), 0n);
  return { title: `Asset ${oneLine(known.name, 40)}`, content: [
    viewTitle(`Asset ${oneLine(known.name, 128)}`, assetID === node.assetID ? h('span.badge', null, 'native') : null),
    h('section.panel', null, h('div.panel-body', null, facts([
      ['ID', id(assetID, { whole: true })],
      ['Name', longText(known.name, 128)],
      ['Symbol', visible(known.symbol)],
      ['Decimal places', known.denomination],
      ['Made at first', total > 0n && assetAmount(total, assetID)],
      ['More can be made', initial.some((item) => /mint right/.test(item.type)) ? 'yes, by its minters' : 'no'],
      ['Created by', tx.credentials?.length ? txId('x', assetID) : 'the genesis of the chain'],
    ]))),
    panel(`What its creation made (${grouped(initial.length)})`, table([
      ['What', (item) => item.type], ...outputCells((item) => item),
    ], initial.slice(0, SHOWN), { label: 'What its creation made' }), { flush: true }),
    panel('Transactions', awaited(() => transactions(assetID, signal), { signal, label: 'Reading the chain' }), { flush: true }),
  ] };
}

async function transactions(assetID, signal) {
  const found = [];
  const how = await replay({ kind: 'transactions', assetIDs: [assetID] }, (item) => {
    if (item.removed) found.pop();
    else found.push(item);
  }, { signal, atMost: READ });
  return [
    how === 'bound' ? h('p.empty', null, `These are the first ${grouped(found.length)}: the page reads no more at once.`) : null,
    table([
      ['Block', (item) => blockLink('x', item.height), 'num'],
      ['Transaction', (item) => (item.height === '0' ? h('span.muted', null, 'genesis') : txId('x', item.txID))],
      ['What', (item) => item.type],
      ['Time', (item) => ago(item.time), 'num'],
    ], found.reverse().slice(0, SHOWN), { label: 'Transactions', empty: 'No transactions.' }),
    found.length > SHOWN ? h('p.empty', null, `The newest ${SHOWN} of ${grouped(found.length)}.`) : null,
  ];
}
