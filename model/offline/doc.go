// Package offline stands in for a language model where there is none: it needs
// neither network nor key, and runs in microseconds. It is no language model
// (Info.Language is false), and says so wherever it cannot do what was asked.
//
// It takes the last message of the user, finds the tool by the words of its name, and
// fills in the tool's arguments from the words of the question:
//
//	add a=2 b=40                 key=value, key="several words", key:=JSON
//	add 2 and 40                 numbers, in the order of the schema
//	say "hello" with echo        quoted texts, in the order of the schema
//	echo hello world             what follows the name, for the one text that is required
//	add 2 and 40, then echo done steps: also by semicolons and lines
//
// When the results have come it answers with their text. What it cannot fill in
// it asks for: a call is made only where all that is required was found, and it
// agrees with the schema.
//
// Arguments come from the question alone, never from a description or a result:
// no text of a server can make it do something else. The same conversation gets
// the same answer.
package offline
