// Package offline replaces a language model if there is none. It needs neither network nor key, and
// runs in microseconds. It is not a language model (Info.Language is false), and its answers state
// that when it cannot do what was asked.
//
// It takes the last message of the user, finds the tool by the words of its name, and fills in the
// tool's arguments from the words of the question:
//
//	add a=2 b=40                 key=value, key="several words", key:=JSON
//	add 2 and 40                 numbers, in the order of the schema
//	say "hello" with echo        quoted texts, in the order of the schema
//	echo hello world             what follows the name, for the one text that is required
//	add 2 and 40, then echo done steps: also by semicolons and lines
//
// When the results have come, it answers with their text. It asks for arguments that it cannot fill
// in: it makes a call only if all required arguments were found and fit the schema.
//
// Arguments come only from the question, never from a description or a result. So no text of a
// server can change what it does. The same conversation gets the same answer.
package offline
