// Small values that outlive a view. A browser may refuse storage; then they live as long as the page.

const fallback = new Map();

function open(area) {
  return {
    get(name) {
      try {
        return globalThis[area].getItem(`kinsplit.${name}`);
      } catch {
        return fallback.get(area + name) ?? null;
      }
    },
    set(name, value) {
      try {
        if (value === null) globalThis[area].removeItem(`kinsplit.${name}`);
        else globalThis[area].setItem(`kinsplit.${name}`, value);
      } catch {
        fallback.set(area + name, value);
      }
    },
  };
}

/** Kept over visits: the theme, whether single keys act. Never a question, a text or a key. */
export const kept = open("localStorage");

/** Kept until the tab is closed: the API key, the text to cut. */
export const session = open("sessionStorage");
