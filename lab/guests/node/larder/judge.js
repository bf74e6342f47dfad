/**
 * Decides whether an unexpected value is right because another process stored a newer value, and otherwise in which way
 * it is wrong. The judge sees only values that differ from the expected one.
 */

import { DAMAGED, NONE, OTHER_KEY, RIGHT, STALE, TRUNCATED } from './block.js';
import { HEADER_BYTES } from './header.js';
import { firstBytes } from './plan.js';

/** A value without a header that is at least this long hardly ever equals another value by chance. */
const TELLING_BYTES = 8;

export class Judge {
  #plan;
  /** Keys that may have any of their values, for a change of them was not acknowledged. */
  uncertain = new Set();

  constructor(plan) {
    this.#plan = plan;
  }

  distrust(keys) {
    for (const key of keys) {
      this.uncertain.add(key);
    }
  }

  /** The outcome of operation `n` of the block, which got `got` instead of the expected value. */
  verdict(block, n, got) {
    if (!this.#plan.replays && this.#isRight(block, n, got)) {
      if (got.length !== block.want[n].length) {
        block.bytesOf.set(n, got.length);
      }
      return RIGHT;
    }
    block.bytesOf.set(n, got.length);
    const outcome = this.#plan.replays ? DAMAGED : this.#wrong(block.keyIndex[n], block.want[n], got);
    block.noteWrong(n, outcome, got);
    return outcome;
  }

  /** In which way the value `got` of a key is wrong, where `want` would have been right. */
  #wrong(key, want, got) {
    const { header } = this.#plan;
    if (got.length < HEADER_BYTES) {
      return this.#wrongWithoutHeader(key, want, got);
    }
    const read = header.readIntact(got);
    if (read === null) {
      return DAMAGED;
    }
    if (read.tag !== header.tagOf(key)) {
      return OTHER_KEY;
    }
    return got.length < read.length ? TRUNCATED : STALE;
  }

  /**
   * Where the key's values are shorter than a header, their bytes alone tell them apart. Otherwise a truncated value
   * begins as the tag of its key does.
   */
  #wrongWithoutHeader(key, want, got) {
    const plan = this.#plan;
    const newest = plan.newest[key];
    if (newest !== 0 && plan.lengthOf(newest) < HEADER_BYTES) {
      if (got.length >= TELLING_BYTES && plan.numbersOf(key).has(firstBytes(got))) {
        return STALE;
      }
      const isCut = want !== NONE && got.length < want.length && want.subarray(0, got.length).equals(got);
      return isCut ? TRUNCATED : DAMAGED;
    }
    const tag = Buffer.alloc(TELLING_BYTES);
    tag.writeBigUInt64LE(plan.header.tagOf(key));
    const begins = got.subarray(0, TELLING_BYTES);
    return tag.subarray(0, begins.length).equals(begins) ? TRUNCATED : DAMAGED;
  }

  /**
   * Whether `got` is one of the key's values from the oldest right one to the newest. A hot key has thousands of values,
   * and the clock runs. So the first bytes of `got` give the number of the one value to compare it with. Where the key
   * must be absent, no number is large enough.
   */
  #isRight(block, n, got) {
    const key = block.keyIndex[n];
    const number = this.#plan.numbersOf(key).get(firstBytes(got));
    if (number === undefined) {
      return false;
    }
    // The value of a fill under another key says nothing about the values of this key.
    const isNew = number >= block.value[n] || block.underIndex[n] !== key;
    return (isNew || this.uncertain.has(key)) && block.isValue(number, got);
  }
}
