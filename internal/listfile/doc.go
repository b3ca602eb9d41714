// Package listfile stores a list in a JSON file that only its user can read. Several processes can
// read and change the file concurrently.
package listfile
