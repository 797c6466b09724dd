-- Copyright: Pagesmith
-- GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
--
-- A session store: keys without order, some hundred bytes of data, four reads for one write. A unit is a session.

require("pagesmith_common")

tables = {
   {name = "session",
    columns = "id CHAR(32) CHARACTER SET latin1 COLLATE latin1_bin NOT NULL PRIMARY KEY, user INT NOT NULL, seen INT NOT NULL,"
       .. " data VARBINARY(2000) NOT NULL"},
}

local function data()
   return digits(200 + anything(400))
end

function fill(con, first, last)
   fill_table(con, "session", "id, user, seen, data", first, last, function (number)
      return string.format("('%s', %d, 0, '%s')", scattered(number), number, data())
   end)
end

function event()
   local key = scattered(pick(sysbench.opt.units))
   if anything(5) > 1 then
      con:query(string.format("SELECT user, seen, data FROM session WHERE id = '%s'", key))
   else
      con:query(string.format("UPDATE session SET data = '%s', seen = seen + 1 WHERE id = '%s'", data(), key))
   end
end
