/**
 * Operations made ready for the loop: a list for each field, composed values, and places for the loop's notes.
 *
 * A process alone makes them ready while its clock stands still. Each of several processes does so before its clock
 * starts, unless there are too many operations.
 */

import { GET, GET_OR_SET, NOTHING, OPERATION_WORDS, SET } from './plan.js';

// The outcomes of an operation; the loop notes an outcome only where it is not `RIGHT`.
export const RIGHT = 0;
export const MISS = 1;
export const DAMAGED = 2;
export const TRUNCATED = 3;
export const ERROR = 4;
export const FILLED = 5;
export const UNFILLED = 6;
export const STALE = 7;
export const OTHER_KEY = 8;
/** A miss of a key that must be absent, which is the right answer. */
export const PLANNED = 9;

/** The expectation of a get where no value is right: bytes that are no value of any plan. */
export const NONE = Buffer.from('nothing is stored under this key, so no value of it is right');

const EMPTY = Buffer.alloc(0);

export class Block {
  /** The keys of the operations; the other lists are as long, once there are operations. */
  key = [];
  outcome = new Uint8Array(0);
  /** By operation, the bytes of a value whose length is not the expected one. */
  bytesOf = new Map();
  errors = new Map();
  /** By kind and outcome, the first wrong operation and the value that it got. */
  wrong = {};
  #limits;
  /** Gets may meet newer values than they expect, so the numbers of their keys' values are made ready too. */
  #meetsNewer;
  /** The value that the null cache holds. */
  #held;
  #composed = 0;
  #read = new Map();
  #stored = new Map();
  /** The gets whose key must be absent. */
  #nothing = [];

  constructor(plan, limits, { multiget, meetsNewer, held }) {
    this.plan = plan;
    this.multiget = multiget;
    this.count = 0;
    this.#limits = limits;
    this.#meetsNewer = meetsNewer && !plan.replays;
    this.#held = held;
  }

  /** Makes ready as many of the `count` operations from `first` on as fit, and returns their number. */
  fill(first, count) {
    if (this.#composed >= this.#limits.valueBytes) {
      this.#forget();
    }
    const words = this.plan.operations(first, Math.min(count, this.#limits.operations));
    const { keys } = this.plan;
    const all = words.length / OPERATION_WORDS;
    this.#makePlaces(all);
    this.#nothing = [];
    let isOfOneKind = true;
    let n = 0;
    for (let at = 0; n < all && this.#composed < this.#limits.valueBytes; n += 1, at += OPERATION_WORDS) {
      this.kind[n] = words[at];
      this.keyIndex[n] = words[at + 1];
      this.value[n] = words[at + 2];
      this.underIndex[n] = words[at + 3];
      this.key[n] = keys[words[at + 1]];
      this.under[n] = keys[words[at + 3]];
      this.want[n] = this.#wanted(n);
      isOfOneKind &&= words[at] === words[0];
    }
    this.count = n;
    this.onlyKind = isOfOneKind ? words[0] : null;
    if (this.multiget > 1) {
      this.#requests();
    }
    return n;
  }

  /** Whether `got` is this value. The composed value is kept for later gets, while there is room. */
  isValue(number, got) {
    let text = this.#read.get(number);
    if (text === undefined) {
      if (this.#composed >= this.#limits.valueBytes) {
        return got.equals(this.plan.value(number));
      }
      text = this.#compose(this.#read, number);
    }
    return got.equals(text);
  }

  /** Marks the misses of keys that must be absent as right. */
  settleMisses() {
    for (const n of this.#nothing) {
      if (this.outcome[n] === MISS) {
        this.outcome[n] = PLANNED;
      }
    }
  }

  /** Keeps, for a kind of operation and a wrong outcome, the first operation and the value that it got. */
  noteWrong(n, outcome, got) {
    const ofKind = (this.wrong[this.kind[n]] ??= {});
    ofKind[outcome] ??= { n, got };
  }

  /** The value that an operation stores or expects. */
  #wanted(n) {
    const kind = this.kind[n];
    if (kind === SET) {
      this.#held = this.value[n];
      return this.#stored.get(this.#held) ?? this.#compose(this.#stored, this.#held);
    }
    if (kind !== GET && kind !== GET_OR_SET) {
      return EMPTY;
    }
    if (this.plan.replays) {
      if (kind === GET_OR_SET && this.#held === 0) {
        this.#held = this.value[n];
      }
      this.value[n] = this.#held;
    }
    if (this.#meetsNewer) {
      this.plan.numbersOf(this.keyIndex[n]);
    }
    const number = this.value[n] || this.plan.newest[this.keyIndex[n]];
    if (number === NOTHING) {
      this.#nothing.push(n);
    }
    if (number === 0 || number === NOTHING) {
      return NONE;
    }
    return this.#read.get(number) ?? this.#compose(this.#read, number);
  }

  /**
   * A value, which later blocks share while there is room. Gets and sets have separate buffers, even of the same value: a
   * cache in memory returns the very buffer that it was given, and comparing a buffer with itself would cost nothing.
   */
  #compose(texts, number) {
    const text = this.plan.value(number);
    texts.set(number, text);
    this.#composed += text.length;
    return text;
  }

  #forget() {
    this.#composed = 0;
    this.#read = new Map();
    this.#stored = new Map();
  }

  /** Makes room for this many operations and the loop's notes on them. The lists of the last block serve again. */
  #makePlaces(count) {
    if (this.key.length < count) {
      for (const field of ['key', 'under', 'want', 'requestKeys']) {
        this[field] = new Array(count);
      }
      for (const field of ['value', 'keyIndex', 'underIndex', 'requestTo']) {
        this[field] = new Uint32Array(count);
      }
      this.kind = new Uint8Array(count);
      this.end = new Float64Array(count);
      this.outcome = new Uint8Array(count);
    }
    this.outcome.fill(RIGHT);
    this.bytesOf.clear();
    this.errors.clear();
    this.notes = [];
    this.segments = [];
    this.wrong = {};
  }

  /** Joins successive gets into requests of up to `multiget` keys: the end of each request, and its keys. */
  #requests() {
    for (let first = 0, last; first < this.count; first = last + 1) {
      last = first;
      while (
        this.kind[last] === GET &&
        last - first + 1 < this.multiget &&
        last + 1 < this.count &&
        this.kind[last + 1] === GET
      ) {
        last += 1;
      }
      this.requestTo[first] = last;
      this.requestKeys[first] = this.key.slice(first, last + 1);
    }
  }
}
