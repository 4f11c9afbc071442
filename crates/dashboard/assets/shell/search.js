// The search box: any ID or name leads to its view.

import { announce, h } from '../parts/dom.js';

/** The form; `/` focuses it from anywhere. */
export function searchBox() {
  const input = h('input', {
    type: 'search', id: 'search', name: 'q', autocomplete: 'off', spellcheck: 'false', maxlength: '200',
    placeholder: 'Block, transaction, address, asset, UTXO', 'aria-label': 'Search by block, transaction, address, asset, contract or UTXO',
  });
  const form = h('form.search', { role: 'search', onsubmit: (event) => {
    event.preventDefault();
    const text = input.value.trim();
    if (!text) return announce('Type an ID, a height or a name');
    location.hash = `#/search/${encodeURIComponent(text)}`;
    input.blur();
    return undefined;
  } }, input, h('kbd', { 'aria-hidden': 'true' }, '/'));
  return form;
}
