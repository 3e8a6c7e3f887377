// The address after "#" holds what a view shows: "#/search?q=loops". Links and the back button work.

/** Return the view and the parameters of the current address. */
export function current() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  return { view: path || "search", params: new URLSearchParams(query ?? "") };
}

/** Return the address of a view; parameters that are empty are left out. */
export function address(view, params = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== null && each !== undefined && each !== "" && each !== false) query.append(name, String(each));
    }
  }
  const written = query.toString();
  return `#/${view}${written ? `?${written}` : ""}`;
}

/** Go to a view as a link does. */
export function go(view, params) {
  location.hash = address(view, params);
}

/**
 * Let the address say what the view shows by now.
 * @param {string} view
 * @param {object} params
 * @param {boolean} [isStep] Whether the back button comes back to what it said before.
 */
export function restate(view, params, isStep = false) {
  // Somebody has gone on to another view, which is about to be told.
  if (current().view !== view) return;
  if (isStep) history.pushState(null, "", address(view, params));
  else history.replaceState(history.state, "", address(view, params));
}

let steps = 0;

/** Count the views that were shown. */
export function arrive() {
  steps += 1;
}

/** Go back if that is a place on this page, or else to an address. */
export function leave(otherwise) {
  if (steps > 1) history.back();
  else location.hash = otherwise;
}

/** Remember how far the page is scrolled and which link is followed, for when somebody comes back. */
export function remember(focus = history.state?.focus ?? null) {
  history.replaceState({ scroll: scrollY, focus }, "");
}

/**
 * Scroll and focus as it was left.
 * @param {{scroll: number, focus: string|null}|null} left What `remember` put into the history.
 */
export function restore(left) {
  if (!left) return;
  scrollTo({ top: left.scroll, behavior: "instant" });
  const element = left.focus && document.getElementById(left.focus);
  if (element) element.focus({ preventScroll: true });
}
