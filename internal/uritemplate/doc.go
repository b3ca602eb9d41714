// Package uritemplate matches URIs against URI templates (RFC 6570) and returns the values of their
// variables.
//
// Templates come from untrusted servers, and URIs come from any client. The time for a match is
// therefore linear in the length of both, and the memory does not depend on their content. RFC 6570
// defines how templates are expanded, but not how URIs are matched. If several sets of values
// expand to the same URI, earlier variables get the longest possible values, except that a comma
// separates the values of an expression.
package uritemplate
