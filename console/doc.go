// Package console is a web page on this machine that shows what clients and servers of the Model Context Protocol say,
// and the API that the page uses.
//
// A [Console] lets in who opens a link that it made, once. It serves the page, which is in the binary, needs nothing from
// anywhere else and runs no script but its own, and whatever [Console.Handle] adds to its API.
package console
