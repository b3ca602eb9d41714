// Package state keeps what outlives a request, or must be seen by another process: values under keys ([KV]) and the
// right to be the only one who does something ([Lease]). [Memory] keeps both in this process; package
// state/sqlite keeps them in a file, for the processes of one machine. Features put stores of their own on top.
//
// What is secret is sealed before it is put here.
package state
