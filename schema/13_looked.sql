-- 13_looked.sql - who filled the table `passed`: the program's version and the formats that it
-- reads, in one row. What it passed over, another one may be able to read.

CREATE TABLE IF NOT EXISTS looked (looker TEXT NOT NULL) STRICT;
