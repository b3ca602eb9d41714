// Package oauthdoc reads the documents and responses of authorization servers and protected
// resources, and compares the URLs that identify them. It accepts invalid documents and responses
// too: it uses their unambiguous parts and ignores all others.
package oauthdoc
