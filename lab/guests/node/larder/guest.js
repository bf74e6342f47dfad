/** Opens the cache, and carries out the commands. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { once } from './cache.js';
import { openCache } from './caches/index.js';
import { now } from './clock.js';
import { Failure } from './failure.js';
import { Phase } from './phase.js';
import { Plan } from './plan.js';
import { Processes } from './processes.js';
import { rehearse } from './rehearsal.js';

const PROTOCOL = 3;
const ALIVE_MS = 1_000;

export class Guest {
  #protocol;
  #order;
  #cache;
  #plan = null;
  #processes = null;
  #isWarm = false;

  constructor(protocol, order, cache) {
    this.#protocol = protocol;
    this.#order = order;
    this.#cache = cache;
  }

  /** Opens the cache of `open.json` in this folder and greets; `null` if the cache is unavailable. */
  static async openCache(protocol, folder) {
    try {
      const order = JSON.parse(readFileSync(join(folder, 'open.json')));
      if (order.protocol !== PROTOCOL) {
        throw new Failure('protocol', `this guest speaks protocol ${PROTOCOL}, not ${order.protocol}`);
      }
      const cache = await openCache(order);
      const language = `node ${process.versions.node}`;
      const settings = { v8: process.versions.v8, ...(await cache.settings()) };
      protocol.answer({ protocol: PROTOCOL, language, cache: cache.title, settings });
      return new Guest(protocol, order, cache);
    } catch (error) {
      protocol.answer({ unavailable: Failure.of(error).message });
      return null;
    }
  }

  /** Answers commands until there are no more. */
  async serve() {
    process.on('exit', () => this.#processes?.end());
    const commands = {
      set: (rest) => this.#set(...rest),
      get: (rest) => this.#get(...rest),
      delete: (rest) => this.#delete(...rest),
      touch: (rest) => this.#touch(...rest),
      load: (rest) => this.#load(rest.join(' ')),
      run: (rest) => this.#run(Number(rest[0])),
    };
    for (let line; (line = await this.#protocol.line()) !== null && line !== 'end'; ) {
      const [name, ...rest] = line.split(' ');
      try {
        if (!Object.hasOwn(commands, name)) {
          throw new Failure('protocol', `unknown command: ${line}`);
        }
        await commands[name](rest);
      } catch (error) {
        this.#protocol.answer(Failure.of(error).answer());
      }
    }
  }

  async #set(keyLength, valueLength, ttl) {
    const bytes = await this.#protocol.bytes(Number(keyLength));
    const value = await this.#protocol.bytes(Number(valueLength));
    const key = this.#cache.key(bytes);
    if (await once(this.#cache, 'set', key, value, this.#cache.ttl(seconds(ttl)))) {
      this.#protocol.answer({ stored: true });
    } else {
      this.#protocol.answer({ stored: false, why: this.#cache.refusal(key, value).message });
    }
  }

  async #get(length) {
    const key = this.#cache.key(await this.#protocol.bytes(Number(length)));
    const value = await once(this.#cache, 'get', key);
    if (value == null) {
      this.#protocol.answer({ found: null });
    } else {
      this.#protocol.answer({ found: value.length }, value);
    }
  }

  async #delete(length) {
    const key = this.#cache.key(await this.#protocol.bytes(Number(length)));
    this.#protocol.answer({ found: Boolean(await once(this.#cache, 'delete', key)) });
  }

  async #touch(length, ttl) {
    const key = this.#cache.key(await this.#protocol.bytes(Number(length)));
    const found = await once(this.#cache, 'touch', key, this.#cache.ttl(seconds(ttl)));
    this.#protocol.answer({ found: Boolean(found) });
  }

  async #load(folder) {
    // The last plan is freed first, for there may not be room for two.
    this.#processes?.end();
    this.#processes = this.#plan = null;
    this.#plan = Plan.read(folder, (key) => this.#cache.key(key));
    if (!this.#isWarm && this.#plan.processes === 1) {
      await rehearse(this.#cache, this.#plan);
      this.#isWarm = this.#plan.phases.some(({ measured }) => measured);
    }
    globalThis.gc?.();
    this.#protocol.answer({ loaded: true, ...(this.#cache.evictions === null ? {} : { evictions: 0 }) });
  }

  async #run(number) {
    const plan = this.#plan;
    if (plan === null) {
      throw new Failure('protocol', 'no plan has been loaded');
    }
    if (plan.phases[number] === undefined) {
      throw new Failure('protocol', `the plan has no phase ${number}`);
    }
    const before = this.#cache.evictions;
    if (plan.processes > 1) {
      await this.#runShared(plan, number);
    } else {
      const phase = await Phase.of(plan, this.#cache, number);
      await phase.run(this.#teller());
    }
    this.#protocol.answer({ ran: number, ...(before === null ? {} : { evictions: this.#cache.evictions - before }) });
  }

  async #runShared(plan, number) {
    try {
      this.#processes ??= await Processes.start(plan, this.#order);
      await this.#processes.run(number, this.#teller());
    } catch (error) {
      // Other processes take their place in the next phase.
      this.#processes = null;
      throw error;
    }
  }

  /** A function that reports the progress once a second. */
  #teller() {
    let told = now();
    let last = 0;
    return (operations) => {
      // A guest that waits for idle processes does not count as alive.
      if (operations === last || now() - told < ALIVE_MS) {
        return;
      }
      told = now();
      last = operations;
      this.#protocol.answer({ alive: operations });
    };
  }
}

function seconds(ttl) {
  return ttl === '-' ? null : Number(ttl);
}
