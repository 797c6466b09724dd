-- Copyright: Pagesmith
-- GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
--
-- The host's own reading statements, each as often as it was seen, from the file replay.txt beside this script. Each line has
-- schema, weight and statement, the texts as hexadecimal digits. A transaction is one statement.

require("pagesmith_common")

tables = {}

local statements, sums, total = {}, {}, 0

local function text_of(digits)
   return (digits:gsub("..", function (pair) return string.char(tonumber(pair, 16)) end))
end

function prepare_statements()
   for line in io.lines("replay.txt") do
      local schema, weight, sql = line:match("^(%x*) (%d+) (%x+)$")
      total = total + tonumber(weight)
      table.insert(statements, {schema = text_of(schema), sql = text_of(sql)})
      table.insert(sums, total)
   end
end

local current

function event()
   local chance = anything(total)
   local low, high = 1, #sums
   while low < high do
      local middle = math.floor((low + high) / 2)
      if sums[middle] >= chance then high = middle else low = middle + 1 end
   end
   local each = statements[low]
   if each.schema ~= "" and each.schema ~= current then
      con:query("USE `" .. each.schema:gsub("`", "``") .. "`")
      current = each.schema
   end
   con:query(each.sql)
end
