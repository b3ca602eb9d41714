// Package show puts what a server offers and answers into words and tables for
// a person. Its text still holds whatever the server wrote: print it through a
// terminal.Screen, which cleans it.
package show
