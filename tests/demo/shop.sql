-- A small shop that has every common kind of object and fits into pages of every size.
SET NAMES utf8mb4;
CREATE DATABASE shop CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci COMMENT 'demonstration';
USE shop;

CREATE TABLE customer (
  id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  email VARCHAR(120) NOT NULL,
  name VARCHAR(80) NOT NULL,
  country CHAR(2) NOT NULL DEFAULT 'PL',
  score FLOAT NOT NULL DEFAULT 0.1,
  flags BIT(8) NOT NULL DEFAULT b'0',
  address JSON,
  created TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
  country_name VARCHAR(20) AS (CASE country WHEN 'PL' THEN 'Poland' WHEN 'DE' THEN 'Germany' ELSE 'elsewhere' END) VIRTUAL,
  UNIQUE KEY email (email),
  KEY country (country, name),
  CONSTRAINT known_score CHECK (score >= 0)
) ENGINE=InnoDB;

CREATE TABLE product (
  id INT UNSIGNED NOT NULL PRIMARY KEY,
  title VARCHAR(100) NOT NULL,
  description TEXT,
  price DECIMAL(10,2) NOT NULL,
  weight DOUBLE,
  kind ENUM('book', 'record', 'toy') NOT NULL,
  tags SET('new', 'sale', 'gift') NOT NULL DEFAULT '',
  picture MEDIUMBLOB,
  FULLTEXT KEY words (title, description)
) ENGINE=InnoDB;

CREATE TABLE orders (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  customer_id INT UNSIGNED NOT NULL,
  placed DATETIME(3) NOT NULL,
  total DECIMAL(12,2) NOT NULL DEFAULT 0,
  KEY placed (placed),
  CONSTRAINT order_customer FOREIGN KEY (customer_id) REFERENCES customer (id)
) ENGINE=InnoDB;

CREATE TABLE order_line (
  order_id BIGINT UNSIGNED NOT NULL,
  line SMALLINT NOT NULL,
  product_id INT UNSIGNED NOT NULL,
  quantity SMALLINT NOT NULL,
  price DECIMAL(10,2) NOT NULL,
  PRIMARY KEY (order_id, line),
  KEY product (product_id),
  CONSTRAINT line_order FOREIGN KEY (order_id) REFERENCES orders (id) ON DELETE CASCADE,
  CONSTRAINT line_product FOREIGN KEY (product_id) REFERENCES product (id)
) ENGINE=InnoDB;

CREATE TABLE visit (
  day DATE NOT NULL,
  id BIGINT NOT NULL,
  page VARCHAR(60) CHARACTER SET latin1 NOT NULL,
  PRIMARY KEY (day, id)
) ENGINE=InnoDB
PARTITION BY RANGE (YEAR(day)) (
  PARTITION old VALUES LESS THAN (2025),
  PARTITION recent VALUES LESS THAN MAXVALUE
);

CREATE TABLE session_store (
  id BINARY(16) NOT NULL PRIMARY KEY,
  data BLOB,
  seen TIMESTAMP(6) NULL
) ENGINE=InnoDB ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=4;

CREATE TABLE audit (at DATETIME(6) NOT NULL, what VARCHAR(200), KEY at (at)) ENGINE=InnoDB;
CREATE TABLE legacy (id INT PRIMARY KEY, note VARCHAR(50)) ENGINE=MyISAM;
CREATE TABLE place (id INT PRIMARY KEY, at POINT NOT NULL, SPATIAL KEY at (at)) ENGINE=InnoDB;
CREATE SEQUENCE invoice START WITH 1000 INCREMENT BY 1 CACHE 10;

INSERT INTO customer (email, name, country, score, flags, address)
  SELECT CONCAT('user', seq, '@shop.example'), CONCAT('Zażółć ', seq), ELT(1 + seq % 3, 'PL', 'DE', 'CZ'),
         seq / 3, seq % 256, JSON_OBJECT('street', CONCAT('Long street ', seq), 'zip', seq % 100000)
  FROM seq_1_to_20000;
INSERT INTO product (id, title, description, price, weight, kind, tags, picture)
  SELECT seq, CONCAT('Thing ', seq), REPEAT(CONCAT('nice and useful ', seq, ' '), 1 + seq % 60), seq * 1.07, SQRT(seq),
         ELT(1 + seq % 3, 'book', 'record', 'toy'), ELT(1 + seq % 3, 'new', 'new,sale', 'gift'),
         REPEAT(UNHEX(SHA2(seq, 512)), 1 + seq % 200)
  FROM seq_1_to_2000;
INSERT INTO orders (customer_id, placed, total)
  SELECT 1 + seq * 7 % 20000, '2024-01-01' + INTERVAL seq * 613 SECOND, seq % 977 FROM seq_1_to_60000;
INSERT INTO order_line SELECT 1 + seq % 60000, seq DIV 60000, 1 + seq * 11 % 2000, 1 + seq % 5, seq % 300 + 0.99
  FROM seq_0_to_119999;
INSERT INTO visit SELECT '2023-06-01' + INTERVAL seq % 1000 DAY, seq, CONCAT('/thing/', seq % 2000) FROM seq_1_to_50000;
INSERT INTO session_store SELECT UNHEX(MD5(seq)), REPEAT(UNHEX(MD5(seq)), 20), '2026-01-01' + INTERVAL seq SECOND
  FROM seq_1_to_10000;
INSERT INTO legacy SELECT seq, CONCAT('note ', seq) FROM seq_1_to_1000;
INSERT INTO place SELECT seq, POINT(seq / 7, seq / 11) FROM seq_1_to_1000;
SELECT NEXTVAL(invoice), NEXTVAL(invoice);

CREATE VIEW turnover AS
  SELECT c.country, COUNT(*) AS orders, SUM(o.total) AS total
  FROM orders o JOIN customer c ON c.id = o.customer_id GROUP BY c.country;

CREATE FUNCTION net(gross DECIMAL(12,2)) RETURNS DECIMAL(12,2) DETERMINISTIC RETURN ROUND(gross / 1.23, 2);

DELIMITER //
CREATE PROCEDURE forget_visits(IN before_day DATE)
BEGIN
  DELETE FROM visit WHERE day < before_day;
END//
CREATE TRIGGER line_added AFTER INSERT ON order_line FOR EACH ROW
BEGIN
  UPDATE orders SET total = total + NEW.quantity * NEW.price WHERE id = NEW.order_id;
END//
DELIMITER ;

CREATE EVENT nightly ON SCHEDULE EVERY 1 DAY STARTS '2026-01-01 03:00:00' DO CALL forget_visits(CURRENT_DATE - INTERVAL 3 YEAR);

CREATE ROLE clerk;
GRANT SELECT, INSERT, UPDATE ON shop.* TO clerk;
CREATE USER anna@localhost IDENTIFIED BY 'not-a-secret' WITH MAX_QUERIES_PER_HOUR 5000;
GRANT clerk TO anna@localhost;
SET DEFAULT ROLE clerk FOR anna@localhost;
GRANT EXECUTE ON FUNCTION shop.net TO anna@localhost;
