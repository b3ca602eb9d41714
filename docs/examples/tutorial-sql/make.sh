#!/bin/sh
# Makes shop.db, a SQLite database with the orders of a shop.
set -e
: > shop.db # an empty file is a new database
run() { SHOP_DSN=sqlite:shop.db junction call execute "sql=$1" -- junction serve sql --dsn-env SHOP_DSN --write; }
run 'CREATE TABLE orders (day TEXT, customer TEXT, product TEXT, cents INTEGER)'
run "INSERT INTO orders VALUES
  ('2026-09-28', 'Ann', 'tea', 450),
  ('2026-10-01', 'Bob', 'coffee', 700),
  ('2026-10-02', 'Ann', 'coffee', 700),
  ('2026-10-05', 'Cleo', 'tea', 450),
  ('2026-10-09', 'Bob', 'biscuits', 300),
  ('2026-10-30', 'Cleo', 'coffee', 1400)"
