// Package revision is the one place that knows what differs between the
// revisions of the protocol. Everything else speaks the modern revision and
// asks here for the rest: which revisions there are and what each can do
// ([Revision]), what a result or an error looks like in one of them
// ([Revision.AppendResult], [Revision.Error]), and how a legacy handshake and a
// modern discovery are turned into each other ([Handshake], [Discovery]).
//
// A new revision is a row in the table of revision.go and, where it changes the
// form of a message, a rule in the file that holds this form.
package revision
