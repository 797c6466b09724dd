-- Copyright: Pagesmith
-- GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
--
-- Large objects: 10,000 to 30,000 bytes each, nine read for one that is replaced. A unit is an object.

require("pagesmith_common")

tables = {
   {name = "object", columns = "id INT NOT NULL PRIMARY KEY, name VARCHAR(60) NOT NULL, version INT NOT NULL, content LONGBLOB NOT NULL"},
}

-- Random bytes by the thousand would cost more than the server's work.
local grain

local function content()
   grain = grain or digits(2000)
   return grain:rep(5 + anything(10)):sub(anything(100))
end

function fill(con, first, last)
   fill_table(con, "object", "id, name, version, content", first, last, function (number)
      return string.format("(%d, 'object %d', 0, '%s')", number, number, content())
   end)
end

function event()
   local one = pick(sysbench.opt.units)
   if anything(10) > 1 then
      con:query(string.format("SELECT name, content FROM object WHERE id = %d", one))
   else
      con:query(string.format("UPDATE object SET content = '%s', version = version + 1 WHERE id = %d", content(), one))
   end
end
