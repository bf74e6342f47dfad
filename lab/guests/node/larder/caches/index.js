/** The caches of this guest, each a module of its own that is loaded when it is needed. */

import { Failure } from '../failure.js';

/** The module of each cache. */
const CACHES = {
  null: './null.js',
  map: './map.js',
  'lru-cache': './lru-cache.js',
  'node-cache': './node-cache.js',
  keyv: './keyv.js',
  memjs: './memjs.js',
  ioredis: './ioredis.js',
};

/** Opens the cache that open.json describes. */
export async function openCache(order) {
  const name = order.cache;
  if (!Object.hasOwn(CACHES, name)) {
    throw new Failure('other', `unknown cache: ${name}; known: ${Object.keys(CACHES).join(', ')}`);
  }
  let module;
  try {
    module = await import(CACHES[name]);
  } catch (error) {
    if (error.code === 'ERR_MODULE_NOT_FOUND') {
      throw new Failure('other', `the Node.js package ${name} is not installed`);
    }
    throw error;
  }
  return module.openCache(order);
}
