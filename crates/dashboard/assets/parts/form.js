// Fields and forms, with the commands of a shell that do the same.

import { node, urlOf } from '../chain/node.js';
import { copyText, errorNotice, h, replace, uniqueId } from './base.js';

/** A labelled field; `input` is its control. `options` makes it a list of `[value, text]`. */
export function field(label, { name, value = '', type = 'text', options, mono = false, wide = false, hint, list, rows, ...more } = {}) {
  const control = uniqueId(name ?? 'field');
  const common = { id: control, name, class: mono ? 'mono' : '', 'aria-describedby': hint ? `${control}-hint` : null, ...more };
  let input;
  if (options) input = h('select', common, options.map(([key, text]) => h('option', { value: key, selected: key === value }, text)));
  else if (rows) input = h('textarea', { ...common, rows, spellcheck: 'false' }, value);
  else input = h('input', { ...common, type, list, autocomplete: 'off', spellcheck: 'false' });
  if (!options && !rows && type !== 'file') input.value = value;
  const element = h('div.field', { class: wide ? 'wide' : '' }, h('label', { for: control }, label), input, hint ? h('span.muted.small', { id: `${control}-hint` }, hint) : null);
  element.input = input;
  return element;
}

/**
 * A form that does something and says how it went. `run()` resolves to what is shown, `commands()` returns
 * `[[tool, text]]` for the present fields.
 */
export function actionForm({ fields = [], action, run, commands, buttons = [] }) {
  const result = h('div', { role: 'status' });
  const button = h('button.btn.main-action', null, action);
  const shown = h('div');
  const refresh = () => { if (commands) replace(shown, commandList(commands())); };
  const form = h('form.form', { oninput: refresh, onsubmit: (event) => {
    event.preventDefault();
    submit(run);
  } }, fields.length ? h('div.fields', null, fields) : null, h('div.actions', null, button, buttons.map(([text, act]) => h('button.btn', { type: 'button', onclick: () => submit(act) }, text))), result,
  commands ? h('details.commands', { open: true }, h('summary', null, 'The same from a shell'), shown) : null);
  refresh();
  const submit = async (act) => {
    for (const one of form.querySelectorAll('button')) one.disabled = true;
    replace(result, h('p.loading', null, 'Working…'));
    try {
      const said = await act((progress) => replace(result, h('div.notice', null, progress)));
      replace(result, said ? h('div.notice.good', null, h('div', null, said)) : null);
    } catch (error) {
      replace(result, errorNotice(error));
    }
    for (const one of form.querySelectorAll('button')) one.disabled = false;
    refresh();
  };
  return form;
}

/** Commands with a button to copy each. */
export function commandList(commands) {
  return commands.filter(Boolean).map(([tool, text]) => h('div.command', null, h('span.muted', null, tool), h('code', { title: text }, text),
    h('button.btn.plain', { type: 'button', 'aria-label': `Copy the ${tool} command`, onclick: () => copyText(text) }, 'copy')));
}

const quoted = (text) => `'${String(text).replace(/'/g, "'\\''")}'`;

export function curl(path, method, params) {
  return ['curl', `curl -H 'Content-Type: application/json' ${urlOf(path)} -d ${quoted(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))}`];
}

/** An esker command, with the URL unless it is the default one. */
export function esker(words) {
  const url = node.base.origin === 'http://127.0.0.1:9650' ? '' : ` --url ${node.base.origin}`;
  return ['esker', `esker ${words}${url}`];
}

export const cast = (words) => (node.evm ? ['cast', `cast ${words} --rpc-url ${urlOf(node.evm.path)}`] : null);
export const evmCommands = (method, ...params) => [
  curl(node.evm.path, method, params),
  cast(`rpc ${method} ${params.map((value) => quoted(typeof value === 'string' ? value : JSON.stringify(value))).join(' ')}`.trim()),
  esker(`call ${method} ${params.map((value) => quoted(typeof value === 'string' ? value : JSON.stringify(value))).join(' ')}`.trim()),
];
