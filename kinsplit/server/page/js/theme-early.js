// Sets the chosen theme before the first paint; theme.js does the rest.
try {
  const chosen = localStorage.getItem("kinsplit.theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // Storage is disabled: the system's theme applies.
}
