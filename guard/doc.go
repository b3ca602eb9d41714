// Package guard checks the texts of servers and the flow of data, so that text from other authors
// cannot turn a model against its user.
//
// It has three independent parts.
//
// [Pins] stores every [Definition] that a user approved, with a hash of its content, and shows
// later changes with [Diff]. A changed definition must not reach a model, and a changed command
// must not run, before the user approves it again.
//
// A [Catalogue] scans definitions and texts for hidden characters, hidden orders, and references to
// another server's tools, which only a host or gateway can detect. Texts are scanned as a model may
// read them: without invisible characters, with look-alike letters as Latin ones, and with base64,
// base32, hexadecimal and escapes decoded. Rules are sequences of ideas, so that synonyms also
// match. A text that only quotes an order, for example to detect it, is distinguished from the
// order if possible. Each finding has a weight; weights of different rules in one definition or
// text add up to [Warn] or [Block]. [Secrets] finds keys and tokens, and [Visible] shows hidden
// characters to a user.
//
// Scanning cannot find orders in ordinary words. [Flow] protects against these. It records which
// text of a conversation is [Private] and which is [Untrusted]. From that it decides which calls
// need approval, regardless of the text. The annotation that a tool only reads is accepted even
// from a server that the configuration does not trust. But anything sent to that server may leave
// the machine, so a reading call can carry out private text of other servers. All text of a server
// is private unless the configuration declares the server public, because no annotation does.
//
// Checks fail closed. A text that is too long or too deeply nested to scan is a finding. Private
// text without fingerprints counts as copied.
package guard
