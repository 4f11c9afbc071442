// How the node is: health, versions, figures, the store's growth, validators and followers, and what its admin API tells.

import { live } from '../chain/live.js';
import { ext, figure, get, metrics, node, rate, status, urlOf } from '../chain/node.js';
import { bytes, duration, grouped, visible } from '../format/text.js';
import { awaited, facts, h, longText, panel, replace, table, viewTitle } from '../parts/base.js';
import { ago, chart, id } from '../parts/values.js';

const EVERY_MS = 3000;

export async function render(_, signal) {
  const [roles, charts, voters] = [h('div'), h('div.charts'), h('div')];
  watch(charts, roles, voters, signal);
  return { title: 'Operate', content: [
    viewTitle('Operate'),
    h('div.columns', null,
      panel('Health', awaited(() => health(signal), { signal }), { flush: true }),
      panel('Node', [awaited(() => identity(signal), { signal }), roles])),
    panel('Figures', charts, { flush: true }),
    voters,
    awaited(() => admin(signal), { signal }),
  ] };
}

/** What only the admin API tells. */
async function admin(signal) {
  const { adminApi } = await status(signal);
  const next = 'Start the node with --api-admin-enabled, and open the page from this machine.';
  if (!adminApi) return panel('Log, settings and log levels', h('p.muted', null, next));
  const { adminPanels } = await import('./operate/admin.js');
  return adminPanels(signal).catch((error) => { throw Object.assign(error, { next }); });
}

async function health(signal) {
  const { checks, healthy } = await get(urlOf('/ext/health'), signal);
  return [h('p.empty', null, h(healthy ? 'span.mark.ok' : 'span.mark.bad', null, healthy ? 'healthy' : 'unhealthy')), table([
    ['Check', ([name]) => visible(name)],
    ['State', ([, check]) => (check.error ? h('span.mark.bad', null, 'fails') : h('span.mark.ok', null, 'passes'))],
    ['Detail', ([, check]) => longText(detail(check), 160), 'grow'],
    ['Checked', ([, check]) => ago(Date.parse(check.timestamp) / 1000), 'num'],
  ], Object.entries(checks), { label: 'Health checks' })];
}

function detail({ error, message, contiguousFailures }) {
  if (error) return `${typeof error === 'string' ? error : JSON.stringify(error)}${contiguousFailures ? `, ${contiguousFailures} times in a row` : ''}`;
  if (message === undefined || (Array.isArray(message) && !message.length)) return '';
  return typeof message === 'string' ? message : Object.entries(message).map(([name, value]) => `${name} ${/Bytes/.test(name) ? bytes(value).join(' ') : JSON.stringify(value)}`).join(', ');
}

async function identity(signal) {
  const version = node.versions;
  const [state, vms] = await Promise.all([status(signal), version ? ext('info', 'getVMs', {}, signal).catch(() => null) : null]);
  return facts([
    ['Network', `${node.network} (${node.networkID})`],
    ['Role', state.role],
    ['Node ID', id(state.nodeID, { whole: true })],
    ['Program', version && `${version.version}${version.gitCommit ? `, commit ${version.gitCommit.slice(0, 10)}` : ''}`],
    ['Format of the data', version?.databaseVersion],
    ['Virtual machines', vms && Object.values(vms.vms).flat().map((name) => `${name} ${version?.vmVersions[name] ?? ''}`).join(', ')],
    ['EVM chain ID', node.chainId],
    ...state.chains.map((chain) => [`Chain ${visible(chain.alias)}`, [id(chain.id), ` at ${grouped(chain.height)}, ${grouped(chain.pending)} waiting`]]),
  ]);
}

/** What the charts and facts are read from. */
const FAMILIES = [
  'esker_follow_lag_bundles', 'esker_follow_lag_seconds', 'esker_http_requests_total', 'esker_http_websockets', 'esker_log_lines_total',
  'esker_store_commit_seconds', 'esker_store_disk_free_bytes', 'esker_store_size_bytes', 'esker_validator_peers', 'esker_validator_quorum',
  'esker_validator_round', 'esker_validator_rounds_total', 'esker_validator_votes_by_validator_total', 'esker_validator_voting',
  'process_cpu_seconds_total', 'process_resident_memory_bytes', 'process_start_time_seconds',
];

/** Name, options and reading of each chart. A reading of null leaves the chart out. */
const CHARTS = [
  ['Size of the store', { format: bytes, zero: false }, ({ value }) => value('esker_store_size_bytes')],
  ['Growth of the store', { format: (size) => [bytes(size)[0], `${bytes(size)[1]} an hour`] }, growth()],
  ['Time of a commit', { unit: 'ms' }, ({ rate: per }) => {
    const [time, commits] = ['sum', 'count'].map((name) => per(`esker_store_commit_seconds_${name}`));
    return commits === 0 ? 0 : (1000 * time) / commits;
  }],
  ['Rounds of the validators', { unit: 'final a second' }, ({ value, rate: per }) => (value('esker_validator_quorum') ? per('esker_validator_rounds_total', { result: 'final' }) : null)],
  ['Rounds skipped', { unit: 'a minute' }, ({ value, rate: per }) => (value('esker_validator_quorum') ? 60 * per('esker_validator_rounds_total', { result: 'skipped' }) : null)],
  ['Behind its source', { unit: 's' }, ({ value }) => (node.role === 'follower' ? value('esker_follow_lag_seconds') : null)],
  ['Behind its source, bundles', { unit: 'bundles' }, ({ value }) => (node.role === 'follower' ? value('esker_follow_lag_bundles') : null)],
  ['Memory', { format: bytes, zero: false }, ({ value }) => value('process_resident_memory_bytes')],
  ['Processor', { unit: '% of a core' }, ({ rate: per }) => 100 * per('process_cpu_seconds_total')],
  ['Requests', { unit: 'a second' }, ({ rate: per }) => per('esker_http_requests_total')],
  ['Websockets', { unit: 'open' }, ({ value }) => value('esker_http_websockets')],
  ['Warnings and errors', { unit: 'lines a minute' }, ({ rate: per }) => 60 * (per('esker_log_lines_total', { level: 'warn' }) + (per('esker_log_lines_total', { level: 'error' }) || 0))],
  ['Free on the disk', { format: bytes, zero: false }, ({ value }) => value('esker_store_disk_free_bytes')],
];

/** Bytes an hour since the view was opened: the store grows in steps. */
function growth() {
  let first = null;
  return ({ value, isFirst }) => {
    const now = [value('esker_store_size_bytes'), performance.now() / 3.6e6];
    if (isFirst) first = now;
    return now[1] > first[1] ? Math.max(0, (now[0] - first[0]) / (now[1] - first[1])) : NaN;
  };
}

function watch(place, roles, voters, signal) {
  const rates = {};
  const drawn = new Map();
  const step = async () => {
    let now;
    try {
      now = await metrics(FAMILIES, signal);
    } catch {
      return;
    }
    const value = (name, labels) => figure(now, name, labels);
    const per = (name, labels) => (rates[name + labels?.[Object.keys(labels)[0]]] ??= rate())(value(name, labels));
    const isFirst = !drawn.size;
    for (const [name, options, read] of CHARTS) {
      const reading = read({ value, rate: per, isFirst });
      if (reading === null) continue;
      if (!drawn.has(name)) {
        drawn.set(name, chart(name, options));
        place.append(drawn.get(name));
      }
      drawn.get(name).push(reading);
    }
    replace(roles, roleFacts(value, live.heights ?? {}));
    const isUsed = voters.contains(document.activeElement) || voters.matches(':hover');
    if (value('esker_validator_quorum') && !isUsed) replace(voters, panel('Votes of the validators', voteTable(now.esker_validator_votes_by_validator_total ?? []), { flush: true }));
  };
  const timer = setInterval(() => { if (!document.hidden) step(); }, EVERY_MS);
  signal.addEventListener('abort', () => clearInterval(timer));
  step();
}

/** The validator with most votes is the measure: one that is far below it was away. */
function voteTable(samples) {
  const most = Math.max(...samples.map(({ value }) => value));
  return table([
    ['Validator', ({ labels }) => id(labels.validator)],
    ['Votes that this node saw', ({ value }) => grouped(value), 'num'],
    ['Of the most', ({ value }) => `${((100 * value) / most).toFixed(1)} %`, 'num'],
  ], samples, { label: 'Votes of the validators', empty: 'No votes yet.' });
}

function roleFacts(value, { followers, following, validatorChange: change }) {
  const start = value('process_start_time_seconds');
  return facts([
    ['Runs for', start && duration(Date.now() / 1000 - start)],
    ['Followers', followers !== undefined && grouped(followers)],
    ['Source', following && longText(following.source ?? `none: ${following.error ?? 'not connected'}`)],
    ['Behind its source', following && `${grouped(following.lagBundles)} bundles, ${duration(following.lagMs / 1000)}`],
    ...(value('esker_validator_quorum') ? [
      ['Round', grouped(value('esker_validator_round') ?? 0)],
      ['Quorum', `${value('esker_validator_quorum')}, connected to ${value('esker_validator_peers')} validators`],
      ['Votes', value('esker_validator_voting') ? 'yes' : h('span.warn', null, 'no: its earlier votes are lost')],
      ['Rounds', ['notarized', 'final', 'skipped'].map((result) => `${grouped(value('esker_validator_rounds_total', { result }) ?? 0)} ${result}`).join(', ')],
      ['Next change', change && `${change.validators} validators from bundle ${grouped(change.bundle)} on, ${change.approvals === undefined ? 'agreed' : `${change.approvals} of ${change.needed} approvals`}`],
    ] : []),
  ]);
}
