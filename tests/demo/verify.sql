-- What the demonstration shows before and after: figures that a person can compare.
SELECT @@innodb_page_size AS page_size;
SELECT 'customer' AS name, COUNT(*) AS rows_, SUM(CRC32(CONCAT_WS('|', id, email, name, score + 0e0, HEX(flags), address))) AS content FROM shop.customer
UNION ALL SELECT 'orders', COUNT(*), SUM(CRC32(CONCAT_WS('|', id, customer_id, placed, total))) FROM shop.orders
UNION ALL SELECT 'product', COUNT(*), SUM(CRC32(CONCAT_WS('|', id, title, price, weight, HEX(picture)))) FROM shop.product;
