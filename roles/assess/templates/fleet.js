// The tables are whole without this: it lets a reader sort them and narrow them down.
"use strict";
const tables = [...document.querySelectorAll("table.fleet")];
const compare = new Intl.Collator("en", { numeric: true }).compare;
const value = (row, column) => row.cells[column].dataset.order ?? row.cells[column].textContent;

function sort(table, column, heads) {
  const rising = heads[column].getAttribute("aria-sort") !== "ascending";
  const rows = [...table.tBodies[0].rows];
  const numbers = rows.some((row) => "order" in row.cells[column].dataset);
  rows.sort((one, other) => {
    const [left, right] = [value(one, column), value(other, column)];
    return (numbers ? left - right : compare(left, right)) * (rising ? 1 : -1);
  });
  heads.forEach((head) => head.removeAttribute("aria-sort"));
  heads[column].setAttribute("aria-sort", rising ? "ascending" : "descending");
  table.tBodies[0].append(...rows);
}

for (const table of tables) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sort(table, column, heads));
    head.append(button);
  });
}

const find = document.getElementById("find");
find.hidden = tables.length === 0;
find.querySelector("input").addEventListener("input", (event) => {
  const wanted = event.target.value.toLowerCase();
  let shown = 0;
  for (const table of tables) {
    let here = 0;
    for (const row of table.tBodies[0].rows) {
      row.hidden = !row.textContent.toLowerCase().includes(wanted);
      here += row.hidden ? 0 : 1;
    }
    table.closest("section").hidden = here === 0;
    shown += here;
  }
  find.querySelector("output").textContent = wanted ? `${shown} shown` : "";
});
