// Package fields derives tables from the fields of structs and their tags: a [Table] of the members
// of a struct that is written as JSON, and [Params] of the fields of a filter. Encoders, filters,
// command-line flags, URL parameters and tables in the documentation use these tables. A new field
// therefore needs only one line of code.
package fields
