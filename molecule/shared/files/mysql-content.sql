-- What mysqldump does not tell, or not in full, in a fixed order.
SET NAMES utf8mb4;
SET time_zone = '+00:00';
SELECT @@server_uuid, @@max_connections, @@validate_password.length, @@log_bin_basename, @@server_id, @@datadir;
SELECT schema_name, default_character_set_name, default_collation_name FROM information_schema.schemata WHERE schema_name <> 'bed' ORDER BY 1;
SELECT table_schema, table_name, table_type, engine, row_format, auto_increment, table_collation, create_options, table_comment
    FROM information_schema.tables WHERE table_schema NOT IN ('information_schema', 'performance_schema', 'bed') ORDER BY 1, 2;
SELECT table_schema, table_name, column_name, ordinal_position, column_default, is_nullable, column_type, collation_name, column_key, extra,
    generation_expression, srs_id FROM information_schema.columns WHERE table_schema IN ('shop', 'odd sch`ema-é', 'mysql') ORDER BY 1, 2, 4;
SELECT table_schema, table_name, index_name, seq_in_index, column_name, expression, is_visible, non_unique, collation, sub_part, index_type
    FROM information_schema.statistics WHERE table_schema IN ('shop', 'odd sch`ema-é') ORDER BY 1, 2, 3, 4;
SELECT * FROM information_schema.check_constraints ORDER BY 1, 2, 3;
SELECT * FROM information_schema.table_constraints WHERE table_schema = 'shop' ORDER BY 1, 2, 3, 4, 5, 6;
SELECT constraint_schema, constraint_name, table_name, referenced_table_name, update_rule, delete_rule
    FROM information_schema.referential_constraints ORDER BY 1, 2;
SELECT table_name, partition_name, subpartition_name, partition_description FROM information_schema.partitions
    WHERE table_schema = 'shop' AND partition_name IS NOT NULL ORDER BY 1, 2, 3;
SELECT * FROM information_schema.views WHERE table_schema IN ('shop', 'sys') ORDER BY 2, 3;
SELECT * FROM information_schema.triggers ORDER BY 2, 3;
SELECT routine_schema, routine_name, routine_type, dtd_identifier, routine_definition, is_deterministic, sql_data_access, security_type, sql_mode,
    routine_comment, definer, character_set_client, collation_connection, database_collation, created FROM information_schema.routines
    WHERE routine_schema IN ('shop', 'sys', 'odd sch`ema-é') ORDER BY 1, 2, 3;
SELECT * FROM information_schema.parameters WHERE specific_schema = 'shop' ORDER BY specific_name, ordinal_position;
SELECT event_schema, event_name, definer, time_zone, event_definition, event_type, execute_at, interval_value, interval_field, sql_mode, starts,
    ends, status, on_completion, created, event_comment, originator, character_set_client, collation_connection, database_collation
    FROM information_schema.events ORDER BY 1, 2;
SELECT name, space_type, zip_page_size, autoextend_size, encryption FROM information_schema.innodb_tablespaces WHERE name NOT LIKE '%/fts\_%' AND name NOT LIKE 'bed/%' ORDER BY 1;
SELECT path FROM information_schema.innodb_datafiles WHERE path NOT LIKE '%/fts\_%' AND path NOT LIKE './bed/%' ORDER BY 1;
SELECT COUNT(*), SUM(CRC32(CONCAT_WS('|', srs_id, srs_name, organization, definition, description))) FROM information_schema.st_spatial_reference_systems;
SELECT * FROM information_schema.st_spatial_reference_systems WHERE srs_id = 990001;
SELECT schema_name, table_name, column_name, JSON_REMOVE(histogram, '$."last-updated"') FROM information_schema.column_statistics ORDER BY 1, 2, 3;
SELECT plugin_name, plugin_status FROM information_schema.plugins ORDER BY 1;
SHOW CREATE USER app@'%';
SHOW GRANTS FOR app@'%' USING reader, writer;
SHOW GRANTS FOR analyst@localhost;
SELECT * FROM mysql.user ORDER BY host, user;
SELECT * FROM mysql.password_history ORDER BY 1, 2, 3;
SELECT * FROM mysql.component ORDER BY 1;

SELECT COUNT(*), MAX(id), SUM(CRC32(CONCAT_WS('|', id, customer, total + 0e0))) FROM shop.orders;
SELECT id, f + 0e0, d, n, HEX(b), y, t, ts, dt FROM shop.numbers ORDER BY id;
SELECT id, e + 0, s + 0, HEX(e), HEX(s) FROM shop.choices ORDER BY id;
SELECT * FROM shop.zero_dates ORDER BY id;
SELECT id, j, JSON_STORAGE_SIZE(j), title FROM shop.documents ORDER BY id;
SELECT id FROM shop.documents WHERE 2 MEMBER OF (j -> '$.n');
SELECT id, HEX(b), HEX(v), LENGTH(l), SHA2(l, 256) FROM shop.bytes ORDER BY id;
SELECT id, HEX(s), HEX(g), HEX(u), HEX(l) FROM shop.texts ORDER BY id;
SELECT id, HEX(g), ST_SRID(g), HEX(own), ST_SRID(own) FROM shop.places ORDER BY id;
SELECT id, HEX(v) FROM shop.vectors ORDER BY id;
SELECT id, a, b, c, d FROM shop.hidden ORDER BY id;
SELECT my_row_id, a FROM shop.generated_key ORDER BY 1;
SELECT * FROM shop.no_key ORDER BY 1, 2;
SELECT id, SHA2(v, 256) FROM shop.compressed ORDER BY id;
SELECT * FROM shop.shelved_odd ORDER BY id;
SELECT * FROM shop.elsewhere ORDER BY id;
SELECT * FROM shop.parted PARTITION (rest) ORDER BY id;
SELECT id FROM shop.words WHERE MATCH (t) AGAINST ('ipsum');
SELECT * FROM shop.children ORDER BY id;
SELECT * FROM shop.isam ORDER BY id;
SELECT * FROM shop.archived ORDER BY a;
SELECT * FROM shop.a_first ORDER BY id LIMIT 20;
SELECT * FROM shop.z_last ORDER BY id LIMIT 20;
