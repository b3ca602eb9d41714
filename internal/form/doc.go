// Package form parses the forms of elicitations (client/elicitation): their fields, the valid input
// of a user for each, and the JSON of the result. Other code displays a form and asks; this package
// decides which input fits.
package form
