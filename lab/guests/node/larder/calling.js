/**
 * The measured loop for a client that calls back: the callback of an operation starts the next operation.
 *
 * A callback may come before the call that it belongs to has returned. The next operation then starts only after that
 * return, because a callback within a callback would take more of the stack with every operation.
 */

import { FILLED, MISS, UNFILLED } from './block.js';
import { now } from './clock.js';
import { DELETE, GET, GET_OR_SET, SET } from './plan.js';

export class Calling {
  #cache;
  #block;
  #notes;
  #ttl;
  #n = 0;
  #until = 0;
  #isStarting = false;
  #hasEnded = false;
  #isOver = false;
  #over = null;

  constructor(cache, block, notes, ttl) {
    this.#cache = cache;
    this.#block = block;
    this.#notes = notes;
    this.#ttl = ttl;
  }

  /** Resolves to the first operation left at the instant `until`. */
  run(first, until) {
    this.#n = first;
    this.#until = until;
    return new Promise((resolve) => {
      this.#over = resolve;
      this.#go();
    });
  }

  /** Starts operations, as long as their callbacks come at once. */
  #go() {
    do {
      this.#hasEnded = false;
      this.#isStarting = true;
      try {
        this.#start(this.#n);
      } catch (error) {
        this.#fail(error);
      }
      this.#isStarting = false;
    } while (this.#hasEnded && !this.#isOver);
    if (this.#hasEnded) {
      this.#over(this.#n);
    }
  }

  #start(n) {
    const { kind, multiget, key, want, requestKeys } = this.#block;
    const what = kind[n];
    if (what === GET && multiget > 1) {
      this.#cache.getMany(requestKeys[n], this.#found);
    } else if (what === GET) {
      this.#cache.get(key[n], this.#got);
    } else if (what === SET) {
      this.#cache.set(key[n], want[n], this.#ttl, this.#stored);
    } else if (what === GET_OR_SET) {
      this.#cache.get(key[n], this.#gotOrMissed);
    } else if (what === DELETE) {
      this.#cache.delete(key[n], this.#done);
    } else {
      this.#cache.touch(key[n], this.#ttl, this.#done);
    }
  }

  #got = (error, got) => {
    if (error) {
      this.#fail(error);
      return;
    }
    const n = this.#n;
    const at = now();
    this.#block.end[n] = at;
    if (got == null || !got.equals(this.#block.want[n])) {
      this.#notes.differs(n, got);
    }
    this.#end(n, at);
  };

  #stored = (error, stored) => {
    if (error) {
      this.#fail(error);
      return;
    }
    const n = this.#n;
    const at = now();
    this.#block.end[n] = at;
    if (!stored) {
      this.#notes.refused(n);
    }
    this.#end(n, at);
  };

  #done = (error, found) => {
    if (error) {
      this.#fail(error);
      return;
    }
    const n = this.#n;
    const at = now();
    this.#block.end[n] = at;
    if (!found) {
      this.#notes.missed(n);
    }
    this.#end(n, at);
  };

  #found = (error, values) => {
    if (error) {
      this.#fail(error);
      return;
    }
    const at = now();
    const last = this.#block.requestTo[this.#n];
    this.#notes.found(this.#n, last, values, at);
    this.#end(last, at);
  };

  /** A get, and on its miss the fill, are one operation. */
  #gotOrMissed = (error, got) => {
    if (error || got != null) {
      this.#got(error, got);
      return;
    }
    const n = this.#n;
    const { under, want, outcome } = this.#block;
    outcome[n] = MISS;
    try {
      this.#cache.set(under[n], want[n], this.#ttl, this.#filled);
    } catch (failure) {
      this.#fail(failure, true);
    }
  };

  #filled = (error, stored) => {
    if (error) {
      this.#fail(error, true);
      return;
    }
    const n = this.#n;
    const at = now();
    this.#block.end[n] = at;
    if (stored) {
      this.#block.outcome[n] = FILLED;
    } else {
      this.#notes.refused(n, UNFILLED);
    }
    this.#end(n, at);
  };

  #fail(error, isFill = false) {
    const n = this.#n;
    const isRequest = this.#block.multiget > 1;
    const last = isRequest ? this.#block.requestTo[n] : n;
    this.#end(last, this.#notes.failed(n, last, error, isFill));
  }

  /** Ends the operations up to `last`, and goes on unless the caller of the present call does so. */
  #end(last, at) {
    this.#n = last + 1;
    this.#isOver = this.#n >= this.#block.count || at > this.#until;
    if (this.#isStarting) {
      this.#hasEnded = true;
    } else if (this.#isOver) {
      this.#over(this.#n);
    } else {
      this.#go();
    }
  }
}
