// Package arguments makes the arguments of a tool or prompt out of the words of
// a command line, typed by the tool's input schema.
//
//	city=Oslo        typed by the schema: text, number, true or false, null
//	tags=a tags=b    a list; also tags='["a","b"]', and tags= for an empty one
//	where.lat=59.9   a member of an object; also where='{"lat":59.9}'
//	days:=3          JSON, sent unchanged
//	text=@note.txt   the content of a file; @- is standard input, @@ begins with an @
//
// Where the schema allows several types, a word that reads as JSON of one of
// them (a number, true, a list) is taken as that, and otherwise as text.
package arguments
