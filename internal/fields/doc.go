// Package fields makes tables of the fields of structs from their tags: a [Table] of a struct that
// is written as JSON, and [Params] of a filter. Encoders, filters, flags, parameters of URLs and
// tables of the documentation range over them, so that a new field is one line.
package fields
