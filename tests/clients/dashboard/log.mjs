// The log is followed, filtered and paused; lines of others stay texts, and bounded. Settings show where they come from.

import { check, client, open, panel, sees, until, violations } from './lib.mjs';

const EVIL = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>\u202Egnp.exe\u0007';

export async function run({ page, url, axe }) {
  const node = client(url);
  await page.addInitScript(() => { window.hacked = 0; });
  await open(page, url, '#/operate', 'Operate');
  await follow(page, node);
  await settings(page);
  await appearance(page, axe);
  await hostile(page, url);
  await lost(page, url);
}

async function follow(page, node) {
  const log = panel(page, 'Log');
  const rows = log.locator('tbody tr');
  const shown = (text) => rows.filter({ hasText: text }).count();
  const has = (text) => until(`the log shows ${text}`, () => shown(text));
  await has('chain opened');
  await log.getByLabel('Text').fill('chain OPENED');
  await until('the text filters', async () => (await rows.count()) > 0 && (await rows.count()) === (await shown('chain opened')));
  await log.getByLabel('Text').fill('no such line');
  await sees(page, 'No line has this text.', '.list');
  await log.getByLabel('Text').fill('');

  // New lines arrive by themselves, of the logger and level that are chosen.
  await page.getByLabel('X, file').selectOption('debug');
  await log.getByLabel('Least severe level').selectOption('debug');
  await log.getByLabel('Logger').selectOption('X');
  const ask = () => node.xvm('xvm.getHeight');
  await ask();
  await has('method=getHeight');
  check((await shown('main')) === 0, 'the log of X has no line of another logger');
  const row = await rows.first().elementHandle();
  await ask();
  await until('a second line arrives', async () => (await shown('method=getHeight')) >= 2);
  check(await row.evaluate((element) => element.isConnected), 'rows that are there stay');

  await log.getByRole('button', { name: 'Pause' }).click();
  let reads = 0;
  page.on('request', (request) => { if (request.postData()?.includes('admin.getLogs')) reads += 1; });
  const before = await shown('method=getHeight');
  await ask();
  // As long as the page would take to read twice: the other figures of the view go on.
  for (let i = 0; i < 2; i += 1) await page.waitForResponse((response) => response.url().includes('/ext/metrics'));
  check(reads === 0 && (await shown('method=getHeight')) === before, 'a log that is paused asks for nothing');
  await log.getByRole('button', { name: 'Resume' }).click();
  await until('what was missed arrives', async () => (await shown('method=getHeight')) > before);

  await log.getByLabel('Least severe level').selectOption('error');
  await sees(page, 'No lines of this level.', '.list');
  await page.getByLabel('X, file').selectOption('info');
  await sees(page, 'X: info', '[role=status]');
}

async function settings(page) {
  const list = panel(page, 'Settings');
  const first = list.locator('tbody tr').first();
  await until('settings that somebody has set come first', async () => /flag --/.test(await first.innerText()));
  await list.getByLabel('Filter').fill('api-admin');
  await sees(page, /api-admin-enabled\s+true\s+default: false\s+flag --api-admin-enabled/, 'table');
  await list.getByLabel('Filter').fill('of esker dev');
  await sees(page, /network\s+dev\s+default of esker dev/, 'table');
  await list.getByLabel('Filter').fill('nothing like it');
  await sees(page, 'No setting matches.', '.list');
  await list.getByLabel('Filter').fill('');
}

async function appearance(page, axe) {
  await panel(page, 'Log').getByLabel('Least severe level').selectOption('verbo');
  await panel(page, 'Log').getByLabel('Logger').selectOption('');
  await until('lines are there', async () => (await panel(page, 'Log').locator('tbody tr').count()) > 3);
  const found = [];
  for (const [colorScheme, width] of [['light', 1440], ['dark', 1440], ['light', 360], ['dark', 360]]) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 900 });
    found.push(...await violations(page, axe, `operate, ${colorScheme}, ${width}`));
    if (process.env.SHOTS) {
      await panel(page, 'Log').evaluate((element) => scrollTo(0, element.offsetTop - document.querySelector('.header').offsetHeight - 16));
      await page.screenshot({ path: `${process.env.SHOTS}/log-${colorScheme}-${width}.png` });
    }
  }
  check(!found.length, `no violations:\n${found.join('\n')}`);
  await page.setViewportSize({ width: 1440, height: 900 });
}

/** Answers a call of `getLogs` in the place of the node; the other calls go to the node. */
async function answering(page, answer) {
  await page.unroute('**/ext/admin');
  await page.route('**/ext/admin', async (route) => {
    const { id, method, params } = route.request().postDataJSON();
    if (method !== 'admin.getLogs') return route.continue();
    return route.fulfill({ json: { jsonrpc: '2.0', id, ...answer(params) } });
  });
}

async function hostile(page, url) {
  const line = (number, text) => ({ number: String(number), time: EVIL, level: EVIL, logger: EVIL, module: EVIL, text });
  let next = 1;
  await answering(page, ({ after }) => {
    const lines = after === undefined ? Array.from({ length: 3000 }, (_, i) => line(i, EVIL + 'long '.repeat(13_000 / (1 + (i % 50))))) : [line(next, `${EVIL} ${next}`)];
    next += 1;
    return { result: { lines, next: String(next), missed: true } };
  });
  await open(page, url, '#/operate', 'Operate');
  const rows = panel(page, 'Log').locator('tbody tr');
  await until('hostile lines are shown', async () => (await rows.count()) === 300);
  await until('they are followed', async () => /gnp\.exe\\u\{7\} [2-9]/.test(await rows.first().innerText()));
  check((await rows.count()) === 300, 'elements stay bounded');
  await sees(page, 'The newest 300 of 1,000 lines.', '.list');
  await sees(page, 'some lines were dropped before the page read them', '[role=status]');
  const shown = await panel(page, 'Log').innerText();
  check(shown.includes('<script>window.hacked=1</script>\\u{202e}gnp.exe\\u{7}'), 'markup is text');
  check(shown.length < 300 * 2000, `long lines are cut (${shown.length})`);
  check(!/[\u202a-\u202e\u2066-\u2069\u0007]/.test(shown), 'no mark of direction or control is shown as such');
  const titles = await rows.first().locator('[title]').evaluateAll((all) => all.map((one) => one.title).join());
  check(!/[\u202a-\u202e]/.test(titles), 'none is in a title');
  check((await page.evaluate(() => window.hacked)) === 0, 'no script of a line ran');
  check((await page.locator('main script, main img').count()) === 0, 'no markup of a line became elements');
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  check(wide <= 0, `the view is not wider than the window (${wide})`);
}

/** An error of the log is said, and the log goes on when it is over. */
async function lost(page, url) {
  let isBroken = true;
  await answering(page, () => (isBroken ? { error: { code: -32000, message: `${EVIL} broken` } }
    : { result: { lines: [{ number: '1', time: '2026-01-01T00:00:00.000Z', level: 'WARN', logger: 'main', module: 'esker', text: 'mended' }], next: '1', missed: false } }));
  await open(page, url, '#/operate', 'Operate');
  await sees(page, /not read: <img src=x[\s\S]*\\u\{202e\}gnp\.exe\\u\{7\} broken/, '[role=status]');
  isBroken = false;
  await until('the log is read again', async () => /WARN\s+main\s+mended/.test(await panel(page, 'Log').innerText()));
  await until('the error is gone', async () => !(await panel(page, 'Log').innerText()).includes('not read'));
  await page.unroute('**/ext/admin');
}
