CREATE DATABASE innodb_memcache;
USE innodb_memcache;
CREATE TABLE cache_policies (
  policy_name VARCHAR(40) PRIMARY KEY,
  get_policy ENUM('innodb_only', 'cache_only', 'caching', 'disabled') NOT NULL,
  set_policy ENUM('innodb_only', 'cache_only', 'caching', 'disabled') NOT NULL,
  delete_policy ENUM('innodb_only', 'cache_only', 'caching', 'disabled') NOT NULL,
  flush_policy ENUM('innodb_only', 'cache_only', 'caching', 'disabled') NOT NULL
) ENGINE = InnoDB;
CREATE TABLE containers (
  name VARCHAR(50) NOT NULL PRIMARY KEY,
  db_schema VARCHAR(250) NOT NULL,
  db_table VARCHAR(250) NOT NULL,
  key_columns VARCHAR(250) NOT NULL,
  value_columns VARCHAR(250),
  flags VARCHAR(250) NOT NULL DEFAULT '0',
  cas_column VARCHAR(250),
  expire_time_column VARCHAR(250),
  unique_idx_name_on_key VARCHAR(250) NOT NULL
) ENGINE = InnoDB;
CREATE TABLE config_options (
  name VARCHAR(50) NOT NULL PRIMARY KEY,
  value VARCHAR(50)
) ENGINE = InnoDB;
INSERT INTO containers VALUES ('aaa', 'test', 'demo_test', 'c1', 'c2', 'c3', 'c4', 'c5', 'PRIMARY');
INSERT INTO cache_policies VALUES ('cache_policy', 'innodb_only', 'innodb_only', 'innodb_only', 'innodb_only');
INSERT INTO config_options VALUES ('separator', '|');
INSERT INTO config_options VALUES ('table_map_delimiter', '.');
CREATE DATABASE test CHARACTER SET latin1;
USE test;
CREATE TABLE demo_test (
  c1 VARCHAR({key_column}) COLLATE latin1_bin,
  c2 {value_column},
  c3 INT,
  c4 BIGINT UNSIGNED,
  c5 INT,
  PRIMARY KEY (c1)
) ENGINE = InnoDB;
