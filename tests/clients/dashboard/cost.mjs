// What pages cost the node, and how soon they show something: `CLIENT_TESTS_CHROMIUM=chromium node dashboard/run.mjs URL cost`.
// It prints figures and expects nothing, so it is no test.

import { ACCOUNTS, client, open, until } from './lib.mjs';

const WINDOW_MS = 20_000;
const PAGES = 10;
/** Payments a second on C while there is load. */
const RATE = 20;

const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
const wait = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

export async function run({ page, url }) {
  const node = client(url);
  const browser = page.context().browser();
  await page.close();
  await loads(browser, url);
  const pages = [];
  const cpu = async (name, count = () => 0) => {
    const [before, begun] = [await seconds(url), count()];
    const start = performance.now();
    await wait(WINDOW_MS);
    const used = await seconds(url) - before;
    const paid = count() - begun;
    console.log(`${name}: ${((100_000 * used) / (performance.now() - start)).toFixed(2)} % of a core${paid ? `, ${((1000 * used) / paid).toFixed(2)} ms for each of ${paid} payments` : ''}`);
  };
  const withLoad = async (name) => {
    const { stop, count } = load(node);
    await cpu(`${name}, at most ${RATE} payments a second`, count);
    await stop();
  };
  await cpu('no page, idle');
  await withLoad('no page');
  for (const count of [1, PAGES]) {
    while (pages.length < count) pages.push(await overview(browser, url));
    await cpu(`${count} pages, idle`);
    await withLoad(`${count} pages`);
  }
  for (const one of pages) {
    await one.evaluate(() => {
      Object.defineProperty(document, 'hidden', { get: () => true });
      document.dispatchEvent(new Event('visibilitychange'));
    });
  }
  await cpu(`${PAGES} hidden pages, idle`);
  await withLoad(`${PAGES} hidden pages`);
}

async function overview(browser, url) {
  const page = await browser.newPage();
  await open(page, url, '', 'Overview');
  await until('the page is live', () => page.locator('.state-live').isVisible());
  return page;
}

/** Time of the first paint, and until the overview has its newest blocks, over ten loads without a cache. */
async function loads(browser, url) {
  const [paints, complete] = [[], []];
  for (let i = 0; i < 10; i += 1) {
    const page = await browser.newPage();
    await page.addInitScript(() => {
      const look = () => {
        if (document.querySelector('.stream tbody tr') && document.querySelector('.strip dt')) window.complete = performance.now();
        else requestAnimationFrame(look);
      };
      look();
    });
    await page.goto(url);
    await until('the overview is complete', () => page.evaluate(() => window.complete));
    complete.push(await page.evaluate(() => window.complete));
    paints.push(await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime));
    await page.close();
  }
  console.log(`first paint ${median(paints).toFixed(0)} ms, overview ${median(complete).toFixed(0)} ms (medians of ${paints.length})`);
}

async function seconds(url) {
  const text = await (await fetch(new URL('/ext/metrics', url))).text();
  return Number(/^process_cpu_seconds_total (\S+)/m.exec(text)[1]);
}

/** Pays again and again; returns what stops it, and what counts the payments. */
function load(node) {
  let isOn = true;
  let paid = 0;
  const end = (async () => {
    for (let next = performance.now(); isOn; next += 1000 / RATE) {
      await node.evm('evm_sendTransaction', { from: ACCOUNTS[0], to: ACCOUNTS[1], value: '0x1' });
      paid += 1;
      await wait(Math.max(0, next - performance.now()));
    }
  })();
  return { stop: () => { isOn = false; return end; }, count: () => paid };
}
