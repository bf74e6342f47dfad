/**
 * Operations made ready for the loop: a list for each field, composed values, and places for the loop's notes.
 *
 * A process alone makes them ready while its clock stands still. Each of several processes does so before its clock
 * starts, unless there are too many operations.
 */

import { firstBytes, GET, GET_OR_SET, NOTHING, OPERATION_WORDS, SET } from './plan.js';

// The outcomes of an operation; the loop notes an outcome only where it is not `RIGHT`.
export const RIGHT = 0;
export const MISS = 1;
export const ERROR = 2;
export const FILLED = 3;
export const UNFILLED = 4;
/** Another value than the expected one. */
export const OTHER = 5;

/** The bytes of other values that a block keeps whole. Of the values after these it keeps the beginning. */
const OTHER_BYTES = 16 << 20;
const BEGINNING = 64;

/** The expectation of a get where no value is right: bytes that are no value of any plan. */
const NONE = Buffer.from('nothing is stored under this key, so no value of it is right');

const EMPTY = Buffer.alloc(0);

export class Block {
  /** The keys of the operations; the other lists are as long, once there are operations. */
  key = [];
  outcome = new Uint8Array(0);
  /** By operation, the explained failures, and those other values that have no number in `known`. */
  errors = new Map();
  others = new Map();
  #plan;
  #limits;
  /** Gets may meet newer values than they expect, so the numbers of their keys' values are made ready too. */
  #meetsNewer;
  /** The value that the null cache holds. */
  #held;
  #composed = 0;
  #read = new Map();
  #stored = new Map();
  #otherBytes = 0;

  constructor(plan, limits, { multiget, meetsNewer, held }) {
    this.#plan = plan;
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
    const words = this.#plan.operations(first, Math.min(count, this.#limits.operations));
    const { keys } = this.#plan;
    const all = words.length / OPERATION_WORDS;
    this.#makePlaces(all);
    let isOfOneKind = true;
    let n = 0;
    for (let at = 0; n < all && this.#composed < this.#limits.valueBytes; n += 1, at += OPERATION_WORDS) {
      this.kind[n] = words[at];
      this.keyIndex[n] = words[at + 1];
      this.key[n] = keys[words[at + 1]];
      this.under[n] = keys[words[at + 3]];
      this.want[n] = this.#wanted(words[at], words[at + 1], words[at + 2]);
      isOfOneKind &&= words[at] === words[0];
    }
    this.count = n;
    this.onlyKind = isOfOneKind ? words[0] : null;
    if (this.multiget > 1) {
      this.#requests();
    }
    return n;
  }

  /**
   * Notes that operation `n` got `got` in place of the expected value: the number of this value among those of its key, or
   * its bytes. A hot key has thousands of values, and the clock runs. So the first bytes of `got` give the number of the
   * one value to compare it with.
   */
  noteOther(n, got) {
    const numbers = this.#plan.replays ? null : this.#plan.numbersOf(this.keyIndex[n]);
    const number = numbers?.get(firstBytes(got)) ?? 0;
    this.outcome[n] = OTHER;
    this.known[n] = number !== 0 && this.#isValue(number, got) ? number : 0;
    if (this.known[n] === 0) {
      this.#otherBytes += got.length;
      const kept = this.#otherBytes > OTHER_BYTES ? BEGINNING : got.length;
      // A copy, because a part would keep the memory of the whole.
      this.others.set(n, { length: got.length, bytes: Buffer.from(got.subarray(0, kept)) });
    }
  }

  /** The value that an operation of this kind, key and number of a value stores or expects. */
  #wanted(kind, key, value) {
    if (kind === SET) {
      this.#held = value;
      return this.#stored.get(this.#held) ?? this.#compose(this.#stored, this.#held);
    }
    if (kind !== GET && kind !== GET_OR_SET) {
      return EMPTY;
    }
    if (this.#plan.replays) {
      if (kind === GET_OR_SET && this.#held === 0) {
        this.#held = value;
      }
      value = this.#held;
    }
    if (this.#meetsNewer) {
      this.#plan.numbersOf(key);
    }
    const number = value || this.#plan.newest[key];
    if (number === 0 || number === NOTHING) {
      return NONE;
    }
    return this.#read.get(number) ?? this.#compose(this.#read, number);
  }

  /** Whether `got` is this value. The composed value is kept for later gets, while there is room. */
  #isValue(number, got) {
    let text = this.#read.get(number);
    if (text === undefined) {
      if (this.#composed >= this.#limits.valueBytes) {
        return got.equals(this.#plan.value(number));
      }
      text = this.#compose(this.#read, number);
    }
    return got.equals(text);
  }

  /**
   * A value, which later blocks share while there is room. Gets and sets have separate buffers, even of the same value: a
   * cache in memory returns the very buffer that it was given, and comparing a buffer with itself would cost nothing.
   */
  #compose(texts, number) {
    const text = this.#plan.value(number);
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
      for (const field of ['keyIndex', 'known', 'requestTo']) {
        this[field] = new Uint32Array(count);
      }
      this.kind = new Uint8Array(count);
      this.end = new Float64Array(count);
      this.outcome = new Uint8Array(count);
    }
    this.outcome.fill(RIGHT);
    this.errors.clear();
    this.others.clear();
    this.#otherBytes = 0;
    this.unexplained = [];
    this.segments = [];
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
