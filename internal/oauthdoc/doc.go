// Package oauthdoc reads the documents and responses of authorization servers and protected resources, and compares the URLs that
// name them. Right ones are read as they are; of others, whatever can be read without guessing is, and the rest is left out.
package oauthdoc
