// How the node is: health, versions, settings, log levels, figures, the store, validators and followers.

import { ext, figure, get, metrics, node, rate, status, urlOf } from '../chain/node.js';
import { bytes, compact, duration, grouped, visible } from '../format/text.js';
import { awaited, errorNotice, facts, h, longText, panel, replace, table, viewTitle } from '../parts/base.js';
import { field } from '../parts/form.js';
import { ago, chart, id } from '../parts/values.js';

const EVERY_MS = 3000;

export async function render(_, signal) {
  const roles = h('div');
  const charts = makeCharts();
  watch(charts, roles, signal);
  return { title: 'Operate', content: [
    viewTitle('Operate'),
    h('div.columns', null,
      panel('Health', awaited(() => health(signal), { signal }), { flush: true }),
      panel('Node', [awaited(() => identity(signal), { signal }), roles])),
    panel('Figures', h('div.charts', null, Object.values(charts)), { flush: true }),
    awaited(() => adminPanel(signal), { signal }),
  ] };
}

/** What only the admin API tells. */
async function adminPanel(signal) {
  const { adminApi } = await status(signal);
  const next = 'Start the node with --api-admin-enabled, and open the page from this machine.';
  if (!adminApi) return panel('Settings and log levels', h('p.muted', null, next));
  const config = await ext('admin', 'getConfig', {}, signal).catch((error) => { throw Object.assign(error, { next }); });
  return h('div.columns', null, panel('Settings', settings(config), { flush: true }), panel('Log levels', awaited(levels, { signal })));
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

function makeCharts() {
  return {
    size: chart('Size of the store', { format: bytes, zero: false }),
    commit: chart('Time of a commit', { unit: 'ms' }),
    memory: chart('Memory', { format: bytes, zero: false }),
    cpu: chart('Processor', { unit: '% of a core' }),
    requests: chart('Requests', { unit: 'a second' }),
    sockets: chart('Websockets', { unit: 'open' }),
    log: chart('Warnings and errors', { unit: 'lines a minute' }),
    free: chart('Free on the disk', { format: bytes, zero: false }),
  };
}

function watch(charts, roles, signal) {
  const rates = { cpu: rate(), requests: rate(), log: rate(), commits: rate(), time: rate() };
  const step = async () => {
    let now;
    try {
      now = await metrics(signal);
    } catch {
      return;
    }
    const value = (name, labels) => figure(now, name, labels);
    const commits = rates.commits(value('esker_store_commit_seconds_count'));
    charts.size.push(value('esker_store_size_bytes') ?? NaN);
    charts.free.push(value('esker_store_disk_free_bytes') ?? NaN);
    const spent = rates.time(value('esker_store_commit_seconds_sum'));
    charts.commit.push(commits > 0 ? (1000 * spent) / commits : 0);
    charts.memory.push(value('process_resident_memory_bytes') ?? NaN);
    charts.cpu.push(100 * rates.cpu(value('process_cpu_seconds_total')));
    charts.requests.push(rates.requests(value('esker_http_requests_total')));
    charts.sockets.push(value('esker_http_websockets') ?? NaN);
    charts.log.push(60 * rates.log((value('esker_log_lines_total', { level: 'warn' }) ?? 0) + (value('esker_log_lines_total', { level: 'error' }) ?? 0)));
    replace(roles, roleFacts(value));
  };
  const timer = setInterval(() => { if (!document.hidden) step(); }, EVERY_MS);
  signal.addEventListener('abort', () => clearInterval(timer));
  step();
}

function roleFacts(value) {
  const start = value('process_start_time_seconds');
  const follows = value('esker_follow_connected') || value('esker_follow_lag_seconds');
  return facts([
    ['Runs for', start && duration(Date.now() / 1000 - start)],
    ['Followers', grouped(value('esker_followers') ?? 0)],
    ['Behind its source', follows ? `${compact(value('esker_follow_lag_bundles') ?? 0)} bundles, ${duration(value('esker_follow_lag_seconds') ?? 0)}` : null],
    ...(value('esker_validator_quorum') ? [
      ['Round', grouped(value('esker_validator_round') ?? 0)],
      ['Quorum', `${value('esker_validator_quorum')}, connected to ${value('esker_validator_peers')} validators`],
      ['Votes', value('esker_validator_voting') ? 'yes' : h('span.warn', null, 'no: its earlier votes are lost')],
      ['Rounds', ['notarized', 'final', 'skipped'].map((result) => `${grouped(value('esker_validator_rounds_total', { result }) ?? 0)} ${result}`).join(', ')],
    ] : []),
  ]);
}

function settings(config) {
  const filter = field('Filter', { name: 'setting', mono: true });
  const body = h('div');
  const draw = () => replace(body, table([
    ['Setting', ([name]) => h('span.mono', null, visible(name)), 'nowrap'],
    ['Value', ([, value]) => h('span.mono', null, longText(typeof value === 'string' ? value : JSON.stringify(value), 80))],
  ], Object.entries(config).filter(([name]) => name.includes(filter.input.value.toLowerCase())), { label: 'Settings' }));
  filter.input.addEventListener('input', draw);
  draw();
  body.className = 'list';
  body.tabIndex = 0;
  return [h('div.panel-body', null, filter), body];
}

const LEVELS = ['off', 'fatal', 'error', 'warn', 'info', 'trace', 'debug', 'verbo'];

async function levels() {
  const { loggerLevels } = await ext('admin', 'getLoggerLevel', {});
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
  return [h('div.fields', null, Object.entries(loggerLevels).flatMap(([logger, now]) => [choice(logger, 'logLevel', now.logLevel), choice(logger, 'displayLevel', now.displayLevel)])), said];
}
