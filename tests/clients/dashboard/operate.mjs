// The state of a validator: its chains, rounds and votes, the store's growth, settings and log levels.

import { check, client, open, panel, sees, until, violations } from './lib.mjs';

export async function run({ page, url, axe }) {
  const node = client(url);
  await open(page, url, '#/operate', 'Operate');
  await sees(page, /EVM chain ID\s+43112\s/);
  await sees(page, /Quorum\s+1, connected to 0 validators\s+Votes\s+yes/);
  for (const name of ['Size of the store', 'Growth of the store', 'Rounds of the validators', 'Rounds skipped']) {
    await until(`the chart "${name}" has values`, () => page.locator('e-chart', { hasText: name }).locator('.stroke').isVisible());
  }
  check(!(await page.locator('e-chart', { hasText: 'Behind its source' }).count()), 'a node without a source has no chart of its lag');
  const votes = page.getByRole('table', { name: 'Votes of the validators' });
  await until('votes are counted', async () => /\d+\s+100\.0 %/.test(await votes.innerText()));
  await votes.getByRole('button').first().focus();
  const row = await votes.locator('tbody tr').elementHandle();
  await page.waitForResponse((response) => response.url().includes('/ext/metrics?'));
  await page.waitForResponse((response) => response.url().includes('/ext/metrics?'));
  check(await row.evaluate((element) => element.isConnected), 'a table that is used stays');

  const settings = panel(page, 'Settings');
  await settings.getByLabel('Filter').fill('api-admin');
  await until('the filter holds', async () => (await settings.locator('tbody tr').count()) === 1);
  await sees(page, /api-admin-enabled\s+true\s+default: false\s+flag --api-admin-enabled/, 'table');
  await page.getByLabel('X, file').selectOption('debug');
  await sees(page, 'X: debug', '[role=status]');
  const { loggerLevels } = await node.rpc('/ext/admin', 'admin.getLoggerLevel', { loggerName: 'X' });
  check(loggerLevels.X.logLevel === 'DEBUG', `the level is set (${JSON.stringify(loggerLevels)})`);

  const found = [];
  for (const [colorScheme, width] of [['light', 1440], ['dark', 360]]) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 900 });
    found.push(...await violations(page, axe, `operate, ${colorScheme}, ${width}`));
  }
  check(!found.length, `no violations:\n${found.join('\n')}`);
}
