// What a text of the search box names; one meaning leads straight to its view.

import { find } from '../chain/find.js';
import { oneLine, visible } from '../format/text.js';
import { h } from '../parts/dom.js';
import { id } from '../parts/id.js';
import { panel, viewTitle } from '../parts/layout.js';
import { table } from '../parts/table.js';

const COLUMNS = [
  { title: 'What', render: (item) => visible(item.what) },
  { title: 'ID', render: (item) => id(item.id, { href: item.href }) },
];

/** The view. */
export async function render({ text }, signal) {
  const found = await find(text, signal);
  if (found.length === 1 && !signal.aborted) location.replace(found[0].href);
  return { title: 'Search', content: [
    viewTitle('Search', h('span.mono', null, oneLine(text, 120))),
    found.length ? panel('Found', table(COLUMNS, found, { label: 'Found' }), { flush: true }) : nothing(),
  ] };
}

function nothing() {
  return panel('Nothing found', [
    h('p', null, 'Neither chain of this node knows it. What can be found:'),
    h('dl.facts', null, [
      ['Block', 'a height, the hash of a C block (0x and 64 digits), the ID of an X block'],
      ['Transaction', 'a C hash (0x and 64 digits), an X or atomic ID'],
      ['Address', 'X-, P- or C- and bech32, or 0x and 40 digits'],
      ['Asset', 'its ID, an alias, a name or a symbol'],
      ['UTXO', 'the transaction that made it, a colon and the index: ID:0'],
    ].map(([name, value]) => [h('dt', null, name), h('dd', null, value)])),
  ]);
}
