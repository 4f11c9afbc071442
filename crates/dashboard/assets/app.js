// The page: asks the node what it is, then shows the view of the hash. Each view is loaded when it is first shown.

import { live } from './chain/live.js';
import { connect, node } from './chain/node.js';
import { errorNotice, replace } from './parts/base.js';
import { header } from './shell/header.js';

const ROUTES = [
  [/^\/$/, () => import('./views/overview.js'), []],
  [/^\/block\/(c|x)\/([\w]+)$/, () => import('./views/block.js'), ['chain', 'key']],
  [/^\/tx\/c\/(0x[0-9a-fA-F]{64})$/, () => import('./views/tx_evm.js'), ['key']],
  [/^\/tx\/(?:x|atomic)\/(\w+)$/, () => import('./views/tx_utxo.js'), ['key']],
  [/^\/address\/(0x[0-9a-fA-F]{40})$/, () => import('./views/address_evm.js'), ['address']],
  [/^\/address\/([A-Z]-[0-9a-z]+)$/, () => import('./views/address_utxo.js'), ['address']],
  [/^\/asset\/(\w+)$/, () => import('./views/asset.js'), ['assetID']],
  [/^\/utxo\/(\w+)\/(\d+)$/, () => import('./views/tx_utxo.js').then(({ renderOutput }) => ({ render: renderOutput })), ['txID', 'index']],
  [/^\/do$/, () => import('./views/do.js'), []],
  [/^\/operate$/, () => import('./views/operate.js'), []],
  [/^\/search\/(.+)$/, () => import('./views/search.js'), ['text']],
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
    show(() => import('./views/search.js'), { text: safeDecode(path.replace(/^\//, '')) }, path);
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
  ['/', () => document.getElementById('search').focus()],
  ['o', () => { location.hash = '#/'; }],
  ['d', () => document.querySelector('.nav a[href="#/do"]')?.click()],
  ['e', () => { location.hash = '#/operate'; }],
  ['p', () => document.querySelector('[data-pause]')?.click()],
];

/** Listens for the shortcuts, but not in fields. */
export function keys() {
  addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === 'Escape' && document.activeElement.id === 'search') document.activeElement.blur();
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) return;
    const found = KEYS.find(([key]) => key === event.key);
    if (!found) return;
    event.preventDefault();
    found[1]();
  });
}

const main = document.getElementById('main');
const head = header(document.getElementById('header'));
let shown = null;

async function show(load, params, path) {
  shown?.abort();
  shown = new AbortController();
  const { signal } = shown;
  head.mark(path);
  try {
    const [view] = await Promise.all([load(), path === '/' ? null : node.details]);
    if (signal.aborted) return;
    const { title, content } = await view.render(params, signal);
    if (signal.aborted) return;
    document.title = title ? `${title} – Esker` : 'Esker';
    replace(main, content);
    scrollTo(0, 0);
    if (show.isLater) main.focus({ preventScroll: true });
    show.isLater = true;
  } catch (error) {
    if (!signal.aborted) replace(main, errorNotice(error, () => show(load, params, path)));
  }
}

async function start(tries = 0) {
  try {
    await connect();
  } catch (error) {
    const wait = Math.min(500 * 2 ** tries, 8000);
    if (tries === 0) replace(main, errorNotice(error));
    setTimeout(() => start(tries + 1), wait);
    return;
  }
  head.draw();
  live.start();
  route(show);
  await node.details;
  head.draw();
  head.mark();
}

keys();
start();
