// Package sql is a server for one database: SQLite, MySQL or MariaDB, or PostgreSQL. It runs
// queries, describes the tables and, with permission, changes their content.
//
// # Protection against writing
//
// Without [Options.Write] no request of a model changes the database. Three checks ensure that, and
// each statement has to pass all of them:
//
//   - The account. Give the server an account that may only read. Only this check does not
//     depend on the statement.
//   - The session. A SQLite file is opened for reading; no other file can be attached, and it
//     cannot be copied. PostgreSQL runs a statement within a read-only transaction of a read-only
//     session, MySQL within a read-only transaction. Each statement has a separate connection, so
//     that locks and settings of its session end with it.
//   - The statement. It must be a single one and begin with SELECT or another word that reads. It
//     must call no function with an effect that a read-only transaction allows. With PostgreSQL
//     these are the functions that are marked volatile, except some that are harmless.
//
// # Limits
//
// A query ends after [Options.Timeout]. Its result has at most 1,000 rows and about 64 KiB, and
// reports what was cut. The whole result, up to 4 MiB, can be read as CSV under a URI for fifteen
// minutes. Everyone with the URI can read it.
//
// Decimals are strings, and so are integers outside the exact range of JSON's numbers, so that no
// digit is lost. Bytes that are not text are written in hexadecimal.
//
// The content of a database counts as untrusted and private, because anyone may have written it.
// Errors and logs never have the password.
package sql
