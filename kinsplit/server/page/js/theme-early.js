// Runs before the first paint, so that a chosen theme doesn't flash; theme.js does the rest.
try {
  const chosen = localStorage.getItem("kinsplit.theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // Storage is switched off: the system's theme holds.
}
