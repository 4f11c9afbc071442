// Both chains at a glance: heights, rates and the stream of new blocks and transactions.

import { FRESH_MS, live, Stream } from '../chain/live.js';
import { evmName, figure, metrics, node, rate } from '../chain/node.js';
import { compact, duration, gasPrice, grouped } from '../format/text.js';
import { h, head, panel, replace, row } from '../parts/base.js';
import { addressId, ago, blockLink, chart, id, to, txId, wei } from '../parts/values.js';

const EVERY_MS = 2000;
const SHOWN = 60;

export async function render(_, signal) {
  const strip = h('dl.strip', { 'aria-label': 'Now' });
  const charts = makeCharts();
  const drawn = h('div.charts', null, Object.values(charts));
  const stream = streamPanel(signal);
  watch(strip, charts, signal);
  return { title: '', content: [
    h('h1.sr', null, 'Overview'),
    strip,
    h('div.overview', null, stream, panel('Last minutes', drawn, { flush: true })),
  ] };
}

function makeCharts() {
  const chain = evmName();
  return {
    rate: chart('Transactions, all chains', { unit: 'a second' }),
    gas: chart(`Gas used, ${chain}`, { unit: 'gas a second' }),
    fee: chart(`Base fee, ${chain}`, { format: (value) => gasPrice(Math.round(value)) }),
    pool: chart('Waiting in pools', { unit: 'transactions' }),
    requests: chart('Requests', { unit: 'a second' }),
    lag: chart(node.role === 'follower' ? 'Lag' : 'Followers', { unit: node.role === 'follower' ? 's' : 'connected' }),
  };
}

function watch(strip, charts, signal) {
  const rates = { txs: rate(), gas: rate(), requests: rate() };
  let seen = null;
  const step = async () => {
    try {
      seen = { ...readings(await metrics(FAMILIES, signal)), heights: live.heights };
      const { txs, gas, fee, pool, requests } = seen;
      seen.txRate = rates.txs(txs);
      charts.rate.push(seen.txRate);
      charts.gas.push(rates.gas(gas));
      charts.fee.push(fee ?? NaN);
      charts.pool.push(pool);
      charts.requests.push(rates.requests(requests));
      charts.lag.push(seen.lag ?? seen.followers);
    } catch { /* the header shows that the node does not answer */ }
  };
  const draw = () => { if (live.heights || seen) replace(strip, figures(live.heights, seen ?? {})); };
  draw();
  const tick = setInterval(() => { if (!document.hidden) step().then(draw); }, EVERY_MS);
  const clock = setInterval(draw, 1000);
  signal.addEventListener('abort', () => { clearInterval(tick); clearInterval(clock); });
  live.on('heights', draw, signal);
  live.on('evm', (header) => { for (const chain of live.heights?.chains ?? []) if (chain.alias === node.evm.alias) chain.height = Number(header.number); draw(); }, signal);
  live.on('x', ({ height, removed }) => { for (const chain of live.heights?.chains ?? []) if (chain.alias === 'X' && !removed) chain.height = Number(height); draw(); }, signal);
  step().then(draw);
}

/** What the figures are read from. */
const FAMILIES = [
  'esker_chain_atomic_mempool_transactions', 'esker_chain_base_fee_wei', 'esker_chain_gas_used_total', 'esker_chain_last_block_gas_limit',
  'esker_chain_last_block_gas_used', 'esker_chain_last_block_timestamp_seconds', 'esker_chain_mempool_transactions',
  'esker_chain_transactions_accepted_total', 'esker_follow_connected', 'esker_follow_lag_seconds', 'esker_followers', 'esker_http_requests_total',
];

function readings(families) {
  const times = (families.esker_chain_last_block_timestamp_seconds ?? []).map(({ value }) => value);
  const followed = figure(families, 'esker_follow_connected') === 1;
  return {
    txs: figure(families, 'esker_chain_transactions_accepted_total'),
    gas: figure(families, 'esker_chain_gas_used_total'),
    fee: figure(families, 'esker_chain_base_fee_wei', { chain: node.evm?.alias }),
    gasLimit: figure(families, 'esker_chain_last_block_gas_limit', { chain: node.evm?.alias }),
    lastGas: figure(families, 'esker_chain_last_block_gas_used', { chain: node.evm?.alias }),
    pool: (figure(families, 'esker_chain_mempool_transactions') ?? 0) + (figure(families, 'esker_chain_atomic_mempool_transactions') ?? 0),
    requests: figure(families, 'esker_http_requests_total'),
    followers: figure(families, 'esker_followers'),
    lag: followed ? figure(families, 'esker_follow_lag_seconds') : null,
    lastTime: times.length ? Math.max(...times) : null,
  };
}

function figures(heights, seen) {
  const since = seen.lastTime ? Math.max(0, Date.now() / 1000 - seen.lastTime) : null;
  const full = seen.gasLimit ? `${((100 * seen.lastGas) / seen.gasLimit).toFixed(1)} % of the last block` : null;
  return [
    (heights?.chains ?? []).map(({ alias, height, pending }) => item(`Height of ${alias}`, [grouped(height)], pending ? `${grouped(pending)} waiting` : 'none waiting')),
    since === null ? null : item('Since the last block', [duration(since)], seen.lastTime > Date.now() / 1000 + 2 ? 'the chain\'s clock is ahead' : 'of any chain'),
    item('Transactions', [compact(seen.txRate ?? NaN), 'a second'], seen.txs === undefined ? null : `${grouped(seen.txs)} since the start`),
    seen.fee == null ? null : item('Base fee', gasPrice(seen.fee), full),
    item('Peers', [grouped(heights?.peers ?? 0)], heights?.role ? `role: ${heights.role}` : null),
    item('Followers', [grouped(heights?.followers ?? 0)], seen.lag == null ? null : `this node is ${duration(seen.lag)} behind`),
  ];
}

function item(name, [value, unit], detail) {
  return h('div.figure', null, h('dt', null, name), h('dd', null, value, unit ? h('span.unit', null, ` ${unit}`) : null), detail ? h('dd.detail', null, detail) : null);
}

const COLUMNS = [
  ['Chain', ({ chain }) => h('span.badge', null, chain === 'C' ? evmName() : chain)],
  ['Block', ({ chain, height }) => blockLink(chain, height), 'num'],
  ['ID', ({ kind, chain, key }) => (kind === 'tx' ? txId(chain, key) : id(key, { href: to.block(chain, key), kind: 'Block' }))],
  ['What', (entry) => what(entry), 'grow'],
  ['Time', ({ time }) => ago(time), 'num'],
];

function what(entry) {
  if (entry.kind === 'block') {
    return h('span.muted', null, `block, ${entry.txs} ${entry.txs === 1 ? 'transaction' : 'transactions'}`,
      entry.gas ? `, ${grouped(entry.gas)} gas` : '', entry.extra?.[0].length > 2 ? ', exchange between chains' : '', entry.extra?.[1] ? ', changed by controls' : '');
  }
  if (entry.chain === 'X') return h('span', null, entry.type ?? typeOf(entry.tx));
  const { from, to: target, value, input } = entry.tx;
  const does = !target ? 'creates a contract' : input?.length > 2 ? `calls ${input.slice(0, 10)}` : 'pays';
  return h('span.title', null, addressId(from), does, target ? addressId(target) : null, BigInt(value) ? wei(value) : null);
}

function typeOf({ unsignedTx }) {
  if (!unsignedTx) return 'transaction';
  if ('initialStates' in unsignedTx) return 'create asset';
  if ('operations' in unsignedTx) return 'operation';
  if ('importedInputs' in unsignedTx) return 'import';
  if ('exportedOutputs' in unsignedTx) return 'export';
  return 'transfer';
}

function streamPanel(signal) {
  const body = h('tbody');
  const waiting = h('span.muted.small', { role: 'status' });
  const stream = new Stream((rows, types) => {
    const now = performance.now();
    replace(body, rows.slice(0, SHOWN).map((entry) => {
      const line = row(COLUMNS, { ...entry, type: types.get(entry.key) });
      if (entry.since && now - entry.since < FRESH_MS) line.className = 'fresh';
      return line;
    }));
  }, signal);
  const pause = h('button.btn', { type: 'button', 'data-pause': '', 'aria-pressed': 'false', onclick: () => {
    stream.paused = !stream.paused;
    pause.setAttribute('aria-pressed', String(stream.paused));
    pause.textContent = stream.paused ? 'Resume' : 'Pause';
    waiting.textContent = stream.paused ? 'paused: new entries wait' : '';
    if (!stream.paused) stream.later();
  } }, 'Pause');
  stream.begin().catch(() => { waiting.textContent = 'The last blocks could not be read.'; });
  return panel('Newest blocks and transactions',
    h('div.table-wrap', { tabindex: '0', role: 'region', 'aria-label': 'Table: newest blocks and transactions' },
      h('table.stream', { 'aria-label': 'Newest blocks and transactions' }, head(COLUMNS), body)),
    { tools: [waiting, ' ', pause], flush: true });
}
