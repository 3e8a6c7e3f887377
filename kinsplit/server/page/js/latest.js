// Requests while the user types: a new one aborts the one before it. Until the view is ready, the last one waits.

export class Latest {
  #controller = null;
  #timer = 0;
  #isReady = false;
  #waiting = null;

  /** @param {AbortSignal} signal Signal of the view, whose end aborts the request. */
  constructor(signal) {
    signal.addEventListener("abort", () => this.stop());
  }

  /** Call a function after a pause in typing; it gets the signal of this call. */
  soon(act, pause = 220) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.now(act), pause);
  }

  /** Call the waiting function, or else the given one; later ones are called at once. */
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

  /** Abort the current request. */
  stop() {
    clearTimeout(this.#timer);
    this.#controller?.abort();
  }
}
