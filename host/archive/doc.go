// Package archive stores conversations in one SQLite file. Users can list, search, resume, fork and
// export them.
//
// A conversation is stored as its entries ([host.Entry]), in order and as JSON. The host continues
// only after the transaction with the entry is on the disk. So a conversation is complete up to the
// last event before a crash. Several processes can use one file at the same time.
//
// Only the owner can read the file (mode 0600), because conversations contain all results of tools.
package archive
