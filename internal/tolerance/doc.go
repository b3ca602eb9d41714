// Package tolerance lists the forms of messages that the specification forbids and that Junction
// accepts.
//
// A form has a row in the table if its meaning is unambiguous and if no message can be forged with
// it. An unreadable part of a message is dropped, and the other parts are used; this has a row too.
// [Tolerance.Met] records each case, and `junction status`, `junction traffic --notes` and
// `junction lint` show the cases. Messages that Junction sends have none of these forms.
package tolerance
