// Package fetch is a server that reads pages of the web, as Markdown: a model gets the text without the
// markup. It asks robots.txt first, and refuses addresses of private networks, so that a page cannot have a
// model read what only this machine can reach. It ships as "fetch", with the tool of the reference server of
// that name.
package fetch
