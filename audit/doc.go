// Package audit writes down who called what, which rule allowed it and how it ended, so that a line
// that was changed, added or removed later is found.
//
// A [Log] is a folder of files with one JSON object a line. Each line has a number and a hash of
// itself and of all lines before it; lines that are written together end with a MAC of the key; and
// once a second a checkpoint signs all lines so far (Ed25519), which anybody can verify who has the
// public key. Where the log ends stands in a file of its own, and which files are finished in a ledger: what is
// removed is decided by that, and said in a line. [Verify] reads all of it.
//
// [Log.Calls] is middleware around any Handler. It passes an answer on when its line is on the disk;
// what many requests wait for is one write.
package audit
