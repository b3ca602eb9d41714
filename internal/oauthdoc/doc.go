// Package oauthdoc reads the documents and responses of authorization servers and protected
// resources, and compares the URLs that identify them. It reads valid ones unchanged. From others
// it uses the unambiguous parts and ignores the rest.
package oauthdoc
