// What only the admin API tells: the newest lines of the log, settings with their origins, levels of the loggers.

import { ext } from '../../chain/node.js';
import { grouped, visible } from '../../format/text.js';
import { errorNotice, h, head, longText, panel, replace, row, table } from '../../parts/base.js';
import { field } from '../../parts/form.js';

const EVERY_MS = 2000;
/** Most lines that the page keeps, as many as the node does; and most that are elements. */
const KEPT = 1000;
const SHOWN = 300;

export async function adminPanels(signal) {
  const [{ settings }, { loggerLevels }] = await Promise.all(['getSettings', 'getLoggerLevel'].map((method) => ext('admin', method, {}, signal)));
  return h('div.stack', null,
    logPanel(Object.keys(loggerLevels), signal),
    h('div.columns', null, panel('Settings', settingList(settings), { flush: true }), panel('Log levels', levelForm(loggerLevels))));
}

const TONES = { ERROR: 'bad', WARN: 'warn', DEBUG: 'muted', VERBO: 'muted' };

const COLUMNS = [
  ['Time, UTC', ({ time }) => h('span.mono', { title: visible(time) }, time.slice(11, 23)), 'nowrap'],
  ['Level', ({ level }) => h('span.mark', { class: TONES[level] }, level)],
  ['Logger', ({ logger, module }) => h('span.mono', { title: visible(module) }, logger)],
  ['Line', ({ text }) => h('span.mono', null, longText(text, 300)), 'grow'],
];

/** Follows the log, the newest line first, while it is in the window. */
function logPanel(loggers, signal) {
  const again = () => { lines = []; after = undefined; read(); };
  const level = field('Least severe level', { name: 'log-level', options: ['error', 'warn', 'info', 'debug', 'verbo'].map((name) => [name, name]), value: 'info', onchange: again });
  const logger = field('Logger', { name: 'log-logger', options: ['', ...loggers].map((name) => [name, name || 'all']), onchange: again });
  const filter = field('Text', { name: 'log-text', mono: true, oninput: () => draw() });
  const state = h('span.muted.small', { role: 'status' });
  const body = h('tbody');
  const foot = h('p.empty.small');
  const place = h('div.list.stacked', { tabindex: '0', role: 'region', 'aria-label': 'Lines of the log' }, h('table', { 'aria-label': 'Log' }, head(COLUMNS), body), foot);
  let lines = [];
  let after;
  let reading = null;
  const found = (among) => among.filter((line) => line.text.toLowerCase().includes(filter.input.value.toLowerCase()));
  const rows = (among) => among.slice(0, SHOWN).map((line) => row(COLUMNS, line));
  const draw = () => { replace(body, rows(found(lines))); count(); };
  const count = () => {
    const all = found(lines).length;
    foot.textContent = all > SHOWN ? `The newest ${SHOWN} of ${grouped(all)} lines.` : all ? '' : lines.length ? 'No line has this text.' : 'No lines of this level.';
  };
  const take = ({ lines: fresh, next, missed }) => {
    const isFirst = after === undefined;
    after = next;
    state.textContent = missed ? 'some lines were dropped before the page read them' : '';
    fresh.reverse();
    lines = [...fresh, ...lines].slice(0, KEPT);
    if (isFirst) return draw();
    // Rows that are there stay as they are: one of them may be unfolded, or have the focus.
    body.prepend(...rows(found(fresh)));
    while (body.childNodes.length > SHOWN) body.lastChild.remove();
    return count();
  };
  const read = () => {
    const mine = {};
    reading = mine;
    const params = { level: level.input.value, loggerName: logger.input.value, after, limit: KEPT };
    ext('admin', 'getLogs', params, signal).then((page) => reading === mine && take(page))
      .catch((error) => { if (!signal.aborted) state.textContent = `not read: ${visible(error.message.slice(0, 200))}`; })
      .finally(() => { if (reading === mine) reading = null; });
  };
  const poll = () => { if (!reading && pause.ariaPressed === 'false' && !document.hidden && isInWindow(place)) read(); };
  const pause = h('button.btn', { type: 'button', 'data-pause': '', 'aria-pressed': 'false', onclick: () => {
    pause.ariaPressed = String(pause.ariaPressed === 'false');
    pause.textContent = pause.ariaPressed === 'true' ? 'Resume' : 'Pause';
    poll();
  } }, 'Pause');
  const timer = setInterval(poll, EVERY_MS);
  signal.addEventListener('abort', () => clearInterval(timer));
  read();
  return panel('Log', [h('div.panel-body', null, h('div.fields', null, level, logger, filter)), place], { tools: [state, ' ', pause], flush: true });
}

function isInWindow(element) {
  const { top, bottom } = element.getBoundingClientRect();
  return top < innerHeight && bottom > 0;
}

/** Where a value comes from; what the node chose by itself is muted. */
const ORIGINS = {
  default: 'default', dev: 'default of esker dev', evm: 'default of esker evm', public: 'profile public', fork: 'the forked block', reset: 'a reset',
};
const OWN = ['default', 'dev', 'evm', 'public'];

const originOf = ({ origin, place }) => ORIGINS[origin] ?? `${origin === 'env' ? 'variable' : origin} ${place ?? ''}`;
const textOf = (value) => (typeof value === 'string' ? value : JSON.stringify(value));
const valueOf = (value) => (textOf(value) === '' ? h('span.muted', null, 'not set') : h('span.mono', null, longText(textOf(value), 80)));

/** All settings, those that somebody has set first. */
function settingList(settings) {
  const filter = field('Filter', { name: 'setting', mono: true, oninput: () => draw() });
  const body = h('div.list.stacked', { tabindex: '0' });
  const isOwn = ({ origin }) => OWN.includes(origin);
  const sorted = [...settings].sort((a, b) => isOwn(a) - isOwn(b));
  const draw = () => {
    const found = sorted.filter((one) => `${one.name} ${textOf(one.value)} ${originOf(one)}`.toLowerCase().includes(filter.input.value.toLowerCase()));
    replace(body, table([
      ['Setting', ({ name }) => h('span.mono', null, name), 'nowrap'],
      ['Value', (one) => [valueOf(one.value), isOwn(one) ? null : h('div.muted.small', null, 'default: ', valueOf(one.default))], 'grow'],
      ['From', (one) => h(isOwn(one) ? 'span.muted' : 'span', null, longText(originOf(one), 80)), 'grow'],
    ], found, { label: 'Settings', empty: 'No setting matches.' }));
  };
  draw();
  return [h('div.panel-body', null, filter, h('p.muted', null, h('code', null, 'esker config show'), ' prints the same.')), body];
}

const LEVELS = ['off', 'fatal', 'error', 'warn', 'info', 'trace', 'debug', 'verbo'];

function levelForm(loggers) {
  const said = h('p.muted', { role: 'status' }, 'Levels hold until the node stops.');
  const choice = (logger, kind, now) => field(`${logger}, ${kind === 'logLevel' ? 'file' : 'terminal'}`, {
    name: `${logger}-${kind}`, options: LEVELS.map((level) => [level, level]), value: now.toLowerCase(),
    onchange: async (event) => {
      try {
        await ext('admin', 'setLoggerLevel', { loggerName: logger, [kind]: event.target.value });
        said.textContent = `${logger}: ${event.target.value}`;
      } catch (error) {
        replace(said, errorNotice(error));
      }
    },
  });
  return [h('div.fields', null, Object.entries(loggers).flatMap(([logger, now]) => [choice(logger, 'logLevel', now.logLevel), choice(logger, 'displayLevel', now.displayLevel)])), said,
    h('p.muted', null, 'The log above has the lines of the more verbose of the two.')];
}
