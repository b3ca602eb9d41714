// Package form parses the forms of elicitations (specification: client/elicitation). It knows the
// fields of a form, checks a user's input for each field, and encodes the result as JSON.
// Displaying a form and reading the input are tasks of the callers.
package form
