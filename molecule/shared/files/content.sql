-- Everything of the server that a client can see and that does not depend on the page size, in a fixed order.
SET NAMES utf8mb4;
SET time_zone = '+00:00';

SELECT schema_name, default_character_set_name, default_collation_name FROM information_schema.schemata
    WHERE schema_name <> 'bed' AND schema_name NOT LIKE '#mysql50#%' ORDER BY 1;
SELECT table_schema, table_name, table_type, engine, row_format, auto_increment, table_collation, create_options, table_comment
    FROM information_schema.tables WHERE table_schema LIKE 'shop%' ORDER BY 1, 2;
SELECT table_schema, table_name, column_name, ordinal_position, column_default, is_nullable, column_type, character_set_name,
    collation_name, column_key, extra, column_comment, is_generated, generation_expression
    FROM information_schema.columns WHERE table_schema LIKE 'shop%' ORDER BY 1, 2, 4;
SELECT table_schema, table_name, index_name, seq_in_index, column_name, non_unique, collation, sub_part, nullable, index_type
    FROM information_schema.statistics WHERE table_schema LIKE 'shop%' ORDER BY 1, 2, 3, 4;
SELECT constraint_schema, constraint_name, table_name, referenced_table_name, update_rule, delete_rule
    FROM information_schema.referential_constraints ORDER BY 1, 2;
SELECT constraint_schema, table_name, constraint_name, check_clause FROM information_schema.check_constraints
    WHERE constraint_schema LIKE 'shop%' ORDER BY 1, 2, 3;
SELECT table_schema, table_name, partition_name, partition_ordinal_position, partition_description
    FROM information_schema.partitions WHERE table_schema LIKE 'shop%' AND partition_name IS NOT NULL ORDER BY 1, 2, 4;
SELECT table_schema, table_name, view_definition, check_option, definer, security_type, algorithm
    FROM information_schema.views WHERE table_schema LIKE 'shop%' ORDER BY 1, 2;
SELECT trigger_schema, trigger_name, event_manipulation, event_object_table, action_order, action_timing, action_statement, sql_mode,
    definer, character_set_client, created FROM information_schema.triggers ORDER BY 1, 2;
SELECT routine_schema, specific_name, routine_type, dtd_identifier, routine_definition, is_deterministic, security_type, sql_mode,
    routine_comment, definer FROM information_schema.routines WHERE routine_schema LIKE 'shop%' ORDER BY 1, 2, 3;
SELECT event_schema, event_name, definer, time_zone, event_definition, event_type, execute_at, interval_value, interval_field, sql_mode,
    starts, ends, status, on_completion, event_comment FROM information_schema.events ORDER BY 1, 2;

SELECT * FROM mysql.global_priv ORDER BY host, user;
SELECT * FROM mysql.db ORDER BY host, db, user;
SELECT host, db, user, table_name, grantor, table_priv, column_priv FROM mysql.tables_priv ORDER BY 1, 2, 3, 4;
SELECT host, db, user, table_name, column_name, column_priv FROM mysql.columns_priv ORDER BY 1, 2, 3, 4, 5;
SELECT host, db, user, routine_name, routine_type, grantor, proc_priv FROM mysql.procs_priv ORDER BY 1, 2, 3, 4;
SELECT * FROM mysql.roles_mapping ORDER BY 1, 2, 3;
SELECT name, dl FROM mysql.plugin ORDER BY 1;
SELECT @@event_scheduler, @@global.sql_mode, @@character_set_server, @@datadir, @@socket, @@port;

SELECT * FROM shop.invoice_numbers;
SELECT * FROM shop.customers ORDER BY id;
SELECT sku, name, price, HEX(weight), CAST(weight AS DOUBLE), volume, BIN(flags), LENGTH(photo), SHA2(photo, 256), HEX(checksum),
    HEX(description), ST_AsText(place) FROM shop.products ORDER BY sku;
SELECT * FROM shop.orders ORDER BY id;
SELECT * FROM shop.order_lines ORDER BY order_id, line;
SELECT * FROM shop.price_history PARTITION (y2024) ORDER BY sku, valid_from;
SELECT HEX(token), HEX(data) FROM shop.sessions ORDER BY token;
SELECT a, HEX(b) FROM shop.no_key ORDER BY a, b;
SELECT `select`, `ünï`, system_versioned FROM shop.`odd name``s` ORDER BY 1;
SELECT id, SHA2(body, 256) FROM shop_archive.letters ORDER BY id;
SELECT * FROM shop.big_orders ORDER BY id;
SELECT * FROM shop.customer_count;
SELECT COUNT(*) FROM shop.products WHERE MATCH (name, description) AGAINST ('ipsum');
CHECKSUM TABLE shop.customers, shop.products, shop.orders, shop.order_lines, shop.price_history, shop.sessions, shop.no_key EXTENDED;
