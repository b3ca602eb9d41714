// Package tolerance lists the forms of messages that the specification forbids and that Junction
// accepts.
//
// A form has a row if its meaning is unambiguous and accepting it lets no message be forged. An
// unreadable part of a message is dropped, which has a row too, and the rest is used.
// [Tolerance.Met] records each case: `junction status`, `junction traffic --notes` and `junction
// lint` show it. Messages that Junction sends have none of these forms.
package tolerance
