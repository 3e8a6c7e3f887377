// The URL fragment holds the state of a view, such as "#/search?q=loops", so links and the back button work.

/** Return the view and the parameters of the current URL. */
export function current() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  return { view: path || "search", params: new URLSearchParams(query ?? "") };
}

/** Return the URL of a view; empty parameters are left out. */
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
 * Update the URL to what the view shows.
 * @param {string} view
 * @param {object} params
 * @param {boolean} [isStep] Whether the back button returns to the previous state.
 */
export function restate(view, params, isStep = false) {
  // The user has already gone elsewhere; the view there follows only after this.
  if (current().view !== view || location.hash !== stated) return;
  if (isStep) history.pushState(null, "", address(view, params));
  else history.replaceState(history.state, "", address(view, params));
  stated = location.hash;
}

let steps = 0;
// The URL fragment that the view was given or gave.
let stated = location.hash;

/** Count a view that is shown. */
export function arrive() {
  steps += 1;
  stated = location.hash;
}

/** Go back if that stays on this page, or else to the given URL. */
export function leave(otherwise) {
  if (steps > 1) history.back();
  else location.hash = otherwise;
}

/** Remember the scroll position and the followed link for going back. */
export function remember(focus = history.state?.focus ?? null) {
  history.replaceState({ scroll: scrollY, focus }, "");
}

/**
 * Restore the scroll position and the focus.
 * @param {{scroll: number, focus: string|null}|null} left The state that `remember` put into the history.
 */
export function restore(left) {
  if (!left) return;
  scrollTo({ top: left.scroll, behavior: "instant" });
  const element = left.focus && document.getElementById(left.focus);
  if (element) element.focus({ preventScroll: true });
}
