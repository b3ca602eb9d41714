// Package revision is the one place that knows what differs between the
// revisions of the protocol. Modern are those from 2026-07-28 on, without a
// handshake and a session; legacy are those before. Everything else knows modern
// requests and asks here for the rest: which revisions there are and what each
// can do ([Revision]), what a result or an error looks like in one of them
// ([Revision.AppendResult], [Revision.Error]), and how a legacy handshake and a
// modern discovery are turned into each other ([Handshake], [Discovery]).
//
// A new revision is a row in the table of revision.go and, where it changes the
// form of a message, a rule in the file that holds this form. CONTRIBUTING.md says
// what the second modern one needs.
package revision
