-- Copyright: Pagesmith
-- GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
--
-- Wide rows: 1,500 bytes in many columns, as the forms of an application leave them; three are read for one that is changed. A unit is a row.

require("pagesmith_common")

local FIELDS, WIDTH = 15, 100

local names, definitions = {}, {}
for number = 1, FIELDS do
   names[number] = "field" .. number
   definitions[number] = string.format("field%d VARCHAR(%d) CHARACTER SET latin1 NOT NULL", number, WIDTH + 10)
end

tables = {
   {name = "form", columns = "id INT NOT NULL PRIMARY KEY, kind INT NOT NULL, " .. table.concat(definitions, ", "), indexes = "KEY kind (kind)"},
}

function fill(con, first, last)
   fill_table(con, "form", "id, kind, " .. table.concat(names, ", "), first, last, function (number)
      local values = {}
      for field = 1, FIELDS do values[field] = "'" .. digits(WIDTH) .. "'" end
      return string.format("(%d, %d, %s)", number, anything(1000), table.concat(values, ", "))
   end)
end

function event()
   local one = pick(sysbench.opt.units)
   if anything(4) > 1 then
      con:query(string.format("SELECT * FROM form WHERE id = %d", one))
   else
      con:query(string.format("UPDATE form SET field%d = '%s' WHERE id = %d", anything(FIELDS), digits(WIDTH), one))
   end
end
