// The history of questions: the back button returns to those that were sent, not to every keystroke.

export class Steps {
  #last;
  #stayed;

  /** @param {string} question The question in the URL. */
  constructor(question) {
    this.#last = question;
    this.#stayed = Boolean(question);
  }

  /** Record that the question was sent. */
  stay() {
    this.#stayed = Boolean(this.#last);
  }

  /** Return whether a question begins a new step in the history. */
  isNew(question) {
    const isNew = this.#stayed && question !== this.#last;
    if (isNew) this.#stayed = false;
    this.#last = question;
    return isNew;
  }
}
