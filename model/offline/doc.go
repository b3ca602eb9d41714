// Package offline replaces a language model if there is none. It needs neither network nor key, and
// runs in microseconds. It is not a language model (Info.Language is false), and states that when
// it cannot answer a question.
//
// It takes the last message of the user, finds the tool by the words of its name, and fills in the
// tool's arguments from the words of the question:
//
//	add a=2 b=40                 key=value, key="several words", key:=JSON
//	add 2 and 40                 numbers, in the order of the schema
//	say "hello" with echo        quoted texts, in the order of the schema
//	echo hello world             the text after the name, for the only required text
//	add 2 and 40, then echo done steps: also by semicolons and lines
//
// It answers with the text of the results. It makes a call only if it found all required arguments
// and they fit the schema, and otherwise asks for them.
//
// Arguments come only from the question, never from a description or a result. So text from a
// server cannot change its actions. The same conversation gets the same answer.
package offline
