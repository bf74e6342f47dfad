/**
 * Explains the failures that the loop noted, in their order, once a segment of the loop is over. Where everything fails,
 * the phase is given up.
 */

import { ERROR, UNFILLED } from './block.js';
import { Failure } from './failure.js';
import { GET_OR_SET } from './plan.js';

/** The phase is given up after this many failures in a row, or this time of them: the rest would only repeat them. */
const FAILURES_IN_A_ROW = 100;
const FAILING_MS = 5e3;

/** The failures of one process in one phase. */
export class Failures {
  #cache;
  #block;
  #base = 0;
  #inARow = 0;
  #last = -1;
  #since = 0;

  constructor(cache, block) {
    this.#cache = cache;
    this.#block = block;
  }

  /** Goes on to the next filling of the block, whose operations follow the present ones. */
  nextBlock() {
    this.#base += this.#block.count;
  }

  /** Explains the failures of a segment. */
  settle() {
    const { unexplained, errors } = this.#block;
    this.#block.unexplained = [];
    for (const note of unexplained) {
      const failure = note.isRefusal ? this.#refusal(note.first) : Failure.of(note.error);
      for (let n = note.first; n <= note.last; n += 1) {
        errors.set(n, failure);
      }
      this.#count(note, failure);
    }
  }

  #refusal(n) {
    const block = this.#block;
    const key = block.kind[n] === GET_OR_SET ? block.under[n] : block.key[n];
    return this.#cache.refusal(key, block.want[n]);
  }

  /** Gives up after too many failures in a row. A request with any key that was found or missed is no failure. */
  #count({ first, last }, failure) {
    const block = this.#block;
    const isNext = this.#base + first === this.#last + 1;
    if (block.outcome.subarray(first, last + 1).some((outcome) => outcome !== ERROR && outcome !== UNFILLED)) {
      this.#inARow = 0;
      return;
    }
    if (!isNext || this.#inARow === 0) {
      this.#inARow = 0;
      this.#since = block.end[last];
    }
    this.#last = this.#base + last;
    this.#inARow += 1;
    const isLong = this.#inARow > 1 && block.end[last] - this.#since >= FAILING_MS;
    if (this.#inARow >= FAILURES_IN_A_ROW || isLong) {
      throw new Failure(failure.kind, `gave up after ${this.#inARow} failures in a row: ${failure.message}`);
    }
  }
}
