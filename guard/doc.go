// Package guard checks what servers say and where data flows, so that text
// written by somebody else cannot turn a model against its user.
//
// Its three parts stand by themselves.
//
// [Pins] remembers every [Definition] that a person approved, by a hash of all
// it says, and shows what changed since with [Diff]. A changed definition must not reach a model,
// nor a changed command run, before it was approved again.
//
// A [Catalogue] looks through definitions and texts for hidden characters,
// hidden orders, and references to another server's tools, which only a host
// or gateway can see. Texts are read as a model may read them: without what is
// invisible, with look-alike letters as the Latin ones, with what base64, base32, hexadecimal and
// escapes decode to. Rules are sequences of ideas, not of words, so that a synonym is
// no way around them; a text that quotes an order in order to detect it is
// distinguished from the order where that is possible. Each finding has a weight; weights
// of different rules in one definition or text add up to [Warn] or [Block]. [Secrets]
// finds keys and tokens, and [Visible] shows a person what would stay hidden.
//
// Orders in ordinary words cannot be found in text. They are what [Flow] is
// for: it follows which text of a conversation is [Private] and which is
// [Untrusted], and says which calls need approval because of it, whatever the
// text said. A server that is not trusted in the configuration is believed that a tool only
// reads, but not that it keeps to itself what it is sent: to ask it anything is
// a way out for private text of others. Private text is what no configuration called public, as
// no annotation says so.
//
// Checks fail closed: what is too long or too deep to be looked at is a
// finding, and text of which no fingerprint could be kept counts as copied.
package guard
