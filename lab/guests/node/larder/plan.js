/**
 * A plan in memory: keys, the pool that values are cut from, operations.
 *
 * Values are composed when a block of operations is made ready, for all values together may be larger than memory.
 */

import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';

export const GET = 0;
export const SET = 1;
export const GET_OR_SET = 2;
export const DELETE = 3;
export const TOUCH = 4;
/** The value of a get whose key must be absent; larger than the number of any value. */
export const NOTHING = 0xffff_ffff;

/** Words of 32 bits in an operation of the plan: its kind, its key, its value, the key to store under. */
export const OPERATION_WORDS = 4;

/** A value begins with a header of this length, which is unique, unless it is shorter. */
const HEADER_BYTES = 24;

const VALUE_BYTES = 36;
/** The bytes of a value's record before its header. */
const BEFORE_HEADER = 12;
/** The system reads at most 2 GiB at once. */
const PIECE_BYTES = 1 << 30;

/** The contents of the files in a plan's folder. */
export class Plan {
  #pool;
  #values;
  #operations;
  #numbers = new Map();

  constructor({ folder, terms, pool, keys, newest, values, operations }) {
    this.folder = folder;
    this.processes = terms.processes;
    this.ttlS = terms.ttl_s;
    this.replays = terms.replays;
    this.phases = terms.phases.map(phaseOf);
    this.keys = keys;
    this.newest = newest;
    this.#pool = pool;
    this.#values = values;
    this.#operations = operations;
  }

  /** The plan in a folder; `keyOf` gives a key the form in which the cache takes it. */
  static read(folder, keyOf) {
    const terms = JSON.parse(readFileSync(join(folder, 'plan.json')));
    const [keys, newest] = keysIn(bytesOf(join(folder, 'keys.bin')), keyOf);
    const values = bytesOf(join(folder, 'values.bin'));
    // The words are little-endian, as every processor that Node runs on has them.
    const operations = new Uint32Array(bytesOf(join(folder, 'ops.bin')).buffer);
    return new Plan({ folder, terms, pool: bytesOf(terms.pool), keys, newest, values, operations });
  }

  /** The number of values. */
  get count() {
    return this.#values.length / VALUE_BYTES;
  }

  /** A plan of one process with the same values under other keys, and with phases and operations of its own. */
  rehearsing({ ttlS, phases, keys, newest, operations }) {
    const terms = { processes: 1, ttl_s: ttlS, replays: this.replays, phases };
    return new Plan({ folder: null, terms, pool: this.#pool, keys, newest, values: this.#values, operations });
  }

  /** A value by its number, in a buffer of its own. */
  value(number) {
    const record = (number - 1) * VALUE_BYTES;
    const at = this.#values.readUInt32LE(record);
    const length = this.#values.readUInt32LE(record + 4);
    const value = Buffer.allocUnsafe(length);
    this.#pool.copy(value, 0, at, at + length);
    if (length >= HEADER_BYTES) {
      this.#values.copy(value, 0, record + BEFORE_HEADER, record + VALUE_BYTES);
    }
    return value;
  }

  lengthOf(number) {
    return this.#values.readUInt32LE((number - 1) * VALUE_BYTES + 4);
  }

  /** The numbers of a key's values, by their first bytes, which are unique. Of equal short values: the newest. */
  numbersOf(key) {
    let numbers = this.#numbers.get(key);
    if (numbers === undefined) {
      numbers = new Map();
      this.#numbers.set(key, numbers);
      for (let number = this.newest[key]; number !== 0; number = this.#previous(number)) {
        const first = firstBytes(this.#beginning(number));
        if (!numbers.has(first)) {
          numbers.set(first, number);
        }
      }
    }
    return numbers;
  }

  /** The words of `count` operations from `first` on. */
  operations(first, count) {
    return this.#operations.subarray(first * OPERATION_WORDS, (first + count) * OPERATION_WORDS);
  }

  /** The kinds of the operations of a phase, each once. */
  kindsIn({ shares }) {
    const kinds = new Set();
    for (const share of shares) {
      const words = this.operations(...share);
      for (let at = 0; at < words.length; at += OPERATION_WORDS) {
        kinds.add(words[at]);
      }
    }
    return [...kinds].sort();
  }

  /**
   * The number of the value that the null cache holds when a process begins a phase: the value that was set last, or the
   * fill of the first miss; 0 where the cache is empty.
   */
  heldBefore(phase, process) {
    let held = 0;
    for (const earlier of this.phases.slice(0, phase)) {
      const words = this.operations(...earlier.shares[process]);
      for (let at = 0; at < words.length; at += OPERATION_WORDS) {
        if (words[at] === SET || (words[at] === GET_OR_SET && held === 0)) {
          held = words[at + 2];
        }
      }
    }
    return held;
  }

  #previous(number) {
    return this.#values.readUInt32LE((number - 1) * VALUE_BYTES + 8);
  }

  /** The first bytes of a value, up to the length of a header. */
  #beginning(number) {
    const record = (number - 1) * VALUE_BYTES;
    const length = this.lengthOf(number);
    if (length >= HEADER_BYTES) {
      return this.#values.subarray(record + BEFORE_HEADER, record + VALUE_BYTES);
    }
    const at = this.#values.readUInt32LE(record);
    return this.#pool.subarray(at, at + length);
  }
}

/** The first bytes of a value as the key of a table. */
export function firstBytes(value) {
  return value.latin1Slice(0, Math.min(HEADER_BYTES, value.length));
}

function phaseOf({ measured, shares, time_limit_s, multiget, again }) {
  const limitMs = time_limit_s === null ? Infinity : time_limit_s * 1e3;
  return { measured, shares, limitMs, multiget, again: again && limitMs !== Infinity };
}

/** The keys of `keys.bin`, and the number of the newest value of each. */
function keysIn(bytes, keyOf) {
  const keys = [];
  const newest = [];
  for (let at = 0; at < bytes.length; ) {
    newest.push(bytes.readUInt32LE(at));
    const begin = at + 8;
    at = begin + bytes.readUInt32LE(at + 4);
    keys.push(keyOf(bytes.subarray(begin, at)));
  }
  return [keys, newest];
}

/** The contents of a file in memory of its own, so that its words may be read as numbers. */
function bytesOf(path) {
  const file = openSync(path);
  try {
    const bytes = Buffer.from(new ArrayBuffer(fstatSync(file).size));
    for (let at = 0, read; at < bytes.length; at += read) {
      read = readSync(file, bytes, at, Math.min(bytes.length - at, PIECE_BYTES), at);
      if (read === 0) {
        throw new Error(`${path} ended early`);
      }
    }
    return bytes;
  } finally {
    closeSync(file);
  }
}
