// Panels, facts, notices, tabs: what every view is made of.

import { visible } from '../format/text.js';
import { h, replace, uniqueId } from './dom.js';

/** A panel with a heading; `tools` stand at the right of it. */
export function panel(title, body, { tools, flush = false } = {}) {
  const heading = uniqueId('panel');
  return h('section.panel', { 'aria-labelledby': heading },
    h('div.panel-head', null, h('h2', { id: heading }, title), tools ? h('span.spring', null, tools) : null),
    h('div.panel-body', flush ? { class: 'flush' } : null, body));
}

/** The first line of a view: what it shows. */
export function viewTitle(title, ...rest) {
  return h('div.title', null, h('h1', null, title), rest);
}

/** Names and values; pairs without a value are left out. */
export function facts(pairs) {
  return h('dl.facts', null, pairs.filter(([, value]) => value !== null && value !== undefined && value !== false)
    .map(([name, value]) => [h('dt', null, name), h('dd', null, value)]));
}

/** An error with what to do next. */
export function errorNotice(error, retry) {
  return h('div.notice.error', { role: 'alert' },
    h('p', null, h('strong', null, error.method ? `${error.method}: ` : ''), visible(error.message).slice(0, 1000)),
    error.next ? h('p.muted', null, error.next) : null,
    retry ? h('p', null, h('button.btn', { type: 'button', onclick: retry }, 'Try again')) : null);
}

/** Shows what a promise brings, its error with a button to try again, and that it is awaited. */
export function awaited(load, { label = 'Loading', signal } = {}) {
  const place = h('div', { 'aria-busy': 'true' });
  const run = async () => {
    replace(place, h('p.loading', null, `${label}…`));
    try {
      const content = await load();
      if (!signal?.aborted) replace(place, content);
    } catch (error) {
      if (!signal?.aborted) replace(place, errorNotice(error, run));
    }
    place.removeAttribute('aria-busy');
  };
  run();
  return place;
}

/** Tabs; a panel's content is made when it is first shown: `[name, () => content]`. */
export function tabs(label, items) {
  const shown = items.filter(Boolean);
  const body = h('div');
  const buttons = shown.map(([name], i) => h('button', {
    type: 'button', role: 'tab', id: uniqueId('tab'), 'aria-selected': 'false', tabindex: '-1', onclick: () => select(i),
  }, name));
  const panels = shown.map((_, i) => h('div.tab-panel', { role: 'tabpanel', 'aria-labelledby': buttons[i].id, hidden: true }));
  const select = (index, focus) => {
    buttons.forEach((button, i) => {
      button.setAttribute('aria-selected', String(i === index));
      button.tabIndex = i === index ? 0 : -1;
      panels[i].hidden = i !== index;
    });
    if (focus) buttons[index].focus();
    if (!panels[index].childNodes.length) panels[index].append(...[shown[index][1]()].flat());
  };
  const bar = h('div.tabs', { role: 'tablist', 'aria-label': label, onkeydown: (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) select((buttons.indexOf(document.activeElement) + step + buttons.length) % buttons.length, true);
  } }, buttons);
  body.append(...panels);
  select(0);
  return h('section.panel', { 'aria-label': label }, bar, body);
}
