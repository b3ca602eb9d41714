// Package sqlitefile opens SQLite files that several processes of one user share. It creates them
// for their owner alone, migrates them once, and returns errors with a remedy.
package sqlitefile
