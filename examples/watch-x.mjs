// Watches UTXOs of the X-Chain: `node watch-x.mjs [URL] [FROM_HEIGHT] [CHANGES]`, with `esker dev` running.
// It begins at the genesis, and goes on where it was after each reconnect. With CHANGES it ends after so many.
const WebSocket = globalThis.WebSocket ?? (await import('ws')).WebSocket;

const url = process.argv[2] ?? 'http://127.0.0.1:9650';
let height = BigInt(process.argv[3] ?? 0);
let left = Number(process.argv[4] ?? Infinity);
const RETRY_MS = 500;
/** Changes that were shown of the block at `height`. */
let shown = new Set();

function show({ change, txID, utxoID, assetID, output, amount, removed, ...at }) {
  const next = BigInt(at.height);
  if (next !== height) {
    shown = new Set();
    height = next;
  }
  const known = `${txID} ${utxoID} ${change} ${removed}`;
  if (shown.has(known)) return;
  // What was taken back can come again.
  shown.delete(`${txID} ${utxoID} ${change} ${!removed}`);
  shown.add(known);
  const what = output?.amount ?? amount ?? output?.type;
  console.log(`${removed ? 'removed ' : ''}block ${height}: ${change} ${what} of ${assetID}, UTXO ${utxoID}`);
  left -= 1;
  if (left === 0) process.exit(0);
}

function watch() {
  const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/ext/bc/X/ws`);
  socket.onopen = () => {
    const params = { kind: 'utxos', fromHeight: String(height) };
    socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'xvm.subscribe', params }));
  };
  socket.onmessage = ({ data }) => {
    const { method, params, error } = JSON.parse(data);
    if (error) throw new Error(error.message);
    if (method === 'xvm.subscription') show(params.result);
  };
  socket.onerror = () => {};
  socket.onclose = () => setTimeout(watch, RETRY_MS);
}

watch();
