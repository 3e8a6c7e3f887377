// Requests as somebody types: a new one ends the one before it, whose answer is dropped. Before the view is ready, the last
// one waits.

export class Latest {
  #controller = null;
  #timer = 0;
  #isReady = false;
  #waiting = null;

  /** @param {AbortSignal} signal Of the view: nothing comes after its end. */
  constructor(signal) {
    signal.addEventListener("abort", () => this.stop());
  }

  /** Call a function after a pause in calls; it gets the signal of this call. */
  soon(act, pause = 220) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.now(act), pause);
  }

  /** Call the function that waits or else this one, if there is one, and from now on each at once. */
  async ready(act) {
    this.#isReady = true;
    if (this.#waiting) await this.#waiting();
    else if (act) await this.now(act);
  }

  /** Call a function at once; it gets the signal of this call. */
  async now(act) {
    if (!this.#isReady) {
      await new Promise((done) => (this.#waiting = () => this.now(act).then(done)));
      return;
    }
    this.stop();
    const controller = new AbortController();
    this.#controller = controller;
    try {
      await act(controller.signal);
    } catch (error) {
      if (!controller.signal.aborted) throw error;
    }
  }

  /** End what is under way. */
  stop() {
    clearTimeout(this.#timer);
    this.#controller?.abort();
  }
}
