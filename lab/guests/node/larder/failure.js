/** A failure, with a kind that is counted and a text of one line. */

/** Codes of the system and of Node, by which the kind of a failure is known. */
const CODES = new Map([
  ['ETIMEDOUT', 'timeout'],
  ['ENOSPC', 'full'],
  ['EDQUOT', 'full'],
  ['ENOMEM', 'full'],
]);

/** Words by which a message tells the kind of a failure, where its code does not. */
const KINDS = [
  ['timeout', /tim(?:ed|e)[ -]?out/i],
  ['too_large', /too (?:large|big|long)|exceeds maximum|invalid bulk length/i],
  ['full', /out of memory|\bOOM\b|no space left|max keys amount/i],
  ['io', /connection|socket|closed|max retries|no servers available/i],
];

export class Failure extends Error {
  constructor(kind, text) {
    super(text.split(/\s+/).join(' ').trim() || 'an error without a message');
    this.kind = kind;
  }

  /** The failure of a caught error: a failure as it is, any other error by its code and its words. */
  static of(error) {
    if (error instanceof Failure) {
      return error;
    }
    const text = words(error);
    const code = typeof error?.code === 'string' ? error.code : '';
    const known = CODES.get(code) ?? KINDS.find(([, pattern]) => pattern.test(text))?.[0];
    return new Failure(known ?? (error?.syscall ? 'io' : 'other'), text);
  }

  answer() {
    return { error: this.message, kind: this.kind };
  }
}

/** The words of an error. An error of several attempts has the words of the last one. */
function words(error) {
  const last = error?.errors?.at(-1) ?? error;
  return String(last?.message || last?.code || last?.name || last);
}
