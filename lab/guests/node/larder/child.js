/**
 * The work of a process that shares the phases of a plan with others. It is told by messages of its parent, and answers
 * by messages of one word: `ready`, `at` with the operations done so far, `over`, or `failed` with the failure.
 */

import { openCache } from './caches/index.js';
import { Failure } from './failure.js';
import { Phase } from './phase.js';
import { Plan } from './plan.js';
import { rehearse } from './rehearsal.js';

export class Child {
  #send;
  #process;
  #plan;
  #cache;
  #phase;

  constructor(send) {
    this.#send = send;
  }

  /** Carries out a message of the parent. */
  async obey(message) {
    try {
      if (message.open) {
        await this.#open(message.open);
      } else if (message.prepare !== undefined) {
        this.#phase = await Phase.of(this.#plan, this.#cache, message.prepare, this.#process);
        this.#send({ ready: true });
      } else {
        await this.#phase.run((operations) => this.#send({ at: operations }));
        this.#send({ over: true });
      }
    } catch (error) {
      this.#send({ failed: Failure.of(error).answer() });
    }
  }

  /** Opens the cache, whose entries stay, and reads the plan. */
  async #open({ order, folder, process }) {
    this.#process = process;
    this.#cache = await openCache({ ...order, fresh: false });
    this.#plan = Plan.read(folder, (key) => this.#cache.key(key));
    await rehearse(this.#cache, this.#plan, process);
    globalThis.gc?.();
    this.#send({ ready: true });
  }
}
