// Package schema is JSON Schema for typed tools: it infers schemas from Go
// types ([For]), validates raw JSON against any schema ([Compile]), fills in
// defaults, and fixes the one JSON dialect that Junction decodes and encodes
// ([Decode], [DecodeLoose], [Encode]). Everything in it is safe for
// concurrent use.
//
// # Two validators
//
// Nearly all of JSON Schema is validated in one pass over the raw bytes, with
// no decoding, and no allocation for what [For] emits and most of what people
// write by hand. When the pass finds a violation a second, slower one tells all
// of them, in words made for a language model.
//
// Schemas with unevaluatedItems, unevaluatedProperties or $dynamicRef go to
// google/jsonschema-go. It has no limits of its own and overflows the stack on
// cycles of references, so cycles are refused by Compile, and what a validation
// may cost is reckoned before it. It computes with float64, where the pass is
// exact. A property test, a fuzz target and the official suite hold the two
// together. santhosh-tekuri/jsonschema, which knows every dialect, was there
// before: it takes 4 ms and 21,294 allocations at each start of a program.
//
// Neither ever fetches a schema, and both bound the work of one validation, so
// that no schema and value together keep a program busy or fill its memory.
// Both refuse numbers far beyond float64 (1e400), which are costly to compare.
// Duplicate names are refused where the schema names the member, everywhere
// by the general validator, and by Decode in any case.
//
// # The dialect
//
// Decoding and encoding is that of encoding/json/v2 (go-json-experiment/json):
// names are case-sensitive, duplicate names and invalid UTF-8 are refused, nil
// slices are [] and nil maps {}. Different from it, omitempty means what it
// meant in encoding/json (a zero number or false is left out too), and a
// time.Duration is an ISO 8601 duration in a string.
//
// # Measured
//
// On the arguments of a tools/call, 330 bytes with nested filters, on one core
// of a server (ns per operation, allocations):
//
//	decode   encoding/json 4590, 33 (unknown refused: 5860, 38)   v2 2519, 11   with durations 3118, 11
//	encode   encoding/json 1552, 7                                v2 2298, 5
//	validate one pass 700, 1 (an escaped string)                  general some 40 times that, 332
//
// and on {"city":"Oslo","days":3}: 505, 6 (752, 9) against 230, 1 to decode,
// and 90, 0 to validate. Decoding is what a server does with every call, and
// v2 alone refuses duplicate names.
package schema
