/**
 * Commands in, answers out.
 *
 * Commands arrive while this process waits for them. Answers are written by the system's own call, so that an answer has
 * left when its function returns.
 */

import { Console } from 'node:console';
import { writeSync } from 'node:fs';

/** Standard output carries answers and nothing else, so the output of packages goes to standard error. */
export function leaveOutput() {
  Object.defineProperty(process, 'stdout', { get: () => process.stderr });
  globalThis.console = new Console(process.stderr, process.stderr);
}

export class Protocol {
  #output;
  #arrived = Buffer.alloc(0);
  #hasEnded = false;
  #waiting = null;

  constructor(commands, answers) {
    this.#output = answers;
    commands.on('data', (piece) => {
      this.#arrived = this.#arrived.length === 0 ? piece : Buffer.concat([this.#arrived, piece]);
      this.#wake();
    });
    commands.on('end', () => {
      this.#hasEnded = true;
      // The program that gave the commands is gone, so nobody waits for the end of the present one.
      if (this.#waiting === null) {
        process.exit(0);
      }
      this.#wake();
    });
  }

  /** The next line without its line feed; `null` once the input has ended. */
  async line() {
    let end;
    while ((end = this.#arrived.indexOf(0x0a)) < 0) {
      if (!(await this.#more())) {
        return null;
      }
    }
    const line = this.#arrived.toString('utf8', 0, end);
    this.#arrived = this.#arrived.subarray(end + 1);
    return line;
  }

  /** The `length` bytes that follow a line, in a buffer of their own. */
  async bytes(length) {
    while (this.#arrived.length < length) {
      if (!(await this.#more())) {
        throw new Error(`the input ended within ${length} announced bytes`);
      }
    }
    const bytes = Buffer.from(this.#arrived.subarray(0, length));
    this.#arrived = this.#arrived.subarray(length);
    return bytes;
  }

  /** Writes one answer, and the bytes that belong to it. */
  answer(answer, value = Buffer.alloc(0)) {
    let rest = Buffer.concat([Buffer.from(`${JSON.stringify(answer)}\n`), value]);
    while (rest.length > 0) {
      rest = rest.subarray(writeSync(this.#output, rest));
    }
  }

  /** Waits for more input; `false` once it has ended. */
  #more() {
    if (this.#hasEnded) {
      return false;
    }
    return new Promise((resolve) => {
      this.#waiting = resolve;
    });
  }

  #wake() {
    const waiting = this.#waiting;
    this.#waiting = null;
    waiting?.(!this.#hasEnded);
  }
}
