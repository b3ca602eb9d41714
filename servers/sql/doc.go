// Package sql is a server for one database: SQLite, MySQL or MariaDB, or PostgreSQL. It runs
// queries, describes the tables and, with permission, changes their content.
//
// # Protection against writing
//
// Without [Options.Write] no request of a model can change the database. Three protections ensure
// this:
//
//   - The account. Give the server an account that may only read. Only this protection does
//     not depend on the statements.
//   - The session. A SQLite file is opened for reading; no other file can be attached, and it
//     cannot be copied. PostgreSQL runs a statement in a read-only transaction of a read-only
//     session, MySQL in a read-only transaction. Each statement has a separate connection, so
//     that locks and settings of its session end with it.
//   - The statement. It must be a single one and begin with SELECT or another reading keyword.
//     It must not call functions whose effects a read-only transaction allows. With PostgreSQL
//     these are the functions marked volatile, except some harmless ones.
//
// # Limits
//
// A query ends after [Options.Timeout]. Its result has at most 1,000 rows and about 64 KiB, with a
// notice if it was cut. The whole result, up to 4 MiB, can be read as CSV under a URI for fifteen
// minutes. Every client that knows the URI can read it.
//
// Decimals are strings, and so are integers outside the exact range of JSON's numbers, so that no
// digit is lost. Bytes that are not text are written in hexadecimal.
//
// The content of a database counts as untrusted and private, because anyone may have written it.
// Errors and logs never have the password.
package sql
