// Package fetch is a server that reads web pages and converts them to Markdown, so that a model
// gets the text without the markup. It obeys robots.txt. It refuses addresses in private networks,
// so that a page cannot make a model read resources that only this machine can reach. It ships as
// "fetch", with the tool of the reference server with that name.
package fetch
