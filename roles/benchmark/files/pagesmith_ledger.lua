-- Copyright: Pagesmith
-- GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
--
-- A ledger: small rows, two balances changed and two entries written by each booking, and the last entries of an account read as often.
-- A unit is an account with twenty entries.

require("pagesmith_common")

local ENTRIES = 20

tables = {
   {name = "account", columns = "id INT NOT NULL PRIMARY KEY, balance BIGINT NOT NULL, changed INT NOT NULL, owner CHAR(24) NOT NULL"},
   {name = "entry",
    columns = "id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, account INT NOT NULL, other INT NOT NULL, cents BIGINT NOT NULL,"
       .. " made INT NOT NULL, text VARCHAR(40) NOT NULL",
    indexes = "KEY account (account, id)"},
}

function fill(con, first, last)
   fill_table(con, "account", "id, balance, changed, owner", first, last, function (number)
      return string.format("(%d, %d, 0, '%s')", number, anything(1000000), digits(24))
   end)
   fill_table(con, "entry", "account, other, cents, made, text", 1, (last - first + 1) * ENTRIES, function (number)
      return string.format("(%d, %d, %d, %d, '%s')", anything(sysbench.opt.units), anything(sysbench.opt.units), anything(100000), number, digits(30))
   end)
end

local function book()
   local one, other, cents = pick(sysbench.opt.units), pick(sysbench.opt.units), anything(10000)
   -- Always in the same order, so that two bookings do not wait for one another.
   if one > other then one, other, cents = other, one, -cents end
   transaction(function ()
      con:query(string.format("UPDATE account SET balance = balance - %d, changed = changed + 1 WHERE id = %d", cents, one))
      con:query(string.format("UPDATE account SET balance = balance + %d, changed = changed + 1 WHERE id = %d", cents, other))
      con:query(string.format("INSERT INTO entry (account, other, cents, made, text) VALUES (%d, %d, %d, 1, '%s'), (%d, %d, %d, 1, '%s')",
                              one, other, -cents, digits(30), other, one, cents, digits(30)))
   end)
end

local function statement_of_account()
   local one = pick(sysbench.opt.units)
   con:query(string.format("SELECT balance FROM account WHERE id = %d", one))
   con:query(string.format("SELECT id, cents, text FROM entry WHERE account = %d ORDER BY id DESC LIMIT 10", one))
end

function event()
   if anything(2) == 1 then book() else statement_of_account() end
end
