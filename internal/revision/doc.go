// Package revision is the only package that knows the differences between the revisions of the
// protocol. Revisions from 2026-07-28 on have neither a handshake nor a session and are called
// modern; earlier ones are called legacy. All other code works with modern requests. It uses this
// package for the revisions and their features ([Revision]), and to convert results and errors to
// the form of a revision ([Revision.AppendResult], [Revision.Error]). [Handshake] and [Discovery]
// convert between a legacy handshake and a modern discovery.
//
// To add a revision, add a row to the table in revision.go. If the revision changes the form of a
// message, add a rule to the file about that form. CONTRIBUTING.md describes the steps for the
// second modern revision.
package revision
