// Package uritemplate finds out which URIs a URI template (RFC 6570) describes,
// and what its variables are in one of them.
//
// Templates come from servers that are not trusted, and URIs from anybody, so
// a match costs time linear in the length of both and memory that does not depend
// on what they say. RFC 6570 defines how a template is expanded and leaves
// matching to others; where a URI can be the expansion of several sets of values,
// variables that stand first take as much as they can, but a comma parts those of
// one expression.
package uritemplate
