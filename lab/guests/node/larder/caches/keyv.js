/**
 * Keyv on its own store, a Map in the memory of this process; it knows promises only. By default it serializes every
 * entry as JSON, in which a buffer is text in base64. Nothing bounds the cache.
 */

import { Keyv } from 'keyv';

import { Cache, given, titleOf } from '../cache.js';
import { Failure } from '../failure.js';

class KeyvCache extends Cache {
  title = titleOf('keyv');
  style = 'await';
  #order;
  #keyv;

  constructor(order) {
    super();
    this.#order = order;
    const { serialization = true } = given(order);
    this.#keyv = new Keyv(serialization ? {} : { serialization: false });
  }

  get(key) {
    return this.#keyv.get(key);
  }

  set(key, value, ttl) {
    return this.#keyv.set(key, value, ttl);
  }

  delete(key) {
    return this.#keyv.delete(key);
  }

  /** Keyv renews a TTL by storing the value again. */
  async touch(key, ttl) {
    const value = await this.#keyv.get(key);
    return value !== undefined && this.#keyv.set(key, value, ttl);
  }

  getMany(keys) {
    return this.#keyv.getMany(keys);
  }

  settings() {
    const { serialization } = this.#keyv;
    return {
      style: this.style,
      policy: 'none',
      capacity: 'unbounded',
      serialization: serialization ? serialization.constructor.name : 'off',
      reach: 'one process',
    };
  }

  /** Keyv takes no empty key: it answers that such a key is absent, and stores nothing. */
  key(bytes) {
    if (bytes.length === 0) {
      throw new Failure('key', 'Keyv takes no empty key');
    }
    return super.key(bytes);
  }

  /** Milliseconds. */
  ttl(seconds) {
    return seconds === null ? undefined : Math.ceil(seconds * 1e3);
  }

  async another() {
    return new KeyvCache(this.#order);
  }
}

export function openCache(order) {
  return new KeyvCache(order);
}
