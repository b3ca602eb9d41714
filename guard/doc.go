// Package guard checks what servers say and where data flows, so that text
// written by somebody else cannot turn a model against its user.
//
// Three parts stand by themselves. [Pins] remembers every definition a person
// approved, by hash, and shows what changed. [Catalogue] looks through definitions and messages for
// hidden characters, hidden orders and references to another server's tools.
// [Flow] follows where the text of a conversation came from, and says which calls need
// a yes because of it, whatever the text said.
package guard
