/**
 * ioredis, one client object for all operations, on a Redis, a Valkey or a cluster of them. In a cluster a request of many
 * keys is many requests at once, because its keys are on different servers.
 *
 * The package tries an operation again over a new connection, 20 times by default and ever more slowly. That would take
 * minutes on a server that is gone, so `maxRetriesPerRequest` is 3 here unless the URL says otherwise.
 */

import { readFileSync } from 'node:fs';

import { Cluster, Redis } from 'ioredis';

import { Cache, given, textOrBytes, titleOf } from '../cache.js';
import { Failure } from '../failure.js';

const RETRIES = 3;

class IoRedis extends Cache {
  title = titleOf('ioredis');
  redis;
  isCluster;
  #settings;

  constructor(redis, settings) {
    super();
    this.redis = redis;
    this.isCluster = redis instanceof Cluster;
    this.#settings = settings;
  }

  settings() {
    return { style: this.style, ...this.#settings };
  }

  key(bytes) {
    return textOrBytes(bytes);
  }

  /** Whole milliseconds; a fraction is rounded up, because it would become no TTL. */
  ttl(seconds) {
    return seconds === null ? null : Math.ceil(seconds * 1e3);
  }
}

class Awaited extends IoRedis {
  style = 'await';

  get(key) {
    return this.redis.getBuffer(key);
  }

  set(key, value, ttl) {
    return ttl === null ? this.redis.set(key, value) : this.redis.set(key, value, 'PX', ttl);
  }

  delete(key) {
    return this.redis.del(key);
  }

  async touch(key, ttl) {
    return ttl === null
      ? (await this.redis.persist(key)) || this.redis.exists(key)
      : this.redis.pexpire(key, ttl);
  }

  getMany(keys) {
    return this.isCluster ? Promise.all(keys.map((key) => this.get(key))) : this.redis.mgetBuffer(keys);
  }
}

class CallingBack extends IoRedis {
  style = 'callback';

  get(key, callback) {
    this.redis.getBuffer(key, callback);
  }

  set(key, value, ttl, callback) {
    if (ttl === null) {
      this.redis.set(key, value, callback);
    } else {
      this.redis.set(key, value, 'PX', ttl, callback);
    }
  }

  delete(key, callback) {
    this.redis.del(key, callback);
  }

  touch(key, ttl, callback) {
    if (ttl !== null) {
      this.redis.pexpire(key, ttl, callback);
      return;
    }
    this.redis.persist(key, (error, had) => {
      if (error || had) {
        callback(error, had);
      } else {
        this.redis.exists(key, callback);
      }
    });
  }

  getMany(keys, callback) {
    if (this.isCluster) {
      Promise.all(keys.map((key) => this.redis.getBuffer(key))).then((values) => callback(null, values), callback);
    } else {
      this.redis.mgetBuffer(keys, callback);
    }
  }
}

export async function openCache(order) {
  const { style = 'await', commandTimeout, connectTimeout, maxRetriesPerRequest = RETRIES } = given(order);
  const { user, password, db = '0', tls, ca, insecure } = order.access;
  const options = {
    username: user,
    password,
    db: Number(db),
    maxRetriesPerRequest,
    ...(commandTimeout === undefined ? {} : { commandTimeout: commandTimeout * 1e3 }),
    ...(connectTimeout === undefined ? {} : { connectTimeout: connectTimeout * 1e3 }),
    ...(tls === 'on' ? { tls: trust(ca, insecure) } : {}),
    lazyConnect: true,
  };
  const redis = open(order.servers, options);
  let last = null;
  redis.on('error', (error) => {
    last = error.lastNodeError ?? error;
  });
  try {
    await redis.connect();
    const [, version] = /(?:redis|valkey)_version:(\S+)/.exec(await redis.info('server')) ?? [];
    const settings = {
      servers: order.servers.join(', '),
      server_version: version ?? 'unknown',
      maxRetriesPerRequest: String(maxRetriesPerRequest),
      commandTimeout: commandTimeout === undefined ? 'none' : `${commandTimeout} s`,
      cluster: redis instanceof Cluster ? 'on' : 'off',
    };
    return style === 'await' ? new Awaited(redis, settings) : new CallingBack(redis, settings);
  } catch (error) {
    redis.disconnect();
    const failure = Failure.of(last ?? error);
    throw new Failure(failure.kind, `no answer from ${order.servers.join(', ')}: ${failure.message}`);
  }
}

/** The client of one server, or of a cluster. */
function open(servers, options) {
  if (servers.length > 1) {
    const { lazyConnect, db: _none, maxRetriesPerRequest, ...ofNode } = options;
    const retries = { maxRetriesPerRequest, clusterRetryStrategy: (times) => (times > RETRIES ? null : 100) };
    return new Cluster(servers.map(hostAndPort), { lazyConnect, redisOptions: ofNode, ...retries });
  }
  const [server] = servers;
  return new Redis({ ...options, ...(server.startsWith('/') ? { path: server } : hostAndPort(server)) });
}

function hostAndPort(server) {
  const colon = server.lastIndexOf(':');
  return { host: server.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(server.slice(colon + 1)) };
}

/** The authorities to trust for TLS. */
function trust(ca, insecure) {
  return { rejectUnauthorized: insecure !== 'on', ...(ca === undefined ? {} : { ca: readFileSync(ca) }) };
}
