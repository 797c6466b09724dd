-- Copyright: Pagesmith
-- GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
--
-- A warehouse: sums over ranges of a table of facts in the order of its key, and over one dimension by an index that covers it.
-- A unit is a thousand facts.

require("pagesmith_common")

local FACTS, DIMENSIONS = 1000, 200

tables = {
   {name = "fact",
    columns = "id BIGINT NOT NULL PRIMARY KEY, day INT NOT NULL, shop INT NOT NULL, article INT NOT NULL, pieces INT NOT NULL,"
       .. " cents BIGINT NOT NULL, note CHAR(40) CHARACTER SET latin1 NOT NULL",
    indexes = "KEY shop (shop, day, cents)"},
}

function fill(con, first, last)
   fill_table(con, "fact", "id, day, shop, article, pieces, cents, note", (first - 1) * FACTS + 1, last * FACTS, function (number)
      return string.format("(%d, %d, %d, %d, %d, %d, '%s')", number, math.floor(number / FACTS), anything(DIMENSIONS), anything(5000),
                           anything(9), anything(100000), digits(40))
   end)
end

function event()
   if anything(4) > 1 then
      -- A twentieth of all facts.
      local width = math.max(math.floor(sysbench.opt.units * FACTS / 20), 1)
      local start = anything(math.max(sysbench.opt.units * FACTS - width, 1))
      con:query(string.format("SELECT article %% 10, SUM(pieces), SUM(cents) FROM fact WHERE id BETWEEN %d AND %d GROUP BY article %% 10",
                              start, start + width))
   else
      con:query(string.format("SELECT day %% 7, SUM(cents) FROM fact WHERE shop = %d GROUP BY day %% 7", pick(DIMENSIONS)))
   end
end
