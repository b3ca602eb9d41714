// Package audit logs the caller, the rule and the outcome of each call. It finds lines that are
// changed, added or removed later.
//
// A [Log] is a folder of files with one JSON object a line. Each line has a number and a hash of
// itself and of all lines before it. Lines that are written in one group end with a MAC of the key.
// Once a second a checkpoint signs all lines so far (Ed25519), which every owner of the public key
// can verify. The end of the log is in a file of its own. A ledger lists the finished files. It
// decides which files are removed, and a line reports that. [Verify] reads all of it.
//
// [Log.Calls] is middleware around any Handler. It passes a response on when its line is on disk.
// Many requests share one write.
package audit
