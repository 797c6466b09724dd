-- A small shop that fits every page size of InnoDB, with the common kinds of objects and enough rows to fill some pages.
CREATE DATABASE shop CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
USE shop;
CREATE TABLE customer (
  id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, email VARCHAR(190) NOT NULL, name VARCHAR(100), note TEXT,
  since TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6), UNIQUE KEY (email)
);
CREATE TABLE product (
  id INT UNSIGNED NOT NULL PRIMARY KEY, title VARCHAR(200) NOT NULL, price DECIMAL(10,2) NOT NULL, weight FLOAT, rating DOUBLE,
  picture MEDIUMBLOB, gross DECIMAL(12,2) AS (price * 1.19) STORED, FULLTEXT KEY (title), CHECK (price >= 0)
);
CREATE TABLE purchase (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, customer INT UNSIGNED NOT NULL, product INT UNSIGNED NOT NULL, amount INT NOT NULL,
  state ENUM('new','paid','sent') NOT NULL DEFAULT 'new', at DATETIME(3) NOT NULL, KEY (at),
  CONSTRAINT by_whom FOREIGN KEY (customer) REFERENCES customer (id) ON DELETE CASCADE,
  CONSTRAINT of_what FOREIGN KEY (product) REFERENCES product (id)
) AUTO_INCREMENT = 5000;
CREATE TABLE audit (at DATETIME, what VARCHAR(50)) ENGINE=MyISAM;
CREATE TABLE visits (day DATE NOT NULL, hits INT NOT NULL, PRIMARY KEY (day)) ENGINE=Aria;
CREATE TABLE stock (product INT UNSIGNED PRIMARY KEY, pieces INT NOT NULL) PARTITION BY HASH (product) PARTITIONS 3;
CREATE SEQUENCE invoice START WITH 1000 INCREMENT BY 7;
INSERT INTO customer (id, email, name, note)
  SELECT seq, CONCAT('c', seq, '@example.org'), CONCAT('Zoë ', seq), IF(seq % 7, REPEAT('näh ', seq % 500), NULL) FROM seq_1_to_300;
INSERT INTO product (id, title, price, weight, rating, picture)
  SELECT seq, CONCAT('thing ', MD5(seq)), seq / 3, seq / 7, SQRT(seq), REPEAT(UNHEX(SHA1(seq)), seq * 10) FROM seq_1_to_100;
INSERT INTO purchase (customer, product, amount, at)
  SELECT 1 + seq % 300, 1 + seq % 100, seq % 5, '2024-01-01' + INTERVAL seq MINUTE FROM seq_1_to_2000;
INSERT INTO visits SELECT '2024-01-01' + INTERVAL seq DAY, seq FROM seq_1_to_50;
INSERT INTO stock SELECT id, id * 3 FROM product;
SELECT NEXTVAL(invoice);
CREATE VIEW sold AS SELECT product, SUM(amount) pieces FROM purchase GROUP BY product;
DELIMITER //
CREATE TRIGGER purchased AFTER INSERT ON purchase FOR EACH ROW INSERT INTO audit VALUES (NOW(), CONCAT('purchase ', NEW.id))//
CREATE FUNCTION net(gross DECIMAL(12,2)) RETURNS DECIMAL(12,2) DETERMINISTIC RETURN gross / 1.19//
CREATE PROCEDURE forget(who INT) DELETE FROM customer WHERE id = who//
CREATE EVENT nightly ON SCHEDULE EVERY 1 DAY DO DELETE FROM audit WHERE at < NOW() - INTERVAL 1 YEAR//
DELIMITER ;
CREATE ROLE clerk;
GRANT SELECT, INSERT ON shop.* TO clerk;
CREATE USER seller@localhost IDENTIFIED BY 'seller''s secret';
GRANT clerk TO seller@localhost;
SET DEFAULT ROLE clerk FOR seller@localhost;
GRANT UPDATE (state) ON shop.purchase TO seller@localhost;
