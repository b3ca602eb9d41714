// Package uritemplate matches URIs against URI templates (RFC 6570) and returns the values of their
// variables.
//
// Templates come from untrusted servers, and URIs from any client. So a match takes time linear in
// the length of both, and memory that does not depend on their content. RFC 6570 defines the
// expansion of templates and leaves matching open. If a URI can be the expansion of several sets of
// values, earlier variables take as much as they can, but a comma separates those of one
// expression.
package uritemplate
