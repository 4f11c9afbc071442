// Views by the path in the hash, each loaded when it is first shown, and the shortcuts of the keyboard.

import { h } from '../parts/dom.js';

const ROUTES = [
  [/^\/$/, () => import('../views/overview.js'), []],
  [/^\/block\/(c|x)\/([\w]+)$/, () => import('../views/block.js'), ['chain', 'key']],
  [/^\/tx\/c\/(0x[0-9a-fA-F]{64})$/, () => import('../views/tx_evm.js'), ['key']],
  [/^\/tx\/(?:x|atomic)\/(\w+)$/, () => import('../views/tx_utxo.js'), ['key']],
  [/^\/address\/(0x[0-9a-fA-F]{40})$/, () => import('../views/address_evm.js'), ['address']],
  [/^\/address\/([A-Z]-[0-9a-z]+)$/, () => import('../views/address_utxo.js'), ['address']],
  [/^\/asset\/(\w+)$/, () => import('../views/asset.js'), ['assetID']],
  [/^\/utxo\/(\w+)\/(\d+)$/, () => import('../views/tx_utxo.js').then(({ renderOutput }) => ({ render: renderOutput })), ['txID', 'index']],
  [/^\/do$/, () => import('../views/do.js'), []],
  [/^\/operate$/, () => import('../views/operate.js'), []],
  [/^\/search\/(.+)$/, () => import('../views/search.js'), ['text']],
];

/** Calls `show(view, params, path)` for the present hash and each later one. */
export function route(show) {
  const run = () => {
    const path = location.hash.replace(/^#/, '') || '/';
    for (const [pattern, load, names] of ROUTES) {
      const match = pattern.exec(path);
      if (!match) continue;
      const params = Object.fromEntries(names.map((name, i) => [name, safeDecode(match[i + 1])]));
      show(load, params, path);
      return;
    }
    show(() => import('../views/search.js'), { text: safeDecode(path.replace(/^\//, '')) }, path);
  };
  addEventListener('hashchange', run);
  run();
}

function safeDecode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const KEYS = [
  ['/', 'search', () => document.getElementById('search').focus()],
  ['o', 'overview', () => { location.hash = '#/'; }],
  ['d', 'do (development networks)', () => document.querySelector('.nav a[href="#/do"]')?.click()],
  ['e', 'operate', () => { location.hash = '#/operate'; }],
  ['p', 'pause or resume the stream', () => document.querySelector('[data-pause]')?.click()],
  ['?', 'this list', help],
];

function help() {
  const dialog = h('dialog', { 'aria-label': 'Shortcuts', onclose: () => dialog.remove() },
    h('h2', null, 'Shortcuts'),
    h('dl.facts', null, KEYS.map(([key, name]) => [h('dt', null, h('kbd', null, key)), h('dd', null, name)])),
    h('form', { method: 'dialog' }, h('button.btn', null, 'Close')));
  document.body.append(dialog);
  dialog.showModal();
}

/** Listens for the shortcuts, but not in fields. */
export function keys() {
  addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === 'Escape' && document.activeElement.id === 'search') document.activeElement.blur();
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName) || document.querySelector('dialog[open]')) return;
    const found = KEYS.find(([key]) => key === event.key);
    if (!found) return;
    event.preventDefault();
    found[2]();
  });
}
