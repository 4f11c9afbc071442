// Shortcuts of the keyboard.

import { h } from '../parts/dom.js';

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
