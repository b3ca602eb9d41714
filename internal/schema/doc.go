// Package schema implements JSON Schema for typed tools. It infers schemas from Go types ([For]),
// validates raw JSON against any schema ([Compile]) and fills in defaults. It reads the properties
// of a schema for code that shows, fills in or rewrites one ([Look]). It defines the one JSON
// dialect that Junction decodes and encodes ([Decode], [DecodeLoose], [Encode]). Everything in it
// is safe for concurrent use.
//
// # Two validators
//
// Schemas with the keywords that [For] writes, and exclusiveMinimum, exclusiveMaximum, multipleOf
// and const, are validated in a single pass over the raw bytes. The pass does not decode, and does
// not allocate for a value that fits. It also fills in defaults and words violations for a language
// model. References must lead to the root or to one of its definitions, and anyOf must be of a
// schema and null. Numbers are compared exactly.
//
// All other schemas go to google/jsonschema-go. It has no limits of its own and overflows the stack
// on cycles of references. So Compile refuses cycles, and the cost of a validation is computed
// before it. The library stops at the first violation. Messages are those of the single pass if it
// finds a violation, and name the keyword otherwise. The library compares float64: integers beyond
// 2^53 are rounded, and 19.99 is not a multiple of 0.01. A property test, a fuzz target and the
// official suite compare the two validators.
//
// Neither ever fetches a schema, and both bound the work of one validation, so that no schema and
// value together keep a program busy or fill its memory. Both refuse numbers far beyond float64
// (1e400), which are costly to compare. Duplicate names are refused if the schema names the member,
// everywhere by the library, and always by Decode.
//
// # Drafts
//
// Schemas are read as 2020-12 or draft 7. Drafts 4 and 6 are read as draft 7, so later keywords
// (const, contains and propertyNames in 6, if in 7) count in them as well. A draft 4 schema with a
// boolean exclusiveMinimum or exclusiveMaximum is refused. Its id is not read, so references
// relative to it are refused too. 2019-09 is read as 2020-12, with its arrays of items and
// additionalItems; $recursiveRef, unevaluatedItems and unevaluatedProperties are refused there.
//
// Schemas for the library are refused if they have a keyword in capitals, $defs together with
// definitions, a count beyond 2^31, or a repeated $id. So is a $ref to a value that is not a schema
// by its keyword.
//
// # The dialect
//
// A Go type has the JSON form of encoding/json, in registration and codec alike, with these
// exceptions. Nil slices are [], nil maps {} and a nil []byte "". A time.Duration is an ISO 8601
// duration in a string. Methods with a pointer receiver count for all values, and JSON methods for
// the keys of maps. Characters of HTML are not escaped. Decoded JSON must have case-sensitive and
// unique names, valid UTF-8, and arrays of the right length. Encoded JSON has one text for one
// value; invalid UTF-8 becomes U+FFFD, and a duplicate name is an error.
//
// A type that is only encoded may belong to another module: it has the form of encoding/json, and
// struct tags that do not fit are ignored.
//
// # Measurements
//
// For the arguments of a tools/call, 330 bytes with nested filters, on one core of a server (ns per
// operation, allocations):
//
//	decode   encoding/json 4590, 33 (unknown refused: 5860, 38)   v2 2519, 11   with durations 3118, 11
//	encode   encoding/json 1552, 7                                v2 2298, 5
//	validate one pass 800, 2 (an escaped string)                  library about 30 times that, 256
//
// For {"city":"Oslo","days":3}, decoding takes 230, 1 (encoding/json 505, 6, or 752, 9 with unknown
// members refused), and validating 100, 0. A server decodes with every call, and only v2 refuses
// duplicate names.
package schema
