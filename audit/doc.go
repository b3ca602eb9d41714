// Package audit logs the caller, the decision and the outcome of each call. [Verify] detects lines
// that were changed, added or removed later.
//
// A [Log] is a folder of files with one JSON object a line. Each line has a number and a hash of
// itself and of all lines before it. The last line of each write has a MAC. Once a second a
// checkpoint signs all lines so far (Ed25519), and anyone with the public key can verify it. A
// separate file records the end of the log. A ledger lists the finished files and decides which
// files are removed. A line reports each removal. [Verify] checks all of these.
//
// [Log.Calls] is middleware for any Handler. It returns a response when the line of the request is
// on disk. The lines of concurrent requests share one write.
package audit
