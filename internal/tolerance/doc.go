// Package tolerance holds the forms of messages that the specification forbids and that Junction reads all the same.
//
// A form has a row here if its meaning needs no guess and reading it lets no message be forged. The part of a message
// that cannot be read is left out, which has a row too, and the rest is used. [Tolerance.Met] names each such
// case: `junction status`, `junction traffic --notes` and `junction lint` show it. What Junction sends has none of these forms.
package tolerance
