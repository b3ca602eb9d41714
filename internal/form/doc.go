// Package form reads the forms of elicitations (client/elicitation): what fields
// they have, what a person may enter into each, and what the answer is as JSON.
// Whoever shows a form asks and displays; what fits is decided here.
package form
