// Browser storage; where the browser refuses it, values last as long as the page.

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

/** Kept across visits: the theme, and whether shortcuts are enabled. Never a question, a text or an API key. */
export const kept = open("localStorage");

/** Kept until the tab is closed: the API key, and the text to split. */
export const session = open("sessionStorage");
