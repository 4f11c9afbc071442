// Tables, virtual lists and lists in pages: numbers to the right, only the rows in view are elements.

import { h, replace } from './dom.js';
import { errorNotice } from './layout.js';

/** A row of a table from what the columns render. */
export function row(columns, item) {
  return h('tr', null, columns.map((column) => h(column.num ? 'td.num' : 'td', column.nowrap || column.wide ? { class: column.wide ? 'grow' : 'nowrap' } : null, column.render(item))));
}

/** A table; `empty` is said where there are no rows. */
export function table(columns, items, { empty = 'Nothing here.', label } = {}) {
  if (!items.length) return h('p.empty', null, empty);
  return h('div.table-wrap', { tabindex: '0', role: 'region', 'aria-label': `Table: ${label ?? columns[0].title}` },
    h('table', { 'aria-label': label }, head(columns), h('tbody', null, items.map((item) => row(columns, item)))));
}

/** The head of a table. */
export function head(columns) {
  return h('thead', null, h('tr', null, columns.map((column) => h(column.num ? 'th.num' : 'th', { scope: 'col' }, column.title))));
}

const ROW_PX = 29;

/** A list of any length: only the rows in view are elements. `render(item, index)` returns the cells. */
export function virtualList(items, render, { label, widths, rowHeight = ROW_PX, onEnd } = {}) {
  const space = h('div.list-space');
  const list = h('div.list', { tabindex: '0', role: 'region', 'aria-label': label }, space);
  let drawn = '';
  const draw = () => {
    const first = Math.max(0, Math.floor(list.scrollTop / rowHeight) - 5);
    const last = Math.min(items.length, Math.ceil((list.scrollTop + (list.clientHeight || 576)) / rowHeight) + 5);
    if (onEnd && last === items.length) onEnd();
    if (drawn === `${first}-${last}-${items.length}`) return;
    drawn = `${first}-${last}-${items.length}`;
    space.style.height = `${items.length * rowHeight}px`;
    replace(space, items.slice(first, last).map((item, i) => {
      const line = h('div.list-row', null, render(item, first + i));
      line.style.top = `${(first + i) * rowHeight}px`;
      line.style.height = `${rowHeight}px`;
      line.style.gridTemplateColumns = widths ?? '';
      return line;
    }));
  };
  list.addEventListener('scroll', draw, { passive: true });
  list.redraw = () => { drawn = ''; draw(); };
  queueMicrotask(draw);
  return list;
}

/**
 * `next()` resolves to the next items, or null at the end. `render(item, index)` returns the cells of a row;
 * `detail` fills in what takes a request, only for rows in view.
 */
export function pagedList(next, render, { label, widths, empty = 'Nothing here.', noun = 'entries' } = {}) {
  const items = [];
  const foot = h('p.empty.small', { role: 'status' });
  const place = h('div');
  let busy = false;
  let isDone = false;
  const more = async () => {
    if (busy || isDone) return;
    busy = true;
    foot.textContent = 'Loading…';
    try {
      const page = await next();
      if (page === null) isDone = true;
      else items.push(...page);
      foot.textContent = `${items.length.toLocaleString('en')} ${noun}${isDone ? '' : ', more below'}`;
      if (isDone && !items.length) replace(place, h('p.empty', null, empty));
      list.redraw();
    } catch (error) {
      replace(foot, errorNotice(error, () => { more(); }));
    }
    busy = false;
    if (!isDone && items.length < 30) more();
  };
  const list = virtualList(items, render, { label, widths, onEnd: () => { more(); } });
  place.append(list, foot);
  more();
  return place;
}

/** A cell that is filled when its promise brings something; errors leave a dash. */
export function later(promise, render) {
  const place = h('span.muted', null, '…');
  promise.then((value) => { const content = render(value); if (content) place.replaceWith(content); else place.textContent = ''; }, () => { place.textContent = '–'; });
  return place;
}
