// Requests as somebody types: a new one ends the one before it, whose answer is dropped.

export class Latest {
  #controller = null;
  #timer = 0;

  /** @param {AbortSignal} signal Of the view: nothing comes after its end. */
  constructor(signal) {
    signal.addEventListener("abort", () => this.stop());
  }

  /** Call a function after a pause in calls; it gets the signal of this call. */
  soon(act, pause = 220) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.now(act), pause);
  }

  /** Call a function at once; it gets the signal of this call. */
  async now(act) {
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
