// Tables of algorithms: sorted by the column whose head is clicked, and filtered by the word that is typed above them.
document.addEventListener("DOMContentLoaded", () => {
  const tables = [...document.querySelectorAll(".algorithms table")];
  if (!tables.length) return;
  const text = (row, column) => row.cells[column].textContent.trim();
  const number = cell => parseFloat(cell.replace(/,/g, ""));
  for (const table of tables) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      head.tabIndex = 0;
      head.setAttribute("role", "button");
      head.title = "Sort by this column";
      const sort = () => {
        const down = head.ariaSort === "ascending";
        for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
        head.ariaSort = down ? "descending" : "ascending";
        const rows = [...table.tBodies[0].rows].sort((a, b) => {
          const [x, y] = [text(a, column), text(b, column)];
          const order = isNaN(number(x)) || isNaN(number(y)) ? x.localeCompare(y) : number(x) - number(y);
          return down ? -order : order;
        });
        table.tBodies[0].append(...rows);
      };
      head.addEventListener("click", sort);
      head.addEventListener("keydown", event => event.key === "Enter" && sort());
    });
  }
  const field = document.createElement("input");
  field.type = "search";
  field.placeholder = "Filter: a name, a law, a guarantee";
  field.ariaLabel = field.placeholder;
  field.className = "filter";
  field.addEventListener("input", () => {
    for (const table of tables)
      for (const row of table.tBodies[0].rows)
        row.hidden = !row.textContent.toLowerCase().includes(field.value.toLowerCase());
  });
  document.querySelector(".algorithms").before(field);
});
