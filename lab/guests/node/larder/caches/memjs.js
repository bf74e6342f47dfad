/**
 * memjs, which speaks memcached's binary protocol, with one client object for all operations. A request of many keys is
 * many requests at once, because the package has no other.
 */

import { subscribe } from 'node:diagnostics_channel';
import { isIP } from 'node:net';

import memjs from 'memjs';

import { Cache, given, textOrBytes, titleOf } from '../cache.js';
import { Failure } from '../failure.js';

/** Beyond this limit the protocol takes a TTL for a point in time. */
const LONGEST_TTL_S = 30 * 24 * 60 * 60;

class Memcached extends Cache {
  title = titleOf('memjs');
  client;
  #versions;

  constructor(client, versions) {
    super();
    this.client = client;
    this.#versions = versions;
  }

  settings() {
    const { retries, retry_delay: delay, failover } = this.client.options;
    const [{ options }] = this.client.servers;
    return {
      style: this.style,
      protocol: 'binary',
      hashing: 'modulo',
      timeout: `${options.timeout} s`,
      conntimeout: `${options.conntimeout} s`,
      retries: String(retries),
      retry_delay: `${delay} s`,
      failover: failover ? 'on' : 'off',
      servers: this.client.servers.map(({ host, port }) => `${host}:${port}`).join(', '),
      server_version: this.#versions.join(', '),
    };
  }

  key(bytes) {
    const key = textOrBytes(bytes);
    if (typeof key !== 'string' && this.client.servers.length > 1) {
      throw new Failure('key', 'memjs spreads keys over servers by their characters, and this key is no text');
    }
    return key;
  }

  /** The options of a set, made once for all sets. A fraction of a second is rounded up: it would become no TTL. */
  ttl(seconds) {
    if (seconds === null) {
      return { expires: 0 };
    }
    const whole = Math.ceil(seconds);
    return { expires: whole <= LONGEST_TTL_S ? whole : Math.floor(Date.now() / 1e3) + whole };
  }
}

class Awaited extends Memcached {
  style = 'await';

  async get(key) {
    const { value } = await this.client.get(key);
    return value;
  }

  set(key, value, options) {
    return this.client.set(key, value, options);
  }

  delete(key) {
    return this.client.delete(key);
  }

  touch(key, { expires }) {
    return this.client.touch(key, expires);
  }

  getMany(keys) {
    return Promise.all(keys.map((key) => this.get(key)));
  }
}

class CallingBack extends Memcached {
  style = 'callback';

  get(key, callback) {
    this.client.get(key, callback);
  }

  set(key, value, options, callback) {
    this.client.set(key, value, options, callback);
  }

  delete(key, callback) {
    this.client.delete(key, callback);
  }

  touch(key, { expires }, callback) {
    this.client.touch(key, expires, callback);
  }

  getMany(keys, callback) {
    const values = new Array(keys.length);
    let left = keys.length;
    let hasFailed = false;
    keys.forEach((key, n) => {
      this.client.get(key, (error, value) => {
        // The first error ends the request, and the other answers come too late for it.
        if (hasFailed) {
          return;
        }
        hasFailed = Boolean(error);
        values[n] = value;
        left -= 1;
        if (hasFailed || left === 0) {
          callback(error, values);
        }
      });
    });
  }
}

export async function openCache(order) {
  const { style = 'await', timeout, conntimeout, failover = false } = given(order);
  const socket = order.servers.find((server) => server.startsWith('/'));
  if (socket !== undefined) {
    throw new Failure('other', `memjs knows no sockets of the file system, as ${socket}`);
  }
  if (order.servers.some((server) => isIP(server.slice(0, server.lastIndexOf(':')).replace(/[[\]]/g, '')) === 6)) {
    throw new Failure('other', 'memjs knows no addresses of IPv6; write the name of the host');
  }
  // The package writes what it also tells as an error.
  const logger = { log() {} };
  const client = memjs.Client.create(order.servers.join(','), { timeout, conntimeout, failover, logger });
  tellOfLost(client);
  const versions = await Promise.all(client.servers.map((_, n) => versionOf(client, order.servers[n])));
  return style === 'await' ? new Awaited(client, versions) : new CallingBack(client, versions);
}

/**
 * Fails the requests that are outstanding on a connection that its server closes. The package forgets them, and would
 * never answer; with the failure it goes on as after any other failure.
 */
function tellOfLost(client) {
  const look = () => {
    for (const server of client.servers) {
      if (server._socket === undefined && Object.keys(server.errorCallbacks).length > 0) {
        server.error(new Error('the server closed the connection'));
      }
    }
  };
  // The package's own look at a closed connection comes first.
  subscribe('net.client.socket', ({ socket }) => socket.on('close', () => setImmediate(look)));
}

/** Asks a server for its version, by its counters. */
function versionOf(client, server) {
  return new Promise((resolve, reject) => {
    client.stats((error, answering, stats) => {
      if (answering === server && error) {
        reject(new Failure('io', `no answer from ${server}: ${Failure.of(error).message}`));
      } else if (answering === server) {
        resolve(stats.version);
      }
    });
  });
}
