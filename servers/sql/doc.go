// Package sql is a server for one database: SQLite, MySQL or MariaDB, or PostgreSQL. It answers queries,
// describes the tables, and, only where it is allowed to, changes what is in them.
//
// # What keeps it from writing
//
// Without [Options.Write] nothing that a model asks for changes the database. Three things ensure that, and
// each statement has to pass all of them:
//
//   - The account. Give the server one that may only read: this is the only one of the three that no
//     statement can talk to.
//   - The session. A SQLite file is opened for reading, and can neither be attached to nor copied. PostgreSQL
//     runs a statement within a read-only transaction of a read-only session, MySQL within a read-only
//     transaction. Each statement has a connection of its own, so that what it leaves behind in its
//     session, such as a lock or a setting, ends with it.
//   - The statement. There is one at a time, it begins with SELECT or another word that reads, and it calls no
//     function that has an effect which a read-only transaction allows: with PostgreSQL none that is
//     marked volatile, but for some that are known to do no harm.
//
// # What bounds it
//
// A query ends after [Options.Timeout]. Its answer has at most 1,000 rows and some 64 KiB; what was cut is
// said, and the whole result, up to 4 MiB, can be read as CSV under a URI for fifteen minutes. Whoever has the
// URI can read it.
//
// Decimals are strings, and so are integers that JSON's numbers do not hold, so that no digit is lost. Bytes
// that are no text are written in hexadecimal.
//
// What is in a database was written by anybody: it counts as text that is not trusted, and as private. The
// password is in no error and no log.
package sql
