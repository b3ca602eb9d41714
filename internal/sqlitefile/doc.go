// Package sqlitefile opens files of SQLite that several processes of one user share: made for their owner alone,
// brought up to date once, and with errors that say what to do.
package sqlitefile
