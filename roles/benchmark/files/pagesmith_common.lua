-- Copyright: Pagesmith
-- GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
--
-- What the collection's loads for sysbench have in common. A load defines:
--   tables     list of {name =, columns =, indexes =}
--   fill       function(con, first, last): inserts the units from first to last
--   event      function(): one transaction
-- Data are made of units, --units of them, so that a load grows by one option. Rows are chosen by --rand-type.

sysbench.cmdline.options = {
   units = {"Units of data", 1000},
}

function thread_init()
   drv = sysbench.sql.driver()
   con = drv:connect()
   counts = {}
   if prepare_statements then prepare_statements() end
end

function thread_done()
   for name, count in pairs(counts) do
      print(string.format("pagesmith %s=%d", name, count))
   end
   con:disconnect()
end

function count(name)
   counts[name] = (counts[name] or 0) + 1
end

-- The tables are made by the first thread; each thread fills its share of the units.
function cmd_prepare()
   drv = sysbench.sql.driver()
   con = drv:connect()
   for _, each in ipairs(tables) do
      con:query(string.format("CREATE TABLE IF NOT EXISTS %s (%s%s) ENGINE=InnoDB", each.name, each.columns,
                              each.indexes and ", " .. each.indexes or ""))
   end
   local share = math.ceil(sysbench.opt.units / sysbench.opt.threads)
   local first = sysbench.tid * share + 1
   local last = math.min(first + share - 1, sysbench.opt.units)
   if first <= last then fill(con, first, last) end
end

sysbench.cmdline.commands = {
   prepare = {cmd_prepare, sysbench.cmdline.PARALLEL_COMMAND},
}

-- Rows from first to last into a table; row gives the values of one as text.
function fill_table(con, name, columns, first, last, row)
   con:bulk_insert_init(string.format("INSERT INTO %s (%s) VALUES", name, columns))
   for number = first, last do
      con:bulk_insert_next(row(number))
   end
   con:bulk_insert_done()
end

function pick(highest)
   return sysbench.rand.default(1, highest)
end

function anything(highest)
   return sysbench.rand.uniform(1, highest)
end

-- Text of digits in groups, which no page compresses to nothing.
function digits(length)
   return sysbench.rand.string(string.rep("##########-", math.ceil(length / 11))):sub(1, length)
end

-- A key without order, always the same for a number: 32 hexadecimal digits.
function scattered(number)
   local text = ""
   local value = number
   for _ = 1, 4 do
      value = (value * 1103515245 + 12345) % 2147483648
      text = text .. string.format("%08x", (value * 2 + number) % 4294967296)
   end
   return text
end

-- Do it in one transaction; a deadlock or a lock that takes too long is rolled back, counted by sysbench and tried again as another.
function transaction(work)
   con:query("BEGIN")
   work()
   con:query("COMMIT")
end
