// Package arguments converts the words of a command line to the arguments of a tool or prompt. The
// input schema determines their types.
//
//	city=Oslo        typed by the schema: text, number, true or false, null
//	tags=a tags=b    a list; also tags='["a","b"]', and tags= for an empty one
//	where.lat=59.9   a member of an object; also where='{"lat":59.9}'
//	days:=3          JSON, sent unchanged
//	text=@note.txt   the content of a file; @- is standard input, @@ begins with an @
//
// If the schema allows several types, a word that is JSON of one of them, such as a number, true or
// a list, has that type. Any other word is a string.
package arguments
