// The header: name, network, views, search, and the state of the connection.

import { live } from '../chain/live.js';
import { node } from '../chain/node.js';
import { oneLine } from '../format/text.js';
import { announce, h, replace } from '../parts/base.js';

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

const STATES = {
  connecting: ['connecting', 'Asking the node'],
  live: ['live', 'New blocks arrive over websockets'],
  polling: ['polling', 'The node answers, but its websockets do not: the page asks every two seconds'],
  lost: ['lost', 'The node does not answer'],
};

/** Fills the header; returns a function that marks the view of a path. */
export function header(place) {
  const network = h('span.muted.nowrap');
  const state = h('span.state');
  const lost = h('div.lost', { hidden: true, role: 'alert' });
  const nav = h('nav.nav', { 'aria-label': 'Views' });
  replace(place,
    h('div.brand', null, h('a.brand-name', { href: '#/' }, 'Esker'), network), nav, searchBox(), state, lost);

  let marked = '/';
  const draw = () => {
    const [name, title] = STATES[live.state];
    network.textContent = node.network ? oneLine(`${node.isDev ? 'development, ' : ''}${node.network} ${node.networkID}`, 40) : node.chainId ? `chain ${node.chainId}` : '';
    replace(state,
      h('span.version.muted', { title: 'Version of the node' }, node.version ? oneLine(`v${node.version.replace(/^v/, '')}`, 20) : ''),
      h('span', { class: `state-${live.state}`, title, role: 'status' }, h('span.state-dot'), name));
    lost.hidden = live.state !== 'lost';
    if (live.state === 'lost' && !lost.childNodes.length) {
      replace(lost, `No answer from ${node.base.host}. What you see is what was known last; the page reconnects by itself.`,
        h('button.btn', { type: 'button', onclick: () => live.retryNow() }, 'Try now'));
    } else if (live.state !== 'lost') lost.replaceChildren();
  };
  live.addEventListener('state', draw);
  draw();

  return {
    draw,
    mark(path = marked) {
      marked = path;
      const views = [['#/', 'Overview'], node.isDev && ['#/do', 'Do'], ['#/operate', 'Operate']].filter(Boolean);
      replace(nav, views.map(([href, name]) => h('a', { href, 'aria-current': `#${path}` === href ? 'page' : null }, name)));
    },
  };
}
