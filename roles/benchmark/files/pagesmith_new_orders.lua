-- Copyright: Pagesmith
-- GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
--
-- Orders of a wholesaler, in the manner of TPC-C and not comparable with its results: new orders 45 of 100, payments 43, and four each of
-- the state of an order, deliveries, and stock levels. A unit is a warehouse, smaller than that of TPC-C.

require("pagesmith_common")

local DISTRICTS, CUSTOMERS, ITEMS, ORDERS, LINES = 10, 100, 2000, 100, 10
local ALL_ITEMS = ITEMS

tables = {
   {name = "warehouse", columns = "id INT NOT NULL PRIMARY KEY, name CHAR(10) NOT NULL, taken BIGINT NOT NULL"},
   {name = "district",
    columns = "warehouse INT NOT NULL, id INT NOT NULL, taken BIGINT NOT NULL, next_order INT NOT NULL, address CHAR(60) NOT NULL,"
       .. " PRIMARY KEY (warehouse, id)"},
   {name = "customer",
    columns = "warehouse INT NOT NULL, district INT NOT NULL, id INT NOT NULL, name CHAR(16) NOT NULL, balance BIGINT NOT NULL,"
       .. " payments INT NOT NULL, data VARCHAR(500) CHARACTER SET latin1 NOT NULL, PRIMARY KEY (warehouse, district, id)",
    indexes = "KEY name (warehouse, district, name)"},
   {name = "item", columns = "id INT NOT NULL PRIMARY KEY, price INT NOT NULL, name CHAR(24) NOT NULL, data CHAR(50) NOT NULL"},
   {name = "stock",
    columns = "warehouse INT NOT NULL, item INT NOT NULL, quantity INT NOT NULL, sold INT NOT NULL,"
       .. " data CHAR(250) CHARACTER SET latin1 NOT NULL, PRIMARY KEY (warehouse, item)"},
   {name = "orders",
    columns = "warehouse INT NOT NULL, district INT NOT NULL, id INT NOT NULL, customer INT NOT NULL, line_count INT NOT NULL,"
       .. " carrier INT, PRIMARY KEY (warehouse, district, id)",
    indexes = "KEY customer (warehouse, district, customer, id)"},
   {name = "new_order",
    columns = "warehouse INT NOT NULL, district INT NOT NULL, id INT NOT NULL, PRIMARY KEY (warehouse, district, id)"},
   {name = "order_line",
    columns = "warehouse INT NOT NULL, district INT NOT NULL, id INT NOT NULL, number INT NOT NULL, item INT NOT NULL, quantity INT NOT NULL,"
       .. " cents INT NOT NULL, delivered INT, data CHAR(24) NOT NULL, PRIMARY KEY (warehouse, district, id, number)"},
   {name = "history",
    columns = "id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, warehouse INT NOT NULL, district INT NOT NULL, customer INT NOT NULL,"
       .. " cents INT NOT NULL, data CHAR(24) NOT NULL"},
}

local function fill_warehouse(con, house)
   con:query(string.format("INSERT INTO warehouse VALUES (%d, '%s', 0)", house, digits(10)))
   fill_table(con, "stock", "warehouse, item, quantity, sold, data", 1, ITEMS, function (number)
      return string.format("(%d, %d, %d, 0, '%s')", house, number, anything(100), digits(250))
   end)
   for district = 1, DISTRICTS do
      con:query(string.format("INSERT INTO district VALUES (%d, %d, 0, %d, '%s')", house, district, ORDERS + 1, digits(60)))
      fill_table(con, "customer", "warehouse, district, id, name, balance, payments, data", 1, CUSTOMERS, function (number)
         return string.format("(%d, %d, %d, '%s', 0, 0, '%s')", house, district, number, digits(16), digits(400))
      end)
      fill_table(con, "orders", "warehouse, district, id, customer, line_count, carrier", 1, ORDERS, function (number)
         return string.format("(%d, %d, %d, %d, %d, 1)", house, district, number, anything(CUSTOMERS), LINES)
      end)
      fill_table(con, "order_line", "warehouse, district, id, number, item, quantity, cents, delivered, data", 0, ORDERS * LINES - 1, function (number)
         return string.format("(%d, %d, %d, %d, %d, 5, %d, 1, '%s')", house, district, math.floor(number / LINES) + 1, number % LINES + 1,
                              anything(ALL_ITEMS), anything(9999), digits(24))
      end)
   end
end

function fill(con, first, last)
   if first == 1 then
      fill_table(con, "item", "id, price, name, data", 1, ALL_ITEMS, function (number)
         return string.format("(%d, %d, '%s', '%s')", number, anything(10000), digits(24), digits(50))
      end)
   end
   for house = first, last do fill_warehouse(con, house) end
end

local function place()
   return pick(sysbench.opt.units), anything(DISTRICTS), anything(CUSTOMERS)
end

local function new_order(house, district, customer)
   local lines = 5 + anything(10)
   local items = {}
   for number = 1, lines do items[number] = anything(ALL_ITEMS) end
   -- Rows are locked in the same order by all, so that orders do not wait for one another in a circle.
   table.sort(items)
   transaction(function ()
      con:query(string.format("SELECT name, balance FROM customer WHERE warehouse=%d AND district=%d AND id=%d", house, district, customer))
      con:query(string.format("UPDATE district SET next_order = LAST_INSERT_ID(next_order + 1) WHERE warehouse=%d AND id=%d", house, district))
      local id = tonumber(con:query_row("SELECT LAST_INSERT_ID() - 1"))
      con:query(string.format("INSERT INTO orders VALUES (%d, %d, %d, %d, %d, NULL)", house, district, id, customer, lines))
      con:query(string.format("INSERT INTO new_order VALUES (%d, %d, %d)", house, district, id))
      for number, item in ipairs(items) do
         local price = tonumber(con:query_row(string.format("SELECT price FROM item WHERE id=%d", item)))
         local supplier = anything(100) == 1 and pick(sysbench.opt.units) or house
         con:query(string.format("UPDATE stock SET quantity = IF(quantity < 15, quantity + 86, quantity - 5), sold = sold + 5"
                                    .. " WHERE warehouse=%d AND item=%d", supplier, item))
         con:query(string.format("INSERT INTO order_line VALUES (%d, %d, %d, %d, %d, 5, %d, NULL, '%s')", house, district, id, number, item,
                                 price * 5, digits(24)))
      end
   end)
   count("new_orders")
end

local function payment(house, district, customer)
   local cents = anything(500000)
   transaction(function ()
      con:query(string.format("UPDATE warehouse SET taken = taken + %d WHERE id=%d", cents, house))
      con:query(string.format("UPDATE district SET taken = taken + %d WHERE warehouse=%d AND id=%d", cents, house, district))
      con:query(string.format("UPDATE customer SET balance = balance - %d, payments = payments + 1 WHERE warehouse=%d AND district=%d AND id=%d",
                              cents, house, district, customer))
      con:query(string.format("INSERT INTO history (warehouse, district, customer, cents, data) VALUES (%d, %d, %d, %d, '%s')", house, district,
                              customer, cents, digits(24)))
   end)
end

local function order_state(house, district, customer)
   local where = string.format("warehouse=%d AND district=%d", house, district)
   local id = con:query_row(string.format("SELECT id FROM orders WHERE %s AND customer=%d ORDER BY id DESC LIMIT 1", where, customer))
   if id then con:query(string.format("SELECT item, quantity, cents FROM order_line WHERE %s AND id=%s", where, id)) end
end

local function delivery(house, district, customer)
   local where = string.format("warehouse=%d AND district=%d", house, district)
   transaction(function ()
      local id = con:query_row(string.format("SELECT id FROM new_order WHERE %s ORDER BY id LIMIT 1 FOR UPDATE", where))
      if id then
         con:query(string.format("DELETE FROM new_order WHERE %s AND id=%s", where, id))
         con:query(string.format("UPDATE orders SET carrier = 2 WHERE %s AND id=%s", where, id))
         con:query(string.format("UPDATE order_line SET delivered = 2 WHERE %s AND id=%s", where, id))
         con:query(string.format("UPDATE customer SET balance = balance + 1 WHERE %s AND id=%d", where, customer))
      end
   end)
end

local function stock_level(house, district)
   local where = string.format("warehouse=%d AND id=%d", house, district)
   local latest = tonumber(con:query_row("SELECT next_order FROM district WHERE " .. where))
   con:query(string.format("SELECT COUNT(DISTINCT s.item) FROM order_line l JOIN stock s ON s.warehouse=l.warehouse AND s.item=l.item"
                              .. " WHERE l.warehouse=%d AND l.district=%d AND l.id >= %d AND s.quantity < 20", house, district, latest - 20))
end

local mix = {{45, new_order}, {88, payment}, {92, order_state}, {96, delivery}, {100, stock_level}}

function event()
   local chance = anything(100)
   for _, each in ipairs(mix) do
      if chance <= each[1] then
         each[2](place())
         return
      end
   end
end
