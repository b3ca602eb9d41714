// Package schema is JSON Schema for typed tools: it infers schemas from Go
// types ([For]), validates raw JSON against any schema ([Compile]), fills in
// defaults, reads the properties of a schema for all who show, fill in or
// rewrite one ([Look]), and fixes the one JSON dialect that Junction decodes and encodes
// ([Decode], [DecodeLoose], [Encode]). Everything in it is safe for
// concurrent use.
//
// # Two validators
//
// A schema of the keywords that [For] writes, and exclusiveMinimum,
// exclusiveMaximum, multipleOf and const, is validated in one pass over the raw
// bytes, with no decoding, and no allocation for a value that fits, which also
// fills in defaults and words what is wrong for a language model. References
// lead to the root or to a definition there, and anyOf is of a schema and null.
// Numbers are compared exactly.
//
// All other schemas go to google/jsonschema-go. It has no limits of its own and
// overflows the stack on cycles of references, so cycles are refused by Compile,
// and what a validation may cost is reckoned before it. It stops at the first
// violation; messages are those of the one pass where that finds one, and
// name the keyword otherwise. It compares float64: integers beyond 2^53 are
// rounded, and 19.99 is no multiple of 0.01. A property test, a fuzz target and
// the official suite hold the two together.
//
// Neither ever fetches a schema, and both bound the work of one validation, so
// that no schema and value together keep a program busy or fill its memory.
// Both refuse numbers far beyond float64 (1e400), which are costly to compare.
// Duplicate names are refused where the schema names the member, everywhere
// by the library, and by Decode in any case.
//
// # Drafts
//
// Schemas are read as 2020-12 or draft 7. Drafts 4 and 6 are read as draft 7,
// so keywords that came later (const, contains and propertyNames in 6, if in 7)
// count in them too. A draft 4 schema with a boolean exclusiveMinimum or
// exclusiveMaximum is refused; its id is not read, so that references relative
// to it are refused too. 2019-09 is read as 2020-12, with the arrays of items
// and additionalItems that it has; $recursiveRef, unevaluatedItems and
// unevaluatedProperties are refused there.
//
// Refused by the library's side are a keyword in capitals, $defs together with definitions, a count beyond 2^31, an
// $id that is used twice and a $ref to what is no schema by its keyword.
//
// # The dialect
//
// A Go type has the form in JSON that encoding/json gives it, registration and
// codec alike, but for this: nil slices are [], nil maps {} and a nil []byte "";
// a time.Duration is an ISO 8601 duration in a string; methods with a pointer
// receiver count for all values, and JSON methods for the keys of maps;
// characters of HTML are not escaped. What is decoded has names that are
// case-sensitive, none twice, and valid UTF-8, and arrays of the right length.
// What is encoded has one text for one value; bytes that are no UTF-8 become
// U+FFFD, and a name twice is an error.
//
// A type that is only encoded may be one of another module: what encoding/json
// writes of it is written, and struct tags that do not fit say nothing.
//
// # Measured
//
// On the arguments of a tools/call, 330 bytes with nested filters, on one core
// of a server (ns per operation, allocations):
//
//	decode   encoding/json 4590, 33 (unknown refused: 5860, 38)   v2 2519, 11   with durations 3118, 11
//	encode   encoding/json 1552, 7                                v2 2298, 5
//	validate one pass 800, 2 (an escaped string)                  library some 30 times that, 256
//
// and on {"city":"Oslo","days":3}: 505, 6 (752, 9) against 230, 1 to decode,
// and 100, 0 to validate. Decoding is what a server does with every call, and
// v2 alone refuses duplicate names.
package schema
