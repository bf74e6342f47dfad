/**
 * The measured loop, the floor of the language. It is written for speed, and each kind of phase has its own copy of the
 * same work. This loop is for caches that answer at once: they do not pay for a promise or a callback, whose loops are in
 * `awaiting.js` and `calling.js`.
 *
 * A loop reads the clock once an operation, for the end of an operation is the start of the next. An error of the cache
 * is the error of its operation, and the next operation follows.
 */

import { Awaiting } from './awaiting.js';
import { FILLED, MISS, UNFILLED } from './block.js';
import { Calling } from './calling.js';
import { now } from './clock.js';
import { Notes } from './notes.js';
import { DELETE, GET, GET_OR_SET, SET } from './plan.js';

/** The loop for the style of a cache. `ttl` is in the form that the cache takes. */
export function loopFor(cache, block, ttl) {
  const Style = { sync: AtOnce, await: Awaiting, callback: Calling }[cache.style];
  return new Style(cache, block, new Notes(block), ttl);
}

class AtOnce {
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

  /** Works through the block from operation `first` on; returns the first operation left at the instant `until`. */
  run(first, until) {
    const { count, multiget, onlyKind } = this.#block;
    if (multiget > 1) {
      return this.#requests(first, count, until);
    }
    if (onlyKind === GET) {
      return this.#gets(first, count, until);
    }
    return onlyKind === SET ? this.#sets(first, count, until) : this.#mixed(first, count, until);
  }

  #gets(first, count, until) {
    const cache = this.#cache;
    const notes = this.#notes;
    const { key, want, end } = this.#block;
    for (let n = first; n < count; n += 1) {
      let at;
      try {
        const got = cache.get(key[n]);
        end[n] = at = now();
        if (got == null || !got.equals(want[n])) {
          notes.differs(n, got);
        }
      } catch (error) {
        at = notes.failed(n, n, error);
      }
      if (at > until) {
        return n + 1;
      }
    }
    return count;
  }

  #sets(first, count, until) {
    const cache = this.#cache;
    const notes = this.#notes;
    const ttl = this.#ttl;
    const { key, want, end } = this.#block;
    for (let n = first; n < count; n += 1) {
      let at;
      try {
        const stored = cache.set(key[n], want[n], ttl);
        end[n] = at = now();
        if (!stored) {
          notes.refused(n);
        }
      } catch (error) {
        at = notes.failed(n, n, error);
      }
      if (at > until) {
        return n + 1;
      }
    }
    return count;
  }

  #mixed(first, count, until) {
    const cache = this.#cache;
    const notes = this.#notes;
    const ttl = this.#ttl;
    const { kind, key, want, end } = this.#block;
    for (let n = first; n < count; n += 1) {
      let at;
      try {
        const what = kind[n];
        if (what === GET) {
          const got = cache.get(key[n]);
          end[n] = at = now();
          if (got == null || !got.equals(want[n])) {
            notes.differs(n, got);
          }
        } else if (what === SET) {
          const stored = cache.set(key[n], want[n], ttl);
          end[n] = at = now();
          if (!stored) {
            notes.refused(n);
          }
        } else if (what === GET_OR_SET) {
          at = this.#getOrSet(n);
        } else {
          const found = what === DELETE ? cache.delete(key[n]) : cache.touch(key[n], ttl);
          end[n] = at = now();
          if (!found) {
            notes.missed(n);
          }
        }
      } catch (error) {
        at = notes.failed(n, n, error);
      }
      if (at > until) {
        return n + 1;
      }
    }
    return count;
  }

  /** Does a get and the fill of its miss, which are one operation; returns its end time. */
  #getOrSet(n) {
    const { key, under, want, end, outcome } = this.#block;
    const got = this.#cache.get(key[n]);
    let stored = true;
    if (got == null) {
      outcome[n] = MISS;
      try {
        stored = this.#cache.set(under[n], want[n], this.#ttl);
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

  /** Does requests of many keys; the operations between them are done one by one. */
  #requests(first, count, until) {
    const { kind, end, requestTo, requestKeys } = this.#block;
    while (first < count) {
      const last = requestTo[first];
      let at;
      if (kind[first] !== GET) {
        this.#mixed(first, last + 1, Infinity);
        at = end[last];
      } else {
        try {
          const values = this.#cache.getMany(requestKeys[first]);
          at = now();
          this.#notes.found(first, last, values, at);
        } catch (error) {
          at = this.#notes.failed(first, last, error);
        }
      }
      first = last + 1;
      if (at > until) {
        break;
      }
    }
    return first;
  }
}
