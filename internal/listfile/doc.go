// Package listfile keeps a list in a JSON file that only its user can read, and that several
// processes read and change.
package listfile
