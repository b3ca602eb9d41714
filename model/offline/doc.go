// Package offline stands in for a language model where there is none: it needs
// neither network nor key, and runs in microseconds. It is no language model
// (Info.Language is false), and says so wherever it cannot do what was asked.
//
// It takes the last message of the user, finds the tool that fits it by tool
// search, and fills in the tool's arguments from the words of the question:
//
//	add 2 and 40                        numbers, in the order of the schema
//	add a=2 b=40                        key=value, key="several words", key:=JSON
//	city: New York, days: 3             key: value
//	echo hello world                    the rest, for the text that is required
//	say "hello" to ada@example.com      quoted texts and addresses, URLs, paths, dates
//	search notes.txt recursive          booleans and choices, where they are mentioned
//	add 2 and 40, then echo done        steps: also by semicolons and lines
//
// When the results have come it answers with their text. What it cannot fill in
// it asks for; nothing is guessed, so a call is made only where a tool fits, all
// that is required was found, and it agrees with the schema.
//
// Arguments come from the question alone, never from a description or a result:
// no text of a server can make it do something else. The same conversation gets
// the same answer.
//
// The first text of the user's message is the question; what is attached behind
// it is not looked at. If the request has a tool called search_tools, and none of
// the others fits, it is asked once for each step. A request without tools that
// speaks of a summary is answered with an extract of the conversation.
package offline
