// Parts that the scripts of the EVM's clients share: the test contract, the funded accounts, the facts of the chain under test.
import { readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';

/** Phrase of the development network's accounts; public, therefore worthless. */
export const PHRASE = 'test test test test test test test test test test test junk';
/** The first of them. */
export const FIRST = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266';
export const FIRST_KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80';
/** The chains of `esker dev` and of `esker evm`: chain ID, paths, least base fee, and what solc may compile for. */
const CHAINS = {
  C: { id: 43112, rpcPath: '/ext/bc/C/rpc', wsPath: '/ext/bc/C/ws', leastBaseFee: 10n ** 9n, evmVersion: 'cancun' },
  evm: { id: 31337, rpcPath: '/', wsPath: '/', leastBaseFee: 7n, evmVersion: 'prague' },
};
/** The chain under test, of the environment variable CLIENT_TESTS_CHAIN: `C` or `evm`. */
const CHAIN = CHAINS[process.env.CLIENT_TESTS_CHAIN ?? 'C'];
/** Whether it has Ethereum's rules. */
export const IS_ETHEREUM = CHAIN === CHAINS.evm;
/** Its EVM chain ID. */
export const CHAIN_ID = CHAIN.id;
/** Below this its base fee does not fall, wei. */
export const LEAST_BASE_FEE = CHAIN.leastBaseFee;
/** The newest EVM version of the chain that the compiler of npm knows. */
export const EVM_VERSION = CHAIN.evmVersion;
/** The chain as viem knows chains; `urls` as its `rpcUrls.default`. */
export const viemChain = (urls) => ({
  id: CHAIN_ID,
  name: 'development',
  nativeCurrency: { name: 'Native', symbol: 'NAT', decimals: 18 },
  rpcUrls: { default: urls },
});
/** Settings of viem's HTTP: on a busy machine an answer may take longer than viem's ten seconds, the first proof of a blob above all. */
export const PATIENT = { retryCount: 0, timeout: 60_000 };
/** Wei of one unit. */
export const UNIT = 10n ** 18n;
export const GWEI = 10n ** 9n;
/** Gas of a plain transfer. */
export const TRANSFER_GAS = 21_000n;
/** An address of nobody. */
export const NOBODY = '0x00000000000000000000000000000000000c0ffe';

const contracts = new URL('../golden/c/contracts/', import.meta.url);

/** Source of the test contracts. */
export const SOURCE = new URL('Store.sol', contracts);
const bytecode = JSON.parse(readFileSync(new URL('bytecode.json', contracts), 'utf8'));
/** Creation code of `Store`. */
export const STORE_CODE = bytecode.Store.creation;
/** Creation code of `Link`; the address of the next one follows. */
export const LINK_CODE = bytecode.Link.creation;

/** Interface of `Store`. */
export const STORE = [
  'error Denied(address who, uint256 code)',
  'event Put(address indexed who, uint256 indexed key, uint256 value)',
  'event Note(string text)',
  'constructor() payable',
  'function count() view returns (uint256)',
  'function owner() view returns (address)',
  'function data(uint256) view returns (uint256)',
  'function put(uint256 key, uint256 value) returns (uint256 old)',
  'function note(string text)',
  'function many(uint256 n)',
  'function reason()',
  'function custom() view',
  'function empty() pure',
  'function check() pure',
  'function div(uint256 a, uint256 b) pure returns (uint256)',
  'function env() view returns (uint256, uint256, address, uint256, uint256, uint256, uint256)',
];

/** Where the chain of a node answers. */
export const rpcOf = (url) => new URL(CHAIN.rpcPath, url).href;
/** Where it has websockets. */
export const wsOf = (url) => `ws://${new URL(url).host}${CHAIN.wsPath}`;

/** Way to the node's websocket, which can be cut: whoever is connected has to connect again. */
export async function cuttable(url) {
  const { hostname, port } = new URL(url);
  const open = new Set();
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    for (const socket of [near, far]) {
      open.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        open.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    near.pipe(far).pipe(near);
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    url: wsOf(`http://127.0.0.1:${server.address().port}`),
    cut: () => open.forEach((socket) => socket.destroy()),
    close: () => server.close(),
  };
}
