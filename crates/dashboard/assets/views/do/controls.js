// Blocks, time, impersonation, and snapshots of all chains with names that this browser keeps.

import { live } from '../../chain/live.js';
import { evm, evmName, node, xvm } from '../../chain/node.js';
import { grouped, utc, visible } from '../../format/text.js';
import { announce, errorNotice, h, replace, table } from '../../parts/base.js';
import { actionForm, cast, curl, esker, evmCommands, field } from '../../parts/form.js';
import { addressId, blockLink } from '../../parts/values.js';

export function controls() {
  return [['Mine', mine()], ['Time', time()], ['Impersonate', impersonate()]];
}

function whole(text, what, most) {
  if (!/^\d+$/.test(text.trim()) || Number(text) > most) throw new Error(`${what}: expected a whole number of at most ${grouped(most)}`);
  return Number(text);
}

function mine() {
  const blocks = field('Blocks', { name: 'blocks', value: '1', inputmode: 'numeric' });
  const interval = field('Seconds between them', { name: 'interval', value: '0', inputmode: 'numeric' });
  const automine = (on) => async () => {
    await evm('evm_setAutomine', on);
    return on ? 'Each transaction makes a block again.' : 'Transactions wait until you mine.';
  };
  return actionForm({
    fields: [blocks, interval], action: 'Mine',
    buttons: [['Blocks on request only', automine(false)], ['Blocks by themselves', automine(true)]],
    run: async () => {
      const count = whole(blocks.input.value, 'blocks', 100_000);
      await evm('anvil_mine', count, whole(interval.input.value, 'seconds', 31_622_400));
      const height = Number(await evm('evm_blockNumber'));
      return [`Made ${grouped(count)} ${count === 1 ? 'block' : 'blocks'}: ${evmName()} is at `, blockLink('c', height)];
    },
    commands: () => [
      esker(`mine ${blocks.input.value}${Number(interval.input.value) ? ` --interval ${interval.input.value}` : ''}`),
      cast(`rpc anvil_mine ${blocks.input.value} ${interval.input.value}`), curl(node.evm.path, 'anvil_mine', [Number(blocks.input.value), Number(interval.input.value)]),
    ],
  });
}

function time() {
  const seconds = field('Forward by seconds', { name: 'seconds', value: '3600', inputmode: 'numeric' });
  const at = field('or to a time (UTC)', { name: 'time', type: 'datetime-local', step: '1' });
  const wanted = () => (at.input.value ? Math.floor(Date.parse(`${at.input.value}Z`) / 1000) : null);
  const clock = async () => (node.x ? Number((await xvm('dev.getTime', {})).timestamp) : Number((await evm('evm_getBlockByNumber', 'pending', false)).timestamp));
  return actionForm({
    fields: [seconds, at], action: 'Move the clock',
    buttons: [['Show it', async () => `The clock of all chains is at ${utc(await clock())}`]],
    run: async () => {
      if (wanted() !== null) await evm('evm_setTime', wanted());
      else await evm('evm_increaseTime', whole(seconds.input.value, 'seconds', 253_370_764_800));
      return `The clock of all chains is at ${utc(await clock())}`;
    },
    commands: () => (wanted() === null
      ? [esker(`time increase ${seconds.input.value}`), ...evmCommands('evm_increaseTime', Number(seconds.input.value)).slice(0, 2)]
      : [esker(`time set ${wanted()}`), ...evmCommands('evm_setTime', wanted()).slice(0, 2)]),
  });
}

function impersonate() {
  const address = field('Account or contract', { name: 'address', mono: true, wide: true, placeholder: '0x…' });
  const act = (method, said) => async () => {
    const value = address.input.value.trim();
    if (!/^0x[0-9a-f]{40}$/i.test(value)) throw new Error('expected the address of an account: 0x and 40 hex digits');
    await evm(method, value);
    return h('span', null, said, addressId(value));
  };
  return actionForm({
    fields: [address], action: 'Impersonate',
    buttons: [['Stop', act('anvil_stopImpersonatingAccount', 'The node no longer sends for ')]],
    run: act('anvil_impersonateAccount', 'The node now sends for it without a key. Open this view again to choose it as sender: '),
    commands: () => evmCommands('anvil_impersonateAccount', address.input.value.trim() || '0x…'),
  });
}

const KEY = 'esker.snapshots';

function names(instance) {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? '{}')[instance] ?? {};
  } catch {
    return {};
  }
}

function keepName(instance, id, name) {
  try {
    localStorage.setItem(KEY, JSON.stringify({ [instance]: { ...names(instance), [id]: name } }));
  } catch { /* without a store the snapshot keeps its number */ }
}

export function snapshots(signal) {
  const place = h('div');
  const draw = async () => {
    try {
      const { snapshots: taken, instanceId } = await evm('anvil_metadata');
      if (!signal.aborted) replace(place, list(Object.entries(taken), names(instanceId), draw));
    } catch (error) {
      replace(place, errorNotice(error, draw));
    }
  };
  const name = field('Name', { name: 'name', maxlength: '60', placeholder: 'before the upgrade' });
  draw();
  return [actionForm({
    fields: [name], action: 'Take a snapshot',
    run: async () => {
      const id = await evm('evm_snapshot');
      const { instanceId } = await evm('anvil_metadata');
      if (name.input.value.trim()) keepName(instanceId, String(Number(id)), name.input.value.trim());
      await draw();
      return `Snapshot ${Number(id)} holds all chains, pools and the clock.`;
    },
    commands: () => [esker('snapshot'), ...evmCommands('evm_snapshot').slice(0, 2), esker('snapshot revert ID')],
  }), place];
}

function list(taken, called, draw) {
  const revert = async (id) => {
    const done = await evm('evm_revert', `0x${BigInt(id).toString(16)}`);
    announce(done ? `All chains are at snapshot ${Number(id)} again` : 'This snapshot is gone');
    await live.poll();
    await draw();
  };
  return table([
    ['Snapshot', ([id]) => `${Number(id)}`],
    ['Name', ([id]) => visible(called[String(Number(id))] ?? '–')],
    ['Block', ([, block]) => grouped(Number(block[0] ?? block.number ?? block.blockNumber)), 'num'],
    ['Go back', ([id]) => {
      const button = h('button.btn', { type: 'button', 'aria-label': `Revert to snapshot ${Number(id)}`, onclick: () => {
        button.disabled = true;
        revert(id).catch((error) => { announce(error.message); button.disabled = false; });
      } }, 'Revert');
      return button;
    }],
  ], taken, { label: 'Snapshots', empty: 'No snapshots. Going back to one removes it and all later ones.' });
}
