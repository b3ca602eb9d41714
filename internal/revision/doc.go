// Package revision is the only package that knows the differences between the revisions of the
// protocol. Modern revisions are those from 2026-07-28 on, without a handshake and a session; the
// earlier ones are legacy. All other code uses modern requests and this package: for the revisions
// and their features ([Revision]), and the form of results and errors in a revision
// ([Revision.AppendResult], [Revision.Error]). [Handshake] and [Discovery] convert between a legacy
// handshake and a modern discovery.
//
// A new revision is a row in the table of revision.go. If it changes the form of a message, add a
// rule to the file for that form. CONTRIBUTING.md describes the steps for the second modern
// revision.
package revision
