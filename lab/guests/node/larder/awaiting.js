/** The measured loop for a client whose calls return promises: each is awaited before the next operation. */

import { FILLED, MISS, UNFILLED } from './block.js';
import { now } from './clock.js';
import { DELETE, GET, GET_OR_SET, SET } from './plan.js';

export class Awaiting {
  #cache;
  #block;
  #notes;
  #ttl;

  constructor(cache, block, notes, ttl) {
    this.#cache = cache;
    this.#block = block;
    this.#notes = notes;
    this.#ttl = ttl;
  }

  /** Returns the first operation left at the instant `until`. */
  async run(first, until) {
    const cache = this.#cache;
    const notes = this.#notes;
    const ttl = this.#ttl;
    const { count, multiget, kind, key, want, end } = this.#block;
    let n = first;
    while (n < count) {
      let at;
      const what = kind[n];
      const last = multiget > 1 ? this.#block.requestTo[n] : n;
      try {
        if (what === GET && multiget > 1) {
          const values = await cache.getMany(this.#block.requestKeys[n]);
          at = now();
          notes.found(n, last, values, at);
        } else if (what === GET) {
          const got = await cache.get(key[n]);
          end[n] = at = now();
          if (got == null || !got.equals(want[n])) {
            notes.differs(n, got);
          }
        } else if (what === SET) {
          const stored = await cache.set(key[n], want[n], ttl);
          end[n] = at = now();
          if (!stored) {
            notes.refused(n);
          }
        } else if (what === GET_OR_SET) {
          at = await this.#getOrSet(n);
        } else {
          const found = await (what === DELETE ? cache.delete(key[n]) : cache.touch(key[n], ttl));
          end[n] = at = now();
          if (!found) {
            notes.missed(n);
          }
        }
      } catch (error) {
        at = notes.failed(n, last, error);
      }
      n = last + 1;
      if (at > until) {
        break;
      }
    }
    return n;
  }

  /** Does a get and the fill of its miss, which are one operation; returns its end time. */
  async #getOrSet(n) {
    const { key, under, want, end, outcome } = this.#block;
    const got = await this.#cache.get(key[n]);
    let stored = true;
    if (got == null) {
      outcome[n] = MISS;
      try {
        stored = await this.#cache.set(under[n], want[n], this.#ttl);
      } catch (error) {
        return this.#notes.failed(n, n, error, true);
      }
    }
    const at = now();
    end[n] = at;
    if (!stored) {
      this.#notes.refused(n, UNFILLED);
    } else if (got == null) {
      outcome[n] = FILLED;
    } else if (!got.equals(want[n])) {
      this.#notes.differs(n, got);
    }
    return at;
  }
}
