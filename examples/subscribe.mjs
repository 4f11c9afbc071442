// Listens to blocks over a websocket with ethers: `node subscribe.mjs [URL] [BLOCKS]`, with `esker dev` running.
// A transaction makes a block, so this sends one for each block that it waits for.
import { WebSocketProvider } from 'ethers';

const url = process.argv[2] ?? 'http://127.0.0.1:9650';
const blocks = Number(process.argv[3] ?? 3);
if (!Number.isInteger(blocks) || blocks < 1) throw new Error(`BLOCKS is a whole number from 1, not ${process.argv[3]}`);

const provider = new WebSocketProvider(`${url.replace(/^http/, 'ws')}/ext/bc/C/ws`, undefined, { cacheTimeout: -1 });
const [from, to] = await provider.send('eth_accounts', []);

let resolve;
await provider.on('block', (number) => {
  console.log(`block ${number}`);
  resolve?.();
});
// The subscription is there when a later request is answered.
await provider.send('eth_blockNumber', []);

for (let sent = 0; sent < blocks; sent += 1) {
  const next = new Promise((done) => { resolve = done; });
  await provider.send('eth_sendTransaction', [{ from, to, value: '0x1' }]);
  await next;
}
await provider.destroy();
