// What every view is made of: elements, panels, tabs, tables, long texts. Text always becomes text nodes, in which nothing is invisible.

import { fromHex } from '../format/bytes.js';
import { bytes as size, grouped, textOfBytes, visible } from '../format/text.js';

const SVG = 'http://www.w3.org/2000/svg';

/** An HTML element: `h('div.panel', { onclick }, child, 'text')`. */
export function h(spec, props, ...children) {
  const [tag, ...classes] = spec.split('.');
  return fill(document.createElement(tag), classes, props, children);
}

export function svg(spec, props, ...children) {
  const [tag, ...classes] = spec.split('.');
  return fill(document.createElementNS(SVG, tag), classes, props, children);
}

function fill(element, classes, props, children) {
  if (classes.length) element.setAttribute('class', classes.join(' '));
  for (const [name, value] of Object.entries(props ?? {})) setProp(element, name, value);
  append(element, children);
  return element;
}

function setProp(element, name, value) {
  if (value === undefined || value === null || value === false) return;
  if (typeof value === 'function') element.addEventListener(name.slice(2), value);
  else if (name === 'data') element.data = value;
  else if (name === 'class') element.classList.add(...value.split(' ').filter(Boolean));
  else element.setAttribute(name, value === true ? '' : value);
}

/** Appends nodes, texts, numbers and lists of them; leaves out what is absent. */
export function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : visible(child));
  }
  return element;
}

export function replace(element, ...children) {
  element.replaceChildren();
  return append(element, children);
}

let lastId = 0;

export function uniqueId(prefix) {
  lastId += 1;
  return `${prefix}-${lastId}`;
}

/** Says something to the user for some seconds, and to screen readers. */
export function announce(text) {
  const place = document.getElementById('status');
  place.textContent = text;
  clearTimeout(announce.timer);
  announce.timer = setTimeout(() => { place.textContent = ''; }, 3000);
}

export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = h('textarea.sr', { 'aria-hidden': 'true' });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
  announce(`Copied ${text.length > 40 ? `${text.slice(0, 18)}…${text.slice(-8)}` : text}`);
}

/** A panel with a heading; `tools` stand at the right of it. */
export function panel(title, body, { tools, flush = false } = {}) {
  const heading = uniqueId('panel');
  return h('section.panel', { 'aria-labelledby': heading },
    h('div.panel-head', null, h('h2', { id: heading }, title), tools ? h('span.spring', null, tools) : null),
    h('div.panel-body', flush ? { class: 'flush' } : null, body));
}

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

/** A button that shows more of something; `rest` says how much is left. */
export const moreButton = (rest, onclick) => h('button.btn', { type: 'button', onclick }, `Show more (${rest} left)`);

const STEP = 4000;

/** A text of others: escaped, and cut until its reader asks for more. */
export function longText(text, limit = 400) {
  const whole = String(text);
  const place = h('span.long', { dir: 'ltr' });
  const show = (length) => {
    const rest = whole.length - length;
    replace(place, visible(whole.slice(0, length)), rest > 0
      ? ['… ', h('button.btn.plain', { type: 'button', onclick: () => show(length + STEP) }, `show more (${rest} of ${whole.length} characters left)`)] : null);
  };
  show(limit);
  return place;
}

/** Bytes of hex as text where they are one, with their size. */
export function textOfHex(hex) {
  const bytes = fromHex(hex);
  return bytes.length ? longText(textOfBytes(bytes)) : h('span.muted', null, 'empty');
}

const LINE = 16;
const LINES = 32;

export function hexView(hex) {
  const bytes = fromHex(hex);
  if (!bytes.length) return h('p.muted', null, 'No bytes.');
  const place = h('pre.bytes', { tabindex: '0', 'aria-label': `${bytes.length} bytes in hex` });
  const more = h('p');
  const show = (lines) => {
    replace(place, dump(bytes, lines));
    const rest = bytes.length - lines * LINE;
    replace(more, rest > 0 ? moreButton(size(rest).join(' '), () => show(lines * 4)) : null);
  };
  show(LINES);
  return h('div', null, h('p.muted.small', null, size(bytes.length).join(' ')), place, more);
}

function dump(bytes, lines) {
  const rows = [];
  for (let at = 0; at < bytes.length && rows.length < lines; at += LINE) {
    const part = [...bytes.slice(at, at + LINE)];
    const digits = part.map((byte) => byte.toString(16).padStart(2, '0')).join(' ').padEnd(LINE * 3 - 1);
    const letters = part.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.')).join('');
    rows.push(`${at.toString(16).padStart(6, '0')}  ${digits}  ${letters}`);
  }
  return rows.join('\n');
}

/** A JSON value, indented, cut to 20,000 characters until more is asked for. */
export function jsonView(value) {
  const text = JSON.stringify(value, null, 2) ?? 'undefined';
  return h('div.json.mono', { tabindex: '0', role: 'region', 'aria-label': 'JSON' }, longText(text, 20_000));
}

/**
 * Columns are `[title, render(item), class]`; the class `num` aligns to the right, `grow` takes what is left.
 * Rows after the first `most` are made when they are asked for.
 */
export function table(columns, items, { empty = 'Nothing here.', label = columns[0][0], most = 200 } = {}) {
  if (!items.length) return h('p.empty', null, empty);
  const body = h('tbody');
  const foot = h('p.empty');
  const show = (from) => {
    append(body, items.slice(from, from + most).map((item) => row(columns, item)));
    const rest = items.length - from - most;
    if (rest > 0) replace(foot, moreButton(grouped(rest), () => show(from + most)));
    else foot.remove();
  };
  const place = h('div.table-wrap', { tabindex: '0', role: 'region', 'aria-label': `Table: ${label}` }, h('table', { 'aria-label': label }, head(columns), body), foot);
  show(0);
  return place;
}

export function head(columns) {
  return h('thead', null, h('tr', null, columns.map(([title, , kind]) => h('th', { scope: 'col', class: kind }, title))));
}

export function row(columns, item) {
  return h('tr', null, columns.map(([, render, kind]) => h('td', { class: kind }, render(item))));
}

const ROW_PX = 29;

/** A list of any length: only the rows in view are elements. `render(item, index)` returns the cells. */
export function virtualList(items, render, { label, widths = '', rowHeight = ROW_PX, onEnd } = {}) {
  const space = h('div.list-space');
  const list = h('div.list', { tabindex: '0', role: 'region', 'aria-label': label, onscroll: () => list.redraw() }, space);
  const rows = new Map();
  list.redraw = () => {
    const first = Math.max(0, Math.floor(list.scrollTop / rowHeight) - 5);
    const last = Math.min(items.length, Math.ceil((list.scrollTop + (list.clientHeight || 576)) / rowHeight) + 5);
    if (onEnd && last === items.length) onEnd();
    space.style.height = `${items.length * rowHeight}px`;
    for (const [i, line] of rows) {
      if (i >= first && i < last) continue;
      line.remove();
      rows.delete(i);
    }
    // From the last one on, so that each has the next one to stand before.
    for (let i = last - 1; i >= first; i -= 1) {
      if (rows.has(i)) continue;
      const line = h('div.list-row', null, render(items[i], i));
      Object.assign(line.style, { top: `${i * rowHeight}px`, height: `${rowHeight}px`, gridTemplateColumns: widths });
      space.insertBefore(line, rows.get(i + 1) ?? null);
      rows.set(i, line);
    }
  };
  queueMicrotask(list.redraw);
  return list;
}

const LEAST_PAUSE_MS = 1000;
const MOST_PAUSE_MS = 30_000;

/**
 * `next()` resolves to the next items, or null at the end. `render(item, index)` returns the cells of a row. After an error the list
 * asks again when its reader says so, or after a pause that doubles with each error.
 */
export function pagedList(next, render, { label, widths, empty = 'Nothing here.', noun = 'entries' } = {}) {
  const items = [];
  const foot = h('p.empty.small', { role: 'status' });
  const place = h('div');
  let [isBusy, isDone, pause, timer] = [false, false, LEAST_PAUSE_MS, null];
  const more = async () => {
    if (isBusy || isDone || timer) return;
    isBusy = true;
    foot.textContent = 'Loading…';
    try {
      const page = await next();
      if (page === null) isDone = true;
      else items.push(...page);
      foot.textContent = `${grouped(items.length)} ${noun}${isDone ? '' : ', more below'}`;
      if (isDone && !items.length) replace(place, h('p.empty', null, empty));
      pause = LEAST_PAUSE_MS;
      list.redraw();
    } catch (error) {
      const again = () => { clearTimeout(timer); timer = null; if (place.isConnected) more(); };
      timer = setTimeout(again, pause);
      pause = Math.min(2 * pause, MOST_PAUSE_MS);
      replace(foot, errorNotice(error, again));
    }
    isBusy = false;
    if (!isDone && items.length < 30) more();
  };
  const list = virtualList(items, render, { label, widths, onEnd: () => { more(); } });
  place.append(list, foot);
  more();
  return place;
}

const SETTLED_MS = 80;

/**
 * A cell that is filled when its promise brings something; errors leave a dash. A function is called if the cell is still shown
 * after a moment, so that nothing is asked for rows that pass by.
 */
export function later(source, render) {
  const place = h('span.muted', null, '…');
  const fill = (promise) => promise.then((value) => {
    const content = [render(value)].flat().filter(Boolean);
    if (content.length) place.replaceWith(...content); else place.textContent = '';
  }, () => { place.textContent = '–'; });
  if (typeof source === 'function') setTimeout(() => place.isConnected && fill(source()), SETTLED_MS);
  else fill(source);
  return place;
}
