"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  if (body.rows.length < 2) continue;
  const heads = [...table.tHead.rows[0].cells];
  const key = (row, column) => row.cells[column].dataset.order ?? row.cells[column].textContent.trim();
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const falling = head.ariaSort !== "descending";
      for (const other of heads) other.ariaSort = null;
      head.ariaSort = falling ? "descending" : "ascending";
      const sign = falling ? -1 : 1;
      const rows = [...body.rows].sort((a, b) => {
        const [x, y] = [key(a, column), key(b, column)];
        return sign * (Number(x) - Number(y) || (isNaN(x) ? x.localeCompare(y) : 0));
      });
      body.append(...rows);
    });
  });
}
