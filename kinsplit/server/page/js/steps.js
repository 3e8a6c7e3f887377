// Which questions the back button comes back to: those that somebody stayed with, not each letter on the way.

export class Steps {
  #last;
  #stayed;

  /** @param {string} question That the address has already. */
  constructor(question) {
    this.#last = question;
    this.#stayed = Boolean(question);
  }

  /** Somebody sent the question, or followed a link from its answer. */
  stay() {
    this.#stayed = Boolean(this.#last);
  }

  /** Return whether a question is a step away from one that somebody stayed with. */
  isNew(question) {
    const isNew = this.#stayed && question !== this.#last;
    if (isNew) this.#stayed = false;
    this.#last = question;
    return isNew;
  }
}
