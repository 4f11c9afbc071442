/** What a node is started with. Ports are free ones, and the data is temporary, unless they are given. */
export interface NodeOptions {
  /**
   * The binary. By default the one that the variable `ESKER_BIN` names, else that of the package `esker-cli` if it is
   * installed, else `esker` on the `PATH`.
   */
  binary?: string;
  /** Number of accounts, 1 to 1000; 10 by default. */
  accounts?: number;
  /** What each account has on each chain, in whole units of the native asset; 10,000 by default. */
  balance?: number | bigint;
  /** The phrase of the accounts' keys. */
  mnemonic?: string;
  /** Where the clock of all chains begins, Unix seconds. */
  timestamp?: number;
  /** A file of assets, UTXOs and contracts that the node begins with. */
  fixture?: string;
  /** A data folder that outlives the node. */
  dataDir?: string;
  /** The port that has all APIs. */
  httpPort?: number;
  /** The port that has the C-Chain's JSON-RPC at `/`. */
  evmPort?: number;
  /** A file for what the node writes to its outputs, which outlives it. */
  logFile?: string;
  /** How long the start may take, ms; 60,000 by default. */
  startTimeoutMs?: number;
  /** Further arguments of `esker dev`. */
  args?: readonly string[];
}

/** A funded account, with the same key on all chains. */
export interface Account {
  /** The address on the X-Chain: `X-local1..`. */
  xAddress: string;
  /** The address on the C-Chain, with its checksum. */
  cAddress: `0x${string}`;
  /** The key for tools of the C-Chain. */
  privateKey: `0x${string}`;
  /** The key for tools of the X-Chain: `PrivateKey-..`. */
  xPrivateKey: string;
}

/** Where a call goes. */
export interface CallOptions {
  /** By default the path of the method's namespace. */
  path?: string;
  /** How long it may take, ms; 60,000 by default. */
  timeoutMs?: number;
}

/** A node that could not be started, used or stopped; its message ends with the node's last log lines, if it has run. */
export class EskerError extends Error {}

/** A refusal by the node. */
export class RpcError extends Error {
  readonly method: string;
  readonly code: number;
  readonly data: unknown;
}

/** A running node; made by `startNode`. It ends with this process. */
export class EskerNode {
  private constructor();
  /** The address that has all APIs. */
  readonly url: string;
  /** JSON-RPC of the C-Chain. */
  readonly evmUrl: string;
  /** The websocket of the C-Chain. */
  readonly wsUrl: string;
  /** The funded accounts, in the order of their numbers. */
  readonly accounts: readonly Account[];
  /** The number of its process. */
  readonly pid: number;
  /** The line that the node writes when it is ready: addresses, IDs of chains and asset. */
  readonly ready: Readonly<Record<string, unknown>>;
  /** The last lines that the node has written. */
  readonly lastLines: string;
  /** Calls a method of any namespace; without parameters it gets none. A refusal is an `RpcError`. */
  rpc<Result = any>(method: string, params?: unknown, options?: CallOptions): Promise<Result>;
  /** Takes a snapshot of all chains, their pools and the clock; its ID. */
  snapshot(): Promise<string>;
  /** Goes back to a snapshot, which is then gone with all later ones. */
  revert(id: string): Promise<void>;
  /** Runs a function and goes back to where the node was before it, also if it fails. */
  isolated<Result>(use: (node: EskerNode) => Result | Promise<Result>): Promise<Result>;
  /** Makes blocks on the C-Chain, also empty ones, each `intervalSeconds` later than it would be. */
  mine(blocks?: number, intervalSeconds?: number): Promise<void>;
  /** The clock of all chains, Unix seconds. */
  time(): Promise<number>;
  /** Moves the clock forward; the new time, Unix seconds. */
  increaseTime(seconds: number): Promise<number>;
  /** Sets the clock, Unix seconds; the new time. */
  setTime(timestamp: number): Promise<number>;
  /** The receipt of a transaction of the C-Chain, once a block has it, at most for `timeoutMs` (60,000). */
  waitReceipt(hash: string, timeoutMs?: number): Promise<any>;
  /** Stops the node; it is gone when this resolves. */
  stop(): Promise<void>;
  /** The same, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts a node and waits until it serves. */
export function startNode(options?: NodeOptions): Promise<EskerNode>;

/** Runs a function with a node of its own, which is stopped afterwards. */
export function withNode<Result>(use: (node: EskerNode) => Result | Promise<Result>): Promise<Result>;
export function withNode<Result>(
  options: NodeOptions,
  use: (node: EskerNode) => Result | Promise<Result>,
): Promise<Result>;
