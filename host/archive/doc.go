// Package archive keeps conversations in one SQLite file, so that they can be
// listed, searched, resumed, forked and exported.
//
// What is kept of a conversation are its entries ([host.Entry]), in order and as
// JSON, each written durably in a transaction of its own before the host goes on.
// So a conversation that was cut off by a crash is whole up to the last thing
// that happened, and several processes can use one file at the same time.
//
// The file belongs to its owner alone (mode 0600): conversations hold whatever
// tools returned.
package archive
