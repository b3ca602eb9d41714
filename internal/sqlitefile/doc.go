// Package sqlitefile opens SQLite files that several processes of one user share. Only their owner
// can read the files. The package migrates each file once, and its errors contain a remedy.
package sqlitefile
