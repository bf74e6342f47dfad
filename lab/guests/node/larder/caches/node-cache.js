/**
 * node-cache: a table in the memory of this process, without a bound in bytes. It evicts nothing: with `maxKeys`, a set is
 * refused once so many keys are there. By default it clones every value on the way in and on the way out.
 */

import NodeCache from 'node-cache';

import { Cache, given, titleOf } from '../cache.js';

class NodeTable extends Cache {
  title = titleOf('node-cache');
  #order;
  #entries;

  constructor(order) {
    super();
    this.#order = order;
    this.#entries = new NodeCache(given(order));
    this.get = this.#entries.get;
    this.set = this.#entries.set;
    this.touch = this.#entries.ttl;
  }

  delete(key) {
    return this.#entries.del(key) > 0;
  }

  getMany(keys) {
    const found = this.#entries.mget(keys);
    return keys.map((key) => found[key]);
  }

  settings() {
    const { useClones, checkperiod, maxKeys } = this.#entries.options;
    return {
      policy: 'none',
      capacity: maxKeys < 0 ? 'unbounded' : `${maxKeys} entries, then sets are refused`,
      useClones: useClones ? 'on' : 'off',
      checkperiod: `${checkperiod} s`,
      reach: 'one process',
    };
  }

  /** Seconds with a fraction; 0 is no TTL. */
  ttl(seconds) {
    return seconds ?? 0;
  }

  async another() {
    return new NodeTable({ ...this.#order, options: { ...this.#order.options, maxKeys: null } });
  }
}

export function openCache(order) {
  return new NodeTable(order);
}
